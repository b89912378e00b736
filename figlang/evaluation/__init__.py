"""Evaluation: items and a model in, predictions and metrics out."""

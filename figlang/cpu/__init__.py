"""Faster equals of a network's parts on a CPU, for training and for prediction."""

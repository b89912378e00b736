"""Rank the words at a blank by a model."""

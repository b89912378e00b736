"""Scorers: `(network, batch) → scores (B, C)`, higher = more plausible."""

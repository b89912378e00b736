"""Training: everything prepared, the one fit, what is watched and kept on the way."""

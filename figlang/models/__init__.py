"""Models: opened from names, files, checkpoints, adapters or endpoints."""

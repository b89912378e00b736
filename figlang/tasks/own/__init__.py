"""Data files of your own."""

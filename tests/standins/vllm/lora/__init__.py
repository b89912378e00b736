"""Adapters of the stand-in."""

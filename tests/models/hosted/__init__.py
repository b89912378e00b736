"""Engines inside this process."""

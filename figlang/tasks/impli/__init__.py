"""IMPLI: inference with idioms and metaphors, in two classes."""

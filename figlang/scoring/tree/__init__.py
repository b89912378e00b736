"""The engine: log-probabilities of many strings, what they share being computed once."""

"""Models behind an OpenAI-compatible endpoint."""

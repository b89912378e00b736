"""Text in any script: where sentences and words begin and end."""

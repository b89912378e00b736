"""Making a benchmark: prompts for writers, checks of what they wrote, splits, and a data card."""

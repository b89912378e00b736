"""Statistics of shares: intervals and tests that take clusters, not items, as what was drawn."""

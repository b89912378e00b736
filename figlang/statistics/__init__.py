"""Statistics of shares: intervals and tests that treat clusters, not items, as independent."""

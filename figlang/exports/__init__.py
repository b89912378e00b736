"""What a run leaves for others: exports and what they say of themselves, adapters merged, seeds averaged, releases."""

"""What a run leaves for others: cards, averaged seeds, merged adapters, released checkpoints."""

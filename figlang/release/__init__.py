"""Turn runs into checkpoints for others: model cards, averaged seeds, merged adapters."""

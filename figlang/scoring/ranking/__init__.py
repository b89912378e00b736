"""Words at a blank, ranked by a model."""

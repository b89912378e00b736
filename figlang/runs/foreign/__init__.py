"""Results of other tools, as predictions: lm-evaluation-harness, inspect_ai, and tables of your own."""

from figlang.runs.foreign.opening import Foreign, adopted, foreign, read

__all__ = ["Foreign", "adopted", "foreign", "read"]

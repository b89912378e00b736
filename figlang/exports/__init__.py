"""Items of figlang as tasks of other tools."""

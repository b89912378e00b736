"""The Python API: what stands on `figlang` itself. A number here is the number of the commands."""

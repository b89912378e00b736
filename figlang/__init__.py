"""figlang: train and evaluate language models on figurative language."""

import os
from importlib.metadata import version

# Huge pages for large tensors: a page at a time costs a twentieth of scoring. Here, since torch reads it with its first tensor.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__version__ = version("figlang")

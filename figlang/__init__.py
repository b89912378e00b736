"""figlang: train and evaluate language models on figurative language."""

from importlib.metadata import version

__version__ = version("figlang")

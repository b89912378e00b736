"""What a person sees of evaluations: tables in the terminal here; `python -m figlang.report` writes a page, tables and figures."""

from figlang.report.terminal import TITLES, percent, published, seeds, summary

__all__ = ["TITLES", "percent", "published", "seeds", "summary"]

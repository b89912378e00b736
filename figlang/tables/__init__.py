"""Tables with typed cells: in a terminal, on a page, as Markdown, CSV and LaTeX (booktabs), the same everywhere."""

from figlang.tables.cells import FEW_CLUSTERS, Cell, Mean, Number, PValue, Range, mark, p_value, text
from figlang.tables.files import comma_separated, document, latex, markdown, write
from figlang.tables.screen import show
from figlang.tables.table import Table

__all__ = [
    "FEW_CLUSTERS",
    "Cell",
    "Mean",
    "Number",
    "PValue",
    "Range",
    "Table",
    "comma_separated",
    "document",
    "latex",
    "mark",
    "markdown",
    "p_value",
    "show",
    "text",
    "write",
]

"""Tables with typed cells: in a terminal, on a page, as Markdown, CSV and LaTeX (booktabs)."""

from figlang.tables.cells import FEW_CLUSTERS, Cell, Code, Mean, Number, PValue, Range, mark, p_value, text
from figlang.tables.files import comma_separated, csv_text, document, markdown, write
from figlang.tables.html import html
from figlang.tables.latex import latex
from figlang.tables.screen import show
from figlang.tables.table import Table
from figlang.tables.writing import cell_of_csv, latex_text, markdown_code, markdown_text

__all__ = [
    "FEW_CLUSTERS",
    "Cell",
    "Code",
    "Mean",
    "Number",
    "PValue",
    "Range",
    "Table",
    "cell_of_csv",
    "comma_separated",
    "csv_text",
    "document",
    "html",
    "latex",
    "latex_text",
    "mark",
    "markdown",
    "markdown_code",
    "markdown_text",
    "p_value",
    "show",
    "text",
    "write",
]

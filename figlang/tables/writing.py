"""Text in the formats that other programs read, one function each. Any character in a name stays text."""

import re

from figlang.machine.printing import printable

# Spreadsheets read a cell with such a beginning as a formula.
_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_BEGINNING = r"(#{1,6}(?= |$)|>|[+-](?= |$)|=+ *$|-{2,} *$)"  # of a heading, a quotation, a list or a line
_MARKDOWN = re.compile(rf"[\\`*\[\]|~_&<]|^ *{_BEGINNING}|^ *\d+[.)](?= |$)")


def cell_of_csv(value: str | float | None) -> str | float | None:
    """A cell of a CSV file; None is an empty one.

    Text that a spreadsheet would run gets an apostrophe before it. Numbers stay numbers.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    text = printable(value, lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def markdown_text(plain: str) -> str:
    """Text without any mark of Markdown: emphasis, code, links, images, HTML, headings, cells of a table."""
    text = printable(plain)
    if not _MARKDOWN.search(text):  # most of the cells of a table, which are numbers
        return text
    text = re.sub(r"([\\`*\[\]|~])", r"\\\1", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)  # within a word it is not a mark
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)  # before a number it does not begin a tag
    text = re.sub(rf"^( *){_BEGINNING}", r"\1\\\2", text)
    return re.sub(r"^( *\d+)([.)])(?= |$)", r"\1\\\2", text)


def markdown_code(plain: str) -> str:
    """A span of code in Markdown. The text may hold backticks."""
    text = printable(plain)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


# Characters that are syntax in LaTeX or are missing in its fonts.
_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
    },
    **{"`": r"\textasciigrave{}", "'": r"\textquotesingle{}", '"': r"\textquotedbl{}"},
    **{
        "–": "--",
        "—": "---",
        "±": r"$\pm$",
        "·": r"$\cdot$",
        "→": r"$\rightarrow$",
        "×": r"$\times$",
        "κ": r"$\kappa$",
        "−": "$-$",
        "†": r"\dag{}",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "\ufffd": "?",
    },
}


# Runs of letters that pdflatex cannot print with its usual fonts.
_PRINTED = "\\x00-\\x7f\u00a0-\u017f\u2018\u2019\u201c\u201d\u2026\u20ac\u2400-\u2421\ufffd"
_OTHER = re.compile(f"[^{_PRINTED}{''.join(char for char in _LATEX if ord(char) > 127)}]+")
OTHER_SCRIPT = (
    r"\providecommand{\otherscript}[1]{\ifdefined\XeTeXversion#1\else\ifdefined\directlua#1\else?\fi\fi}"
)


def latex_text(plain: str) -> str:
    """Text that LaTeX prints as it is.

    Letters of other scripts are the argument of `\\otherscript` (`OTHER_SCRIPT`). XeLaTeX and LuaLaTeX print
    them, and pdflatex prints a question mark.
    """
    text = printable(plain)
    made, end = [], 0
    for other in _OTHER.finditer(text):
        made += [_known(text[end : other.start()]), rf"\otherscript{{{other[0]}}}"]
        end = other.end()
    return "".join([*made, _known(text[end:])])


def _known(text: str) -> str:
    return "".join(_LATEX.get(char, "?" if "\u2400" <= char <= "\u2421" else char) for char in text)

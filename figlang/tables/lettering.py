"""Widths of texts in figures, in points, so that a figure is as large as what it says."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from figlang.machine.printing import printable
from figlang.tables import drawing

ELLIPSIS = "…"


@cache
def _renderer() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    return FigureCanvasAgg(Figure(dpi=72)).get_renderer()  # type: ignore[no-untyped-call]


def width(text: str, size: float = 8) -> float:
    """The width of a line of text in points: the sum over its letters, which is fast and seldom too small.

    Args:
        text: The line.
        size: Size of the letters in points.
    """
    return sum(_advance(letter, size) for letter in text)


@cache
def _advance(letter: str, size: float) -> float:
    # Between two others, since the box of a space alone is empty.
    return _measured(f"x{letter}x", size) - _measured("xx", size)


@cache
def _measured(text: str, size: float) -> float:
    import matplotlib
    from matplotlib.font_manager import FontProperties

    with matplotlib.rc_context(drawing.STYLE), drawing.letters_without_font():
        measured = _renderer().get_text_width_height_descent(text, FontProperties(size=size), False)
    return float(measured[0])


def widest(texts: Sequence[str], size: float = 8) -> float:
    """The width of the widest line of several texts, in points; 0 if there is none."""
    return max((width(line, size) for text in texts for line in text.split("\n")), default=0.0)


def wrapped(text: str, room: float, size: float = 8, lines: int = 3) -> str:
    """Break a text into lines that fit, at spaces if possible.

    Args:
        text: The text.
        room: Width of a line in points.
        size: Size of the letters in points.
        lines: The largest number of lines. If the text needs more, the last line ends with an ellipsis.

    Returns:
        The lines with line breaks between them.
    """
    made, rest = [], " ".join(printable(text).split())
    while rest:
        line = _fitting(rest, room, size)
        rest = rest[len(line) :].lstrip()
        made.append(line.rstrip())
    if len(made) > lines:
        made = [*made[: lines - 1], _ended(made[lines - 1], room, size)]
    return "\n".join(made)


def _fitting(text: str, room: float, size: float) -> str:
    """The longest beginning of a text that fits: up to a space if there is one, at least one letter."""
    if width(text, size) <= room:
        return text
    low, high = 1, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width(text[:middle].rstrip(), size) <= room else (low, middle)
    space = text.rfind(" ", 1, low + 1)
    return text[: space if space > 0 else low]


def _ended(line: str, room: float, size: float) -> str:
    while line and width(line.rstrip() + ELLIPSIS, size) > room:
        line = line[:-1]
    return line.rstrip() + ELLIPSIS

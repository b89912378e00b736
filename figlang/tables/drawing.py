"""How figures look, and how they get into files and pages.

The colours can be told apart with any kind of colour vision (after Okabe & Ito 2008, darkened for print).
Lines have labels at their ends instead of a legend.
"""

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from figlang.files.redaction import redacted
from figlang.files.whole import slug, whole_file
from figlang.machine.printing import printable

log = logging.getLogger("figlang")

INK, MUTED, FAINT = "#1b1b1f", "#65656d", "#d5d5da"
SERIES = ("#0a66a8", "#c2500a", "#00796b", "#8a4f9e", "#8a6d00", "#a83264", "#4c5a67")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "none",  # text stays text: it can be searched in a page and changed in an editor
    "svg.hashsalt": "figlang",  # equal figures have equal files
    "pdf.fonttype": 42,
    "text.parse_math": False,  # names are text: a `$` in one does not begin a formula
}
# The page's names for these colours. Its theme gives their values.
THEME = {
    INK: "--ink",
    MUTED: "--muted",
    FAINT: "--faint",
    **{colour: f"--series-{place}" for place, colour in enumerate(SERIES)},
}


def colour(place: int) -> str:
    """The colour of a series by its place. The colours come again after the last one."""
    return SERIES[place % len(SERIES)]


def drawn(width: float, height: float, paint: Callable[[Any, Any], None], panels: int = 1) -> Any:
    """Make a matplotlib figure.

    Args:
        width: In inches.
        height: In inches.
        paint: Is called with the figure and its axes (a list of axes if there are several panels).
        panels: Number of panels side by side.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        # Without pyplot, which would keep every figure in memory.
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, panels, sharey=True) if panels > 1 else figure.subplots()
        paint(figure, axes)
    return figure


def placed(width: float, height: float, paint: Callable[[Any], None]) -> Any:
    """Make a matplotlib figure whose axes are placed by hand, so that its size is that of its content.

    Args:
        width: In points.
        height: In points.
        paint: Is called with the figure.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width / 72, height / 72))
        paint(figure)
    return figure


@contextmanager
def letters_without_font() -> Iterator[None]:
    """Log once if no font of this machine has some of the letters.

    matplotlib warns for every letter in every figure.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings(
            "always", message=r"Glyph \d+ .* missing from|Matplotlib currently does not support \w+ natively"
        )
        yield
    missing = [str(warning.message) for warning in caught if _of_fonts(warning.message)]
    for warning in caught:
        if not _of_fonts(warning.message):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing:
        _say_letters()


def _of_fonts(message: Warning | str) -> bool:
    return "missing from" in str(message) or "natively" in str(message)


@cache
def _say_letters() -> None:
    log.warning(
        "figures hold letters that no font of matplotlib has here: PDF files show boxes in their place, "
        "and SVG files use the reader's fonts; install a font of the script, for example Noto Sans"
    )


def _svg(figure: Any, metadata: dict[str, None]) -> str:
    """The figure as SVG, without the control characters that a name may hold and XML cannot."""
    file = io.StringIO()
    figure.savefig(file, format="svg", dpi=150, metadata=metadata)
    return printable(file.getvalue(), lines=True)


def save(figure: Any, path: Path, suffixes: Sequence[str]) -> None:
    """Write a figure to files.

    Args:
        figure: A matplotlib figure.
        path: Path without a suffix. Its folder is made. Its last part becomes a name by `files.slug`.
        suffixes: svg, pdf or png.
    """
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    for text in figure.findobj(matplotlib.text.Text):
        if (plainly := redacted(text.get_text())) != text.get_text():
            text.set_text(plainly)
    # fontTools embeds letters into a PDF and logs each of its steps.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    with matplotlib.rc_context(STYLE), letters_without_font():
        for suffix in suffixes:
            plain = {"CreationDate": None} if suffix == "pdf" else {}
            ground = {"facecolor": "white"} if suffix == "png" else {}
            with whole_file(path.with_name(f"{slug(path.name)}.{suffix}")) as beside:
                if suffix == "svg":
                    beside.write_text(_svg(figure, {"Date": None}), encoding="utf-8")
                else:  # matplotlib's own writing fails in other ways on a full disk
                    content = io.BytesIO()
                    figure.savefig(content, format=suffix, dpi=150, metadata=plain, **ground)
                    beside.write_bytes(content.getvalue())


def inline(figure: Any, label: str) -> str:
    """The figure as an svg element for a page.

    It is as wide as there is room, and takes its colours from the page's theme.
    """
    import matplotlib

    with matplotlib.rc_context(STYLE):
        whole = _svg(figure, dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = whole[whole.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Its style rules would apply to the whole page; its fixed size and its ids belong to a file.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(
        r' id="(?:figure|axes|patch|text|line2d|matplotlib|xtick|ytick|LineCollection|PathCollection|PolyCollection)[^"]*"',
        "",
        svg,
    )
    svg = re.sub(r"font: ?([\d.]+)px[^;\"]*", r"font-size: \1px", svg)
    for colour, name in THEME.items():
        svg = re.sub(colour, f"var({name})", svg, flags=re.IGNORECASE)
    size = f"max-width: {float(width) / 72 * 96:.0f}px; aspect-ratio: {width} / {height}"
    return svg.replace(
        "<svg", f'<svg class="figure" role="img" aria-label="{_quoted(label)}" style="{size}"', 1
    )


def _quoted(plain: str) -> str:
    return printable(plain).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def apart(places: Sequence[float], distance: float) -> list[float]:
    """Move places of labels at least `distance` apart, in their order, as near to `places` as possible."""
    import numpy as np
    from scipy.optimize import isotonic_regression

    order = np.argsort(places, kind="stable")
    # Less these shifts, the places need only be in order.
    shifts = distance * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = isotonic_regression(np.asarray(places)[order] - shifts).x + shifts
    return list(moved.tolist())


def label_ends(axes: Any, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the names of lines at their right ends (x, y, name, colour), moved apart if they would touch."""
    low, high = axes.get_ylim()
    height = axes.get_position().height * axes.figure.get_figheight()
    lines = max((name.count("\n") + 1 for _, _, name, _ in ends), default=1)
    distance = 0.155 * lines * (high - low) / max(height, 0.1)
    placed = apart([y for _, y, _, _ in ends], distance)
    if lines > 1:  # a label of several lines would reach the labels of the axis below
        floor = low + distance / 2
        for place in sorted(range(len(placed)), key=lambda place: placed[place]):
            placed[place] = max(placed[place], floor)
            floor = placed[place] + distance
    right = max((x for x, *_ in ends), default=0)
    for (_, _, name, colour), y in zip(ends, placed, strict=True):
        axes.annotate(
            name,
            (right, y),
            (5, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontsize=8,
            annotation_clip=False,
        )

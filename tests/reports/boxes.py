"""The boxes of a figure's texts, by matplotlib's own renderer."""

from itertools import combinations
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

TOUCH = 0.6  # points that the boxes of two texts may share; letters do not fill their boxes


def texts(figure: Any) -> list[tuple[str, Any]]:
    """Every visible text of a figure with its box in pixels of 72 dots an inch."""
    figure.set_dpi(72)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    beyond = _beyond(figure)
    found = [one for one in figure.findobj(Text) if one.get_visible() and one.get_text().strip()]
    return [(one.get_text(), one.get_window_extent(renderer)) for one in found if id(one) not in beyond]


def _beyond(figure: Any) -> set[int]:
    """Labels of ticks that are not drawn, since they are beyond the limits of their axis."""
    found = set()
    for axis in [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                found |= {id(tick.label1), id(tick.label2)}
    return found


def faults(figure: Any) -> list[str]:
    """Texts that are cut by an edge of the figure, and texts that overlap."""
    found = texts(figure)
    width, height = 72 * figure.get_figwidth(), 72 * figure.get_figheight()
    cut = [
        f"cut: {text!r}"
        for text, box in found
        if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > width + 0.5 or box.y1 > height + 0.5
    ]
    over = [
        f"overlap: {one!r} and {other!r}"
        for (one, a), (other, b) in combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]
    return [*cut, *over]

"""Figures are as large as their content: no text is cut, none overlaps another."""

import random
import string
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figlang.reports import figures, heat, plots, ranked
from figlang.reports.learning import Point
from figlang.reports.ranked import Line
from figlang.statistics.calibration import Calibration
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.statistics.reliance import Reliance
from figlang.tables import Mean, lettering
from figlang.types import Prediction
from tests.reports.boxes import faults, texts
from tests.sampled import sampled

pytestmark = pytest.mark.drawn

SIZES = (2, 10, 60)


def name(place: int, length: int = 90) -> str:
    draw = random.Random(place)
    words = ["".join(draw.choices(string.ascii_letters + "_-·/", k=draw.randint(2, 30))) for _ in range(9)]
    return f"{place} {' '.join(words)}"[:length]


def share(place: int, of: int, chance: float) -> Estimate:
    value = 0.3 + 0.65 * place / of
    return Estimate(
        value, value - 0.03, value + 0.03, 1000, chance, 0.01, clusters=5 if place % 7 == 3 else 90
    )


def lines(count: int) -> list[Line]:
    made = [
        Line(
            name(place),
            {"accuracy": share(place, count, 0.5), "pair accuracy": share(place // 2, count, 0.25)},
            group="abcdef"[: 1 + place % 6],
            blind=share(0, count, 0.5) if place % 2 else None,
        )
        for place in range(count)
    ]
    people = Line("people, published", {"accuracy": Mean(0.9442)}, "people", elsewhere=True)
    return [*made, people]


@pytest.mark.parametrize("count", SIZES)
def test_systems_with_long_names_are_neither_cut_nor_laid_over_each_other(count: int) -> None:
    figure = ranked.systems(lines(count))
    assert faults(figure) == []
    shown = [text for text, _ in texts(figure)]
    assert sum(text.split()[0] in map(str, range(count)) and len(text) > 9 for text in shown) == count
    assert figure.get_figwidth() * 72 <= 470 + 1e-6, "wider than a page"


def test_the_boxes_of_a_figure_that_is_cut_or_crowded_are_found() -> None:
    figure = Figure(figsize=(2, 2))
    figure.text(0.5, 0.5, "one")
    figure.text(0.52, 0.5, "two")
    figure.text(0.9, 0.2, "beyond the edge")
    assert [fault.split(":")[0] for fault in faults(figure)] == ["cut", "overlap"]


def test_lines_fit_into_their_room() -> None:
    for place in range(20):
        made = lettering.wrapped(name(place, 200), 100, lines=4)
        assert lettering.widest([made]) <= 100
        assert made.count("\n") <= 3
    assert lettering.wrapped("a b", 100) == "a b"
    assert lettering.wrapped(name(1, 200), 60, lines=2).endswith("…")


@pytest.mark.parametrize("count", SIZES)
def test_prompts_with_long_names_leave_room_for_their_bars(count: int) -> None:
    labels = figures._labels([f"examples(k={place}, {name(place)})" for place in range(count)])
    bars = [
        (label, share(place, count, 0.5), share(place // 2, count, 0.25))
        for place, label in enumerate(labels)
    ]
    figure = figures.prompt_bars(bars, f"{name(1, 200)}\n{name(2, 200)}")
    assert faults(figure) == []
    (axes,) = figure.axes
    assert axes.get_window_extent().width / count >= 50, "points for two bars"


@pytest.mark.parametrize("count", [1, 4])
def test_panels_with_long_names_are_neither_cut_nor_collapsed(count: int) -> None:
    rows = tuple(Prediction(str(item), str(item // 2), item % 2, (1.0, 0.0)) for item in range(20))
    bins = tuple((0.5 + place / 20, rows) for place in range(10))
    curves = [(name(place), Calibration(bins, 0.1, 0.2, 0.3, 100)) for place in range(count)]
    points = tuple((place / 10 - 1, place / 40) for place in range(40))
    alone = [(name(place), Reliance(points, None)) for place in range(count)]
    for figure in (plots.calibration(curves), plots.reliance(alone)):
        assert faults(figure) == []
        assert min(axes.get_window_extent().width for axes in figure.axes) > 100


@pytest.mark.parametrize("count", [1, 3, 7])
def test_learning_curves_with_long_names_are_apart(count: int) -> None:
    sizes = (200, 1455, 8012)
    found = {
        name(place): [
            Point(size, {"accuracy": (share(place, 9, 0.5),), "pair accuracy": (share(place, 9, 0.25),)})
            for size in sizes
        ]
        for place in range(count)
    }
    figure = plots.learning_curve(found)
    assert faults(figure) == []
    named = [text.split("\n")[-1] for text, _ in texts(figure)]
    assert named.count("pair accuracy") == named.count("accuracy") == count


@pytest.mark.parametrize("gain", [None, Difference(-0.5, -0.6, -0.4, 0.1, 9)])
@pytest.mark.parametrize(("rows", "columns"), sampled([(1, 1), (3, 9), (6, 14), (20, 4)], (1, 1), (6, 14)))
def test_heat_maps_with_long_names_are_neither_cut_nor_crowded(
    rows: int, columns: int, gain: Difference | None
) -> None:
    cells = [[share(row, rows, 0.5) for _ in range(columns)] for row in range(rows)]
    gains = None if gain is None else [[gain] * columns] * rows
    figure = heat.heat(
        cells,
        [name(row) for row in range(rows)],
        [name(9 + one) for one in range(columns)],
        name(3),
        gains=gains,
    )
    assert sum("gain −50.0" in text for text, _ in texts(figure)) == (rows * columns if gain else 0)
    assert faults(figure) == []


def test_long_words_stand_beside_their_bars() -> None:
    counts = {part: {name(place): 30 - place for place in range(25)} for part in ("subject", "object")}
    assert faults(plots.frequencies(counts)) == []


def lines_at(axes: Axes) -> list[float]:
    """The heights of the dotted lines across the axes."""
    return [float(np.atleast_1d(line.get_ydata())[0]) for line in axes.lines if line.get_linestyle() == ":"]


def test_where_guessing_has_no_fixed_rate_no_line_stands_for_it() -> None:
    """MiQA's pairs, and trainings whose evaluated labels are hidden, had a line of chance at 0 %."""
    accuracy, pairs = share(3, 9, 0.5), replace(share(2, 9, 0.25), chance=None, p=None)
    (axes,) = figures.prompt_bars([("a", accuracy, pairs), ("b", accuracy, pairs)], "title").axes
    assert lines_at(axes) == [0.5]
    history = [(1, 0, "train", "loss", 0.7), (1, 0, "train", "accuracy", 0.5)]
    for chance, heights in ((None, []), (1 / 3, [1 / 3])):
        drawn = figures.training_curves(history, chance)["accuracy"]
        assert lines_at(drawn.axes[0]) == heights
        assert any("chance" in text for text, _ in texts(drawn)) == (chance is not None)


@pytest.mark.parametrize("options", [2, 3, 5])
def test_no_item_right_has_the_colour_of_none_right_with_any_number_of_options(options: int) -> None:
    """With three options it had the colour halfway between chance and none right."""
    shares = [replace(share(0, 9, 1 / options), value=value) for value in (0.0, 1 / options, 1.0)]
    axes, _ = heat.heat([shares], ["row"], ["none", "chance", "all"], "title").axes
    (shown,) = axes.images
    assert shown.get_array().tolist() == [[pytest.approx(colour, abs=1e-12) for colour in (-1, 0, 1)]]

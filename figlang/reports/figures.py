"""Figures, as SVG and PNG: curves of a training, accuracy by prompt."""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import drawing, lettering
from figlang.tables.drawing import MARKERS, MUTED, SERIES
from figlang.text.amounts import counted

LINES = {
    "loss": [
        ("train", "step_loss", "each step", 5, 0.7),
        ("train", "loss", "mean of epoch", 0, 1.8),
        ("selection", "loss", "held out", 1, 1.8),
    ],
    "accuracy": [
        ("train", "accuracy", "training items, dropout on", 0, 1.8),
        ("validation", "accuracy", "{} items", 1, 1.8),
        ("validation", "pair_accuracy", "{} pairs", 2, 1.8),
    ],
}


def curves(
    rows: Sequence[tuple[int, int, str, str, float]], chance: float | None, folder: Path, evaluated: str
) -> None:
    """Loss and accuracy over the steps as SVG and PNG.

    Args:
        rows: The rows of log.csv (step, epoch, split, metric, value).
        chance: Accuracy of guessing; None if it is not known.
        folder: Where the figures are written.
        evaluated: The name of the evaluated split in words.
    """
    for name, figure in training_curves(rows, chance, evaluated).items():
        drawing.save(figure, folder / name, ("svg", "png"))


def training_curves(
    rows: Sequence[tuple[int, int, str, str, float]], chance: float | None, evaluated: str = "validation"
) -> dict[str, Any]:
    """The figures of loss and accuracy, from the rows of log.csv (step, epoch, split, metric, value)."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for step, _, split, metric, value in rows:
        series.setdefault((split, metric), []).append((step, value))

    def paint(name: str) -> Callable[[Any, Any], None]:
        def on(_: Any, axes: Any) -> None:
            ends = []
            for split, metric, label, place, width in LINES[name]:
                if points := series.get((split, metric)):
                    colour = MUTED if metric == "step_loss" else SERIES[place]
                    marker = None if metric == "step_loss" else MARKERS[place]
                    axes.plot(
                        *zip(*points, strict=True),
                        color=colour,
                        linewidth=width,
                        marker=marker,
                        markersize=4,
                        clip_on=False,
                    )
                    ends.append((*points[-1], label.format(evaluated), colour))
            if name == "accuracy":
                axes.set_ylim(0, 1.02)
            if name == "accuracy" and chance is not None:
                axes.axhline(chance, color=MUTED, linewidth=0.9, linestyle=":")
                ends.append((max((x for x, *_ in ends), default=1), chance, "chance, items", MUTED))
            axes.set_xlabel("optimizer step")
            axes.set_ylabel(name)
            axes.set_xlim(right=max((x for x, *_ in ends), default=1))
            drawing.label_ends(axes, ends)

        return on

    return {name: drawing.drawn(4.9, 3.0, paint(name)) for name in LINES}


def rates(tried: Sequence[float], losses: Sequence[float], chosen: int | None, folder: Path) -> None:
    """Draw the loss by learning rate as SVG and PNG.

    Args:
        tried: The learning rates.
        losses: The loss after the step with each of them.
        chosen: The place of the rate that is suggested; None for none.
        folder: Where `lr.svg` and `lr.png` are written.
    """

    def paint(_: Any, axes: Any) -> None:
        axes.plot(tried, losses, color=SERIES[0], linewidth=1.8)
        if chosen is not None:
            where = (tried[chosen], losses[chosen])
            axes.plot(*where, color=SERIES[1], marker=MARKERS[0], markersize=6)
            axes.annotate(f"{tried[chosen]:.2g}", where, (6, 4), textcoords="offset points", color=SERIES[1])
        axes.set_xscale("log")
        axes.set_xlabel("learning rate")
        axes.set_ylabel("loss, moving average")

    drawing.save(drawing.drawn(4.9, 3.0, paint), folder / "lr", ("svg", "png"))


def prompts(folder: Path) -> list[Path]:
    """Draw accuracy by prompt (Liu et al. 2022, Figure 2) for the evaluation in `folder` and others next to
    it.

    Only evaluations that differ in nothing but their prompt are compared. Returns the pictures: none if there
    are fewer than two prompts.
    """
    drawn = []
    content = _read(folder / "metrics.json")
    others = [other for path in sorted(folder.parent.glob("*/metrics.json")) if (other := _read(path))]
    for title, bars in prompt_series(
        [other for other in others if _but_prompt(other) == _but_prompt(content)]
    ):
        name = f"prompts-{content['data_name']}-{content['split']}-{digest(_but_prompt(content))[:6]}"
        drawing.save(prompt_bars(bars, title), folder.parent / name, ("svg", "png"))
        drawn.append(folder.parent / f"{name}.png")
    return drawn


def prompt_series(
    contents: Sequence[Mapping[str, Any]],
) -> list[tuple[str, list[tuple[str, Estimate, Estimate | None]]]]:
    """Group evaluations (metrics.json) that differ in their prompt only. Each group of two or more has a
    title and a bar for each prompt."""
    sets: dict[str, list[Mapping[str, Any]]] = {}
    for content in contents:
        if "prompt" in content.get("facts", {}) and as_row(content["metrics"], "accuracy") is not None:
            sets.setdefault(digest(_but_prompt(content)), []).append(content)
    found = []
    for members in sets.values():
        by_prompt = {content["facts"]["prompt"]: content for content in members}
        if len(by_prompt) > 1:
            ordered = sorted(by_prompt, key=lambda prompt: _order(_prompt_name(prompt)))
            bars = [
                (label, *_bar(by_prompt[prompt]))
                for label, prompt in zip(_labels(ordered), ordered, strict=True)
            ]
            found.append((_prompt_title(members[0]), bars))
    return found


def _bar(content: Mapping[str, Any]) -> tuple[Estimate, Estimate | None]:
    accuracy = as_row(content["metrics"], "accuracy")
    assert accuracy is not None, "only evaluations with one are compared"
    return accuracy, as_row(content["metrics"], "pair_accuracy")


def _prompt_title(content: Mapping[str, Any]) -> str:
    facts, items = content["facts"], content["metrics"]["items"]
    where = f"{content['data_name']} {content['split']}, {counted(items, 'item')}"
    return f"{facts['model']} ({facts['base']})\n{where}, {facts['scoring']}, {facts['norm']}"


def prompt_bars(bars: Sequence[tuple[str, Estimate, Estimate | None]], title: str) -> Any:
    """Accuracy and pair accuracy by prompt, each with its interval; dotted lines are chance, if it is known.

    The figure grows with the number of bars and the width of their labels.
    """
    shown = (
        ("accuracy", SERIES[0], [(place - 0.19, accuracy) for place, (_, accuracy, _) in enumerate(bars)]),
        (
            "pair accuracy",
            SERIES[1],
            [(place + 0.19, pairs) for place, (*_, pairs) in enumerate(bars) if pairs],
        ),
    )
    ends = []
    for label, colour, placed in shown:
        if placed:
            if (chance := placed[0][1].chance) is not None:
                ends.append((len(bars) - 0.4, chance, f"chance, {label}", colour))
            ends.append((len(bars) - 0.4, placed[-1][1].value, label, colour))
    labels = [label for label, *_ in bars]
    each = max(BAR, lettering.widest(labels) + 8)
    left, right = 44.0, lettering.widest([name for *_, name, _ in ends]) + 14
    width = left + each * (len(bars) + 0.2) + right
    heading = "\n".join(lettering.wrapped(line, width - 16, 7) for line in title.split("\n"))
    above = 12 + 9.5 * (heading.count("\n") + 1) + 6
    below = 14 + 10.5 * max(label.count("\n") + 1 for label in labels)
    height = above + 190 + below

    def paint(figure: Any) -> None:
        axes = figure.add_axes((left / width, below / height, (width - left - right) / width, 190 / height))
        axes.set_xlim(-0.6, len(bars) - 0.4)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        for _, colour, placed in shown:
            if placed:
                _bars(axes, placed, colour)
                if (chance := placed[0][1].chance) is not None:
                    axes.axhline(chance, color=colour, linewidth=0.9, linestyle=":")
        axes.set_xticks(range(len(bars)), labels, fontsize=8)
        figure.text(8 / width, 1 - 8 / height, heading, fontsize=7, va="top", linespacing=1.2)
        drawing.label_ends(axes, ends)

    return drawing.placed(width, height, paint)


BAR = 56.0  # points of the width of a prompt's two bars


def _bars(axes: Any, bars: Sequence[tuple[float, Estimate]], colour: str) -> None:
    places, values = [place for place, _ in bars], [estimate.value for _, estimate in bars]
    errors = [
        [estimate.value - estimate.low for _, estimate in bars],
        [estimate.high - estimate.value for _, estimate in bars],
    ]
    drawn = axes.bar(places, values, width=0.36, color=colour, yerr=errors, ecolor=MUTED, capsize=2)
    axes.bar_label(drawn, labels=[f"{100 * value:.1f}" for value in values], fontsize=7, padding=2)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = stored.document(path, stored.DOCUMENT, "")
    except FiglangError:  # a damaged file of another evaluation does not stop this one
        return {}
    return found if "prompt" in found.get("facts", {}) else {}


def _but_prompt(content: Mapping[str, Any]) -> Any:
    facts = {name: value for name, value in content.get("facts", {}).items() if name != "prompt"}
    return (
        facts,
        content.get("data_name"),
        content.get("data"),
        content.get("split"),
        content.get("seed"),
        content.get("versions"),
    )


def _order(name: str) -> tuple[bool, bool, list[tuple[int, str]]]:
    """Order of the bars: no prompt, the suffix, then prompts by number of examples."""
    return (
        name != "none",
        name != "suffix",
        [(len(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name)],
    )


def _labels(prompts: Sequence[str]) -> list[str]:
    """A label for each prompt: its name, or as many of its settings as fit below a bar."""
    short = [_prompt_name(prompt) for prompt in prompts]
    for labels in (short, [name.partition("(")[0] for name in short]):
        if len(set(labels)) == len(labels) and max(map(len, labels)) <= LONGEST:
            return labels
    wrapped = ["\n".join(textwrap.wrap(prompt, 18, max_lines=6, placeholder="…")) for prompt in prompts]
    return (
        wrapped
        if len(set(wrapped)) == len(wrapped)
        else [f"{place + 1}: {label}" for place, label in enumerate(wrapped)]
    )


LONGEST = 18  # characters of a label in one line; longer ones leave no room for the bars


def _prompt_name(prompt: str) -> str:
    k, seed = re.search(r"k=(\d+)", prompt), re.search(r"seed=(\d+)", prompt)
    parts = ["suffix"] if "suffix=" in prompt else []
    parts += [f"k = {k[1]}"] if k else []
    parts += [f"draw {seed[1]}"] if seed and seed[1] != "0" else []
    return "\n".join(parts) or prompt

"""Figures, as SVG and PNG: curves of a training, accuracy by prompt."""

import json
import re
import textwrap
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

from figlang.metrics import Estimate, as_row
from figlang.signature import digest


def curves(rows: Sequence[tuple[int, int, str, str, float]], chance: float, folder: Path) -> None:
    """Loss and accuracy over the steps as SVG and PNG."""
    pyplot = canvas()
    folder.mkdir(exist_ok=True)
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for step, _, split, metric, value in rows:
        series.setdefault((split, metric), []).append((step, value))
    styles = {
        "loss": [
            ("train", "step_loss", "each step", "#9ecae1", 0.8, ""),
            ("train", "loss", "mean of the epoch", "#08519c", 1.8, "o"),
        ],
        "accuracy": [
            ("train", "accuracy", "training items, dropout on", "#08519c", 1.8, "o"),
            ("validation", "accuracy", "validation items", "#d94801", 1.8, "s"),
            ("validation", "pair_accuracy", "validation pairs", "#8c2d04", 1.8, "^"),
        ],
    }
    for name, lines in styles.items():
        figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
        for split, metric, label, colour, width, marker in lines:
            if points := series.get((split, metric)):
                axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, marker=marker, markersize=4, label=label)
        if name == "accuracy":
            axes.axhline(chance, color="#636363", linewidth=0.9, linestyle=":", label="chance, items")
            axes.set_ylim(0, 1.02)
        axes.set_xlabel("optimizer step")
        axes.set_ylabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        save(figure, folder / name)


def prompts(folder: Path) -> None:
    """Accuracy by prompt (Liu et al. 2022, Figure 2), beside the evaluation in `folder` and the others next to it.

    Compared are evaluations that differ in nothing but their prompt; with fewer than two of them nothing is drawn.
    """
    content = _read(folder / "metrics.json")
    compared = []
    for path in sorted(folder.parent.glob("*/metrics.json")):
        other = _read(path)
        if other and _but_prompt(other) == _but_prompt(content):
            accuracy, pairs = (as_row(other["metrics"], name) for name in ("accuracy", "pair_accuracy"))
            if accuracy is not None:
                compared.append((other["facts"]["prompt"], accuracy, pairs))
    if len(compared) < 2:
        return
    compared.sort(key=lambda row: _order(_prompt_name(row[0])))
    short = [_prompt_name(prompt) for prompt, *_ in compared]
    labels = short if len(set(short)) == len(short) else [textwrap.fill(prompt, 18) for prompt, *_ in compared]
    pyplot = canvas()
    figure, axes = pyplot.subplots(figsize=(1.6 + 1.1 * len(compared), 3.8), layout="constrained")
    _bars(axes, [(place - 0.19, accuracy) for place, (_, accuracy, _) in enumerate(compared)], "#08519c", "accuracy")
    _bars(axes, [(place + 0.19, pairs) for place, (*_, pairs) in enumerate(compared) if pairs], "#d94801", "pair accuracy")
    axes.set_xticks(range(len(compared)), labels, fontsize=8)
    axes.axhline(0.5, color="#08519c", linewidth=0.9, linestyle=":")
    axes.axhline(0.25, color="#d94801", linewidth=0.9, linestyle=":")
    axes.set_ylim(0, 1)
    facts, items = content["facts"], content["metrics"]["items"]
    where = f"{content['data_name']} {content['split']}, {items} items"
    title = f"{facts['model']} ({facts['base']})\n{where}, {facts['scoring']}, {facts['norm']}"
    axes.set_title(f"{title}; dotted: chance", fontsize=7, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save(figure, folder.parent / f"prompts-{content['data_name']}-{content['split']}-{digest(_but_prompt(content))[:6]}")


def _bars(axes: Any, bars: Sequence[tuple[float, Estimate]], colour: str, label: str) -> None:
    places, values = [place for place, _ in bars], [estimate.value for _, estimate in bars]
    errors = [[estimate.value - estimate.low for _, estimate in bars], [estimate.high - estimate.value for _, estimate in bars]]
    drawn = axes.bar(places, values, width=0.36, color=colour, label=label, yerr=errors, ecolor="#636363", capsize=2)
    axes.bar_label(drawn, labels=[f"{100 * value:.1f}" for value in values], fontsize=7, padding=2)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if "prompt" in found["facts"] else {}
    except (OSError, ValueError, KeyError, TypeError):  # another evaluation's damaged file is not this one's error
        return {}


def _but_prompt(content: dict[str, Any]) -> Any:
    facts = {name: value for name, value in content.get("facts", {}).items() if name != "prompt"}
    return facts, content.get("data"), content.get("split"), content.get("seed"), content.get("versions")


def _order(name: str) -> tuple[bool, bool, list[int | str]]:
    """None first, then the suffix, then by number of examples."""
    return name != "none", name != "suffix", [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _prompt_name(prompt: str) -> str:
    k, seed = re.search(r"k=(\d+)", prompt), re.search(r"seed=(\d+)", prompt)
    parts = ["suffix"] if "suffix=" in prompt else []
    parts += [f"k = {k[1]}"] if k else []
    parts += [f"draw {seed[1]}"] if seed and seed[1] != "0" else []
    return "\n".join(parts) or prompt


def heat_map(
    rows: Sequence[Sequence[Estimate | None]], names: Sequence[str], columns: Sequence[str], title: str, path: Path
) -> None:
    """Shares with their 95 % intervals; colour is the way from chance (white) to one, so that columns can be compared."""
    pyplot = canvas()
    figure, axes = pyplot.subplots(figsize=(2.6 + 1.7 * len(columns), 1.1 + 0.55 * len(rows)), layout="constrained")
    above = [[nan if cell is None else _above_chance(cell) for cell in row] for row in rows]
    image = axes.imshow(above, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            value = "–" if cell is None else f"{100 * cell.value:.1f}\n{100 * cell.low:.1f} – {100 * cell.high:.1f}"
            dark = abs(above[y][x]) > 0.6
            axes.text(x, y, value, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("tested on")
    axes.set_ylabel("trained on")
    axes.set_title(f"{title}, per cent", loc="left", fontsize=10)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="0 = chance, 1 = all right")
    save(figure, path)


def _above_chance(estimate: Estimate) -> float:
    chance = estimate.chance or 0.0
    return (estimate.value - chance) / (1 - chance)


def canvas() -> Any:
    """matplotlib.pyplot, drawing into files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG and PNG, and close it."""
    from matplotlib import pyplot

    for suffix in ("svg", "png"):
        figure.savefig(path.with_name(f"{path.name}.{suffix}"), dpi=150)
    pyplot.close(figure)

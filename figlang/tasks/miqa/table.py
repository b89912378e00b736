"""MiQA's Table 3 (Comșa et al. 2022) for one model: made from predictions by prompt and number of
examples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from figlang.statistics.metrics import Estimate, accuracy, first_option, spread
from figlang.tables import Cell, Mean, Table
from figlang.tables import effort as cost
from figlang.tasks.miqa import published as figures
from figlang.tasks.miqa.prompts import BASELINES
from figlang.tasks.miqa.reading import QUESTIONS
from figlang.types import Prediction

Cells = Mapping[tuple[str, int], Sequence[Prediction]]  # (prompt, shots): predictions
SELECTED = "best at 0 shots: {} *"
PUBLISHED = "published (Comșa et al. 2022):"
FOOTNOTE = (
    "* selected by its accuracy on these very items, as in the paper; no other row is. Intervals (95 %) are "
    "over the rows of the "
    "data set. Chance is 50 %. first option: how often it is chosen, in %; 50 without a bias for a place."
)


def measure(cells: Cells) -> dict[str, Any]:
    """Measure accuracy and the share of first options by prompt, number of shots and question type.

    The content also has the mean and sample standard deviation over prompts with a question, and the prompt
    that is best without examples.
    """
    asked = {kind for rows in cells.values() for row in rows for kind in row.attributes["question"]}
    return {question: _measure(cells, question) for question in QUESTIONS if question in asked}


def _measure(cells: Cells, question: str) -> dict[str, Any]:
    prompts: dict[str, dict[str, Any]] = {}
    for (prompt, shots), rows in cells.items():
        some = [row for row in rows if question in row.attributes["question"]]
        right, first = accuracy(some), first_option(some)
        if right is None:
            continue
        ties = sum(row.choice is None for row in some)
        prompts.setdefault(prompt, {})[str(shots)] = {
            "accuracy": asdict(right),
            "first_option": None if first is None else asdict(first),
            "ties": ties,
        }
    asking = {name: by_shots for name, by_shots in prompts.items() if name not in BASELINES}
    over = {}
    for count in dict.fromkeys(count for by_shots in asking.values() for count in by_shots):
        values = [by_shots[count]["accuracy"]["value"] for by_shots in asking.values() if count in by_shots]
        mean, deviation = spread(values)
        over[count] = {
            "mean": mean,
            "sd": deviation,
            "lowest": min(values),
            "highest": max(values),
            "prompts": len(values),
        }
    zero = {name: by_shots["0"]["accuracy"]["value"] for name, by_shots in asking.items() if "0" in by_shots}
    return {
        "prompts": prompts,
        "over_prompts": over,
        "best": max(zero, key=lambda name: zero[name]) if zero else None,
    }


def rows(measured: Mapping[str, Any], question: str, published: bool) -> list[list[list[Cell]]]:
    """Rows of the table of one question type, in blocks: prompts, baselines, summaries, published rows.

    A row has a name, an accuracy per number of shots and the shares of first options. With `published`, the
    rows of the paper are added: they were measured on the same items.
    """
    found = measured[question]
    shots = _shots(measured)
    named = {name: _row(name, by_shots, shots) for name, by_shots in found["prompts"].items()}
    asking = [row for name, row in named.items() if name not in BASELINES]
    baselines = [[f"baseline: {name}", *row[1:]] for name, row in named.items() if name in BASELINES]
    summed: list[list[Cell]] = []
    if found["over_prompts"]:
        over = [found["over_prompts"].get(count) for count in shots]
        cells = ["" if one is None else Mean(one["mean"], one["sd"]) for one in over]
        summed.append([f"mean ± sd of {len(asking)} prompts", *cells, ""])
    if found["best"] is not None:
        summed.append([SELECTED.format(found["best"]), *named[found["best"]][1:]])
    theirs = (
        [_published(name, by_shots, shots) for name, by_shots in figures.table3(question).items()]
        if published
        else []
    )
    heading: list[Cell] = [PUBLISHED, *[""] * (len(shots) + 1)]
    return [asking, baselines, summed, [heading, *theirs] if theirs else []]


def _shots(measured: Mapping[str, Any]) -> list[str]:
    found = {shots for one in measured.values() for by_shots in one["prompts"].values() for shots in by_shots}
    return sorted(found, key=int)


def _row(name: str, by_shots: Mapping[str, Any], shots: Sequence[str]) -> list[Cell]:
    right = [Estimate(**by_shots[count]["accuracy"]) if count in by_shots else "" for count in shots]
    first = [
        f"{100 * share['value']:.0f}" if (share := by_shots.get(count, {}).get("first_option")) else "–"
        for count in shots
    ]
    return [name, *right, " / ".join(first)]


def _published(name: str, by_shots: Mapping[str, float], shots: Sequence[str]) -> list[Cell]:
    # Rows without shots (NLI models, people) stand under no examples.
    by_shots = {"0": by_shots[""]} if "" in by_shots else by_shots
    return [name, *(f"{by_shots[count]:.1f}" if count in by_shots else "" for count in shots), ""]


def _heading(measured: Mapping[str, Any]) -> list[str]:
    shots = _shots(measured)
    return ["prompt", *(f"{count}-shot" for count in shots), "first option"]


def made(content: Mapping[str, Any]) -> list[Table]:
    """The tables of a metrics.json, one for each question type."""
    measured, heading = content["questions"], _heading(content["questions"])
    return [
        Table.of_blocks(
            f"table3_{question.replace('-', '_')}",
            f"{content['model']}, {question}-questions, accuracy in % (95 % CI)",
            heading,
            rows(measured, question, content["published_file"]),
            brief=True,
        )
        for question in measured
    ]


def below(content: Mapping[str, Any]) -> list[str]:
    """The lines below the tables."""
    return [FOOTNOTE, cost.sentence(content["took"]), f"signature {content['signature']}"]

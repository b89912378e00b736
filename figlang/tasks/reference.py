"""The published results, and which of them a run may be compared with.

`reference_results.csv` holds the printed numbers of the three papers and, marked as such, numbers from or
recomputed from the authors' released files. Its `note` column says what to know about a number.
"""

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "reference_results.csv"

# Rows whose value cannot be set beside an accuracy of today, by what their note says.
DISQUALIFIED = {
    "BACKWARD": "backward pairs, not forward pairs",
    "INFLATED": "computed with a faulty join",
    "duplicate of": "a copied cell",
    "2 judgements per example": "two three-way judgements an item, not a choice",
    "shots are drawn from the gold-answered split": "its prompts held answers of the split",
}


@dataclass(frozen=True)
class Published:
    """One published number. `setting` is the row's key=value list; shares are in per cent, as printed."""

    paper: str
    table: str
    benchmark: str
    model: str
    setting: dict[str, str]
    metric: str
    value: float | None
    unit: str
    note: str


@dataclass(frozen=True)
class Comparison:
    """A published number with whether it is comparable, and the reason if it is not."""

    published: Published
    comparable: bool
    reason: str


@cache
def results() -> tuple[Published, ...]:
    """All rows of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Published(
                row["paper"],
                row["table"],
                row["benchmark"],
                row["model"],
                dict(pair.split("=", 1) for pair in row["setting"].split(";") if "=" in pair),
                row["metric"],
                float(row["value"]) if row["value"] else None,
                row["unit"],
                row["note"],
            )
            for row in csv.DictReader(file)
        )


def fig_qa(data: str, split: str, published_data: bool) -> list[Comparison]:
    """Published accuracies and pair accuracies of Fig-QA for a run on `split` of `data`, comparable ones
    first.

    `published_data` says whether the evaluated file is, byte for byte, the published one: no number on
    another data set is comparable, and none on another split.
    """
    rows = [
        row
        for row in results()
        if row.benchmark == "Fig-QA" and row.metric in ("accuracy", "pair_accuracy") and _headline(row)
    ]
    compared = [_compare(row, data, split, published_data) for row in rows]
    return sorted(compared, key=lambda comparison: not comparison.comparable)


def figqa_prompts() -> dict[str, dict[str, float]]:
    """Fig-QA's Figure 2: {model: {prompt: accuracy in per cent}}, with the prompts zero-shot, suffix, k=3,
    k=5, k=10.

    The numbers are the plot data in the authors' repository. They are test accuracies: nearly all are shares
    of the 1,146 test items and not of the 1,094 of dev.
    """
    found: dict[str, dict[str, float]] = {}
    for row in results():
        if row.table == "Figure 2 (plot data)" and row.value is not None:
            found.setdefault(row.model, {})[row.setting["prompting"]] = row.value
    return found


def miqa(data: str, questions: Collection[str], shots: int | None, published_data: bool) -> list[Comparison]:
    """Published accuracies of MiQA for a run on these question types after so many examples (None: no prompt,
    as NLI models)."""
    wanted = "" if shots is None else str(shots)
    compared = []
    for row in results():
        if (
            row.benchmark != "MiQA"
            or row.metric != "accuracy"
            or "question" not in row.setting
            or row.model == "Chance"
        ):
            continue
        if not published_data:
            reason = f"measured on the whole of MiQA as published, not on these items of {data}"
        elif {row.setting["question"]} != set(questions):
            reason = (
                f"measured on {row.setting['question']}-questions alone, this is {' and '.join(questions)}"
            )
        elif "raters" not in row.setting and row.setting.get("shots", "") != wanted:
            reason = "measured after another number of examples, or without a prompt"
        else:
            reason = ""
        compared.append(Comparison(row, not reason, reason))
    return sorted(compared, key=lambda comparison: not comparison.comparable)


def miqa_table(question: str) -> dict[str, dict[str, float]]:
    """Rows of MiQA's Table 3 for a question type: {model: {shots: accuracy in per cent}}; shots are "" where
    there are none."""
    found: dict[str, dict[str, float]] = {}
    for row in results():
        if (
            row.table == "Table 3"
            and row.benchmark == "MiQA"
            and row.setting.get("question") == question
            and row.value is not None
        ):
            found.setdefault(row.model, {})[row.setting.get("shots", "")] = row.value
    return found


def munch(data: str, place: Sequence[str], published_data: bool) -> list[Comparison]:
    """Published accuracies of single judgement prompts of MUNCH, which follow from Table 9, for a run of the
    prompt at this `place` of the paper's tables: form, condition, number."""
    compared = []
    for row in results():
        if row.benchmark != "MUNCH" or row.metric != "accuracy" or row.table != "derived from Table 9":
            continue
        where = (row.setting["judge"], row.setting["condition"], row.setting["prompt"])
        if not published_data:
            reason = f"measured on the whole of MUNCH as published, not on these items of {data}"
        elif where != tuple(place):
            reason = (
                f"measured with prompt {where[2]} of {where[0]} judgement, {where[1]}, this is "
                f"{', '.join(place)}"
            )
        else:
            reason = ""
        in_percent = replace(row, value=None if row.value is None else 100 * row.value, unit="percent")
        compared.append(Comparison(in_percent, not reason, reason))
    return sorted(compared, key=lambda comparison: not comparison.comparable)


def munch_table(table: str) -> list[Published]:
    """Rows of one of MUNCH's tables (Tong et al. 2024) that have a value."""
    return [
        row for row in results() if row.benchmark == "MUNCH" and row.table == table and row.value is not None
    ]


def _headline(row: Published) -> bool:
    return (
        row.table in ("Table 4", "Table 11", "Footnote 4", "dev results (repo)")
        and row.setting.get("direction", "forward") == "forward"
    )


def _compare(row: Published, data: str, split: str, published_data: bool) -> Comparison:
    where = "validation" if row.setting.get("split") == "dev" else row.setting.get("split", "test")
    if not published_data:
        reason = f"measured on the whole of Fig-QA as published, not on these items of {data}"
    elif where != split:
        reason = f"measured on {where}, this is {split}"
    else:
        reason = next((reason for mark, reason in DISQUALIFIED.items() if mark in row.note), "")
    return Comparison(row, not reason, reason)

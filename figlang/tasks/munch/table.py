"""MUNCH's Tables 2 and 9 (Tong et al. 2024) for one model, made from its answers to the judgement prompts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from figlang.statistics.metrics import Estimate, accuracy, by_group, ratio
from figlang.tables import Cell, Mean, Table
from figlang.tasks.munch import factors
from figlang.tasks.munch.prompts import CONDITIONS, LETTERS, PROMPTS
from figlang.tasks.munch.published import table as printed_table
from figlang.tasks.munch.reading import FORMS
from figlang.types import Prediction

Cells = Mapping[str, Sequence[Prediction]]  # by id of the prompt
NONE = "none"  # no choice: two letters of the same probability, or a text that is not a letter
MODELS = ("LLaMA-13B", "LLaMA-30B", "GPT-3.5 (text-davinci-003)")
FOOTNOTE = (
    "Intervals (95 %) are over sentences. Chance is 25 %. none: no choice, which is wrong. best: selected by "
    "its accuracy on these very triples, as in the paper."
)


def measure(cells: Cells, ddof: int = 1) -> dict[str, Any]:
    """Measure each prompt (accuracy, confusion), each condition (mean and standard deviation over its
    prompts), and find the best prompt.

    `confusion` counts triples by expected and predicted letter.
    """
    prompts = {}
    for name, rows in cells.items():
        right = accuracy(rows)
        assert right is not None, "triples have labels"
        counts = Counter(
            (LETTERS[row.gold or 0], NONE if row.choice is None else LETTERS[row.choice]) for row in rows
        )
        confusion = {gold: {letter: counts[gold, letter] for letter in (*LETTERS, NONE)} for gold in LETTERS}
        prompts[name] = {**_place(name), "accuracy": asdict(right), "confusion": confusion}
    return {
        "prompts": prompts,
        "conditions": [_condition(cells, form, condition, ddof) for form, condition in _conditions(cells)],
        "ddof": ddof,
        "best": max(prompts, key=lambda name: prompts[name]["accuracy"]["value"]),
    }


def _place(name: str) -> dict[str, Any]:
    prompt = PROMPTS[name]
    return {"form": prompt.form, "condition": prompt.condition, "number": prompt.number}


def _conditions(cells: Cells) -> list[tuple[str, str]]:
    asked = {(PROMPTS[name].form, PROMPTS[name].condition) for name in cells}
    return [(form, condition) for form in FORMS for condition in CONDITIONS if (form, condition) in asked]


def _condition(cells: Cells, form: str, condition: str, ddof: int) -> dict[str, Any]:
    """Mean and standard deviation over the prompts of a condition.

    The interval of the mean resamples sentences, not prompts.
    """
    several = [
        rows
        for name, rows in cells.items()
        if (PROMPTS[name].form, PROMPTS[name].condition) == (form, condition)
    ]
    shares = [float(np.mean([bool(row.correct) for row in rows])) for rows in several]
    groups = by_group([row for rows in several for row in rows]).values()
    found = ratio([sum(bool(row.correct) for row in some) for some in groups], list(map(len, groups)))
    sd = float(np.std(shares, ddof=ddof)) if len(shares) > ddof else None
    facts = {"form": form, "condition": condition, "prompts": len(shares), "n": len(several[0])}
    return {**facts, "mean": float(np.mean(shares)), "sd": sd, "low": found.low, "high": found.high}


def tables(content: Mapping[str, Any]) -> list[Table]:
    """All tables of a metrics.json, with the published rows if they are of the same
    triples."""
    model, published, best = content["model"], content["published_file"], content["best"]
    return [
        _second(content, model, published),
        _letters(content["prompts"]),
        _ninth(content["prompts"][best]["confusion"], model, f"best prompt, here {best}", published),
        *factors.tables(
            content["factors"], model, f"judgement, best prompt, here {best}", "judgement", published
        ),
    ]


def _second(content: Mapping[str, Any], model: str, published: bool) -> Table:
    theirs = printed_table("Table 2") if published else []
    names = MODELS if published else ()

    def row(found: Mapping[str, Any]) -> list[Cell]:
        prompts = {
            one["number"]: one["accuracy"]["value"]
            for one in content["prompts"].values()
            if _same(one, found)
        }
        own = [_percent(prompts.get(number)) for number in (1, 2, 3)]
        mean = Mean(found["mean"], found["sd"], found["low"], found["high"], found["n"])
        printed = {
            (one.model, one.metric): one.value
            for one in theirs
            if (one.setting["judge"], one.setting["condition"]) == (found["form"], found["condition"])
        }
        return [
            f"{found['form']}, {found['condition']}",
            mean,
            *own,
            *(
                f"{100 * (printed[name, 'accuracy_mean'] or 0):.0f} ± "
                f"{100 * (printed[name, 'accuracy_sd'] or 0):.0f}"
                for name in names
            ),
        ]

    blocks = [[row(found) for found in content["conditions"] if found["form"] == form] for form in FORMS]
    heading = [
        "accuracy in %",
        f"{model}, mean ± sd (95 % CI)",
        "1",
        "2",
        "3",
        *(name.partition(" ")[0] for name in names),
    ]
    return Table.of_blocks(
        "table2", "Table 2, mean ± sd over the prompts 1 to 3", heading, blocks, brief=True
    )


def _letters(prompts: Mapping[str, Any]) -> Table:
    def shares(counts: Mapping[str, int]) -> list[str]:
        n = sum(counts.values())
        return [f"{100 * counts[letter] / n:.1f}" for letter in (*LETTERS, NONE)]

    rows: dict[str, list[list[Cell]]] = {form: [] for form in FORMS}
    gold: dict[str, int] = {}
    for name, found in prompts.items():
        confusion, right = found["confusion"], found["accuracy"]
        counts = {
            letter: sum(by_letter[letter] for by_letter in confusion.values()) for letter in (*LETTERS, NONE)
        }
        rows[found["form"]].append(
            [f"{name} {found['condition']} {found['number']}", Estimate(**right), *shares(counts)]
        )
        gold = {
            letter: sum(confusion[letter].values()) if letter in confusion else 0
            for letter in (*LETTERS, NONE)
        }
    blocks: list[list[list[Cell]]] = [
        [[f"{form} judgement", *[""] * 6], *some] for form, some in rows.items() if some
    ]
    blocks.append([["expected", "", *shares(gold)]])
    title = "Every prompt: accuracy and answers in %"
    return Table.of_blocks(
        "prompts", title, ["prompt", "accuracy (95 % CI)", *LETTERS, NONE], blocks, brief=True
    )


def combine(confusion: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Count triples by expected and predicted answer, as in Table 9.

    A and B are one class there: the table says only whether the letter was right.
    """
    found: dict[tuple[str, str], int] = {}
    for expected, counts in confusion.items():
        for predicted, count in counts.items():
            kind, answer = expected, predicted
            if expected in "AB":
                kind = "A/B"
                answer = (
                    "correct A/B"
                    if predicted == expected
                    else "wrong B/A"
                    if predicted in ("A", "B")
                    else predicted
                )
            elif predicted in ("A", "B"):
                answer = "A/B"
            found[kind, answer] = found.get((kind, answer), 0) + count
    return found


def _ninth(confusion: Mapping[str, Mapping[str, int]], model: str, what: str, published: bool) -> Table:
    theirs = {
        (row.setting["expected"], row.setting["predicted"], row.model): row.value
        for row in (printed_table("Table 9") if published else [])
    }
    models = MODELS if published else ()
    counts = combine(confusion)
    if not any(counts[key] for key in counts if key[1] == NONE):
        counts = {key: count for key, count in counts.items() if key[1] != NONE}
    rows: dict[str, list[list[Cell]]] = {}
    for (expected, predicted), count in counts.items():
        printed = [theirs.get((expected, predicted, one)) for one in models]
        cells = [count, *("" if value is None else int(value) for value in printed)]
        rows.setdefault(expected, []).append([f"{expected} → {predicted}", *cells])
    heading = ["triples, expected → predicted", model, *(one.partition(" ")[0] for one in models)]
    return Table.of_blocks("table9", f"Table 9, {what}", heading, list(rows.values()))


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["form"] == other["form"] and one["condition"] == other["condition"])


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"

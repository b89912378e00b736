"""Numbers in the tables of results follow from the numbers and predictions that they are made of."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from statistics import mean, stdev

import pytest

from docs.making import measured, released
from docs.making.rows import ROOT
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.statistics.comparison import Difference, compare
from figlang.types import Prediction

ROUNDED = 0.1  # of numbers with one decimal, and of what is computed from them
BRACKETS = re.compile(r"mean ± sd \(([^()]+)\)")
TWO = re.compile(r"(\d+(?:\.\d)?)(?: ± \d\.\d)? and (\d+(?:\.\d)?)")


def differences() -> list[Mapping[str, str]]:
    """Rows about two released checkpoints, each by the scoring of its recipe."""
    names = set(released.content())
    return [
        row
        for row in measured.read("differences")
        if {row["system"], row["against"]} <= names and row["data set"] == "Fig-QA dev" and row["p"]
    ]


@cache
def predictions(name: str) -> list[Prediction]:
    """The predictions of a released checkpoint."""
    return list(read_predictions(released.CHECKPOINTS / name / FORWARD))


@cache
def compared(name: str, other: str) -> tuple[Difference, Difference | None]:
    """How much better a checkpoint is than another one, in accuracy and in pairs."""
    return compare(predictions(name), predictions(other))


def test_differences_are_those_of_the_predictions() -> None:
    rows = differences()
    assert len(rows) >= 30
    wrong = []
    for row in rows:
        items, pairs = compared(row["system"], row["against"])
        found = pairs if row["measure"].startswith("pairs") else items
        assert found is not None
        value, low, high = (f"{100 * end:.1f}" for end in (found.value, found.low, found.high))
        p = "< 0.001" if found.p < 0.001 else f"{found.p:.3f}"
        made = [value, low, high, p, f"{found.won} : {found.lost}"]
        if made != [
            row[key] for key in ("difference", "difference low", "difference high", "p", "won : lost")
        ]:
            wrong.append((row["system"], row["against"], row["measure"], made))
    assert wrong == []


def test_ensembles_of_released_checkpoints_are_those_of_the_predictions() -> None:
    rows = [row for row in measured.read("differences") if " together, " in row["system"]]
    assert len(rows) == 4
    for row in rows:
        names = re.findall(r"(\S+-\S+)(?= and | together)", row["system"])
        weights = [float(weight) for weight in re.findall(r"0\.\d+", row["system"])] or [0.5, 0.5]
        both = [
            replace(one, scores=tuple(weights[0] * a + weights[1] * b for a, b in zip(*scores, strict=True)))
            for one, other in zip(*map(predictions, names), strict=True)
            if (scores := (one.scores, other.scores))
        ]
        items, pairs = compare(both, predictions(row["against"]))
        found = pairs if row["measure"].startswith("pairs") else items
        assert found is not None
        assert row["difference"] == f"{100 * found.value:.1f}"
        assert (row["difference low"], row["p"]) == (f"{100 * found.low:.1f}", f"{found.p:.3f}")
        assert row["won : lost"] == f"{found.won} : {found.lost}"


@pytest.mark.parametrize(("name", "prefix"), [("recipes_figqa", ""), ("recipes_several", "Fig-QA ")])
def test_means_are_those_of_the_seeds_in_brackets(name: str, prefix: str) -> None:
    tried = 0
    for row in measured.read(name):
        for inside in BRACKETS.findall(row["recipe"]):
            seeds = [[float(value) for value in seed.split(" / ")] for seed in inside.split(", ")]
            assert len(seeds) == len(row["seed"].split(",")), row["recipe"]
            for column, values in zip(("accuracy", "pairs"), zip(*seeds, strict=True), strict=True):
                made = (mean(values), stdev(values))
                told = (float(row[f"{prefix}{column}"]), float(row[f"{prefix}{column} sd"]))
                assert told == pytest.approx(made, abs=ROUNDED), row["recipe"]
                tried += 1
    assert tried


def test_a_scoring_that_a_recipe_names_is_that_of_its_command() -> None:
    tried = 0
    for row in measured.read("recipes_figqa"):
        for scoring in re.findall(r"trained and scored by (?:scoring=)?(\w+)", row["recipe"]):
            preset = re.search(r"experiment=(\w+)", row["command"])
            text = row["command"]
            if preset is not None:
                text += (ROOT / "conf" / "experiment" / f"{preset[1]}.yaml").read_text(encoding="utf-8")
            named = re.search(r"scoring[=:] ?(\w+)", text)
            # A training without the word scores by the sum of the answer.
            assert scoring == (named[1] if named else "answer"), row["recipe"]
            tried += 1
    assert tried >= 3


def test_an_aim_is_met_only_if_its_numbers_are_reached() -> None:
    aim: tuple[float, ...] = ()
    tried = 0
    for row in measured.read("aims"):
        found = TWO.search(row["aim"])
        if found is not None or not row["aim"].startswith("the same with"):
            aim = tuple(float(value) for value in found.groups()) if found else ()
        reached = TWO.match(row["reached"])
        if not aim or reached is None:
            continue
        short = [f"{a - float(b):.1f}" for a, b in zip(aim, reached.groups(), strict=True) if float(b) < a]
        assert (row["verdict"] == "met") == (not short), row
        assert [
            value for value in short if not re.search(rf"missed by [^;]*\b{value}\b", row["verdict"])
        ] == [], row
        tried += 1
    assert tried >= 6

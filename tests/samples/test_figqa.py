"""The bundled sample of Fig-QA: small, and yet a data set in the exact form of the published one."""

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.registry import for_training, load
from figlang.types import Split
from tests.samples.places import SAMPLES, SOURCE

ROOT = Path(__file__).parents[2]
SPLITS = ["train", "validation", "test"]


@cache
def figqa_split(name: str) -> Split:
    return figqa.load(name, "medium", SOURCE, "", strict=True)


def pairs(split: Split) -> Counter[str]:
    return Counter(item.group for item in split.items)


def fold(text: str) -> str:
    return text.lower().rstrip(" .")


@pytest.mark.parametrize("name", SPLITS)
def test_figqa_has_no_row_level_problem(name: str) -> None:
    assert figqa_split(name).notes == ()  # and strict raised nothing


def test_figqa_has_at_least_120_pairs() -> None:
    assert sum(len(pairs(figqa_split(name))) for name in SPLITS) >= 120


@pytest.mark.parametrize("name", SPLITS)
def test_figqa_rows_are_all_paired(name: str) -> None:
    assert set(pairs(figqa_split(name)).values()) == {2}


@pytest.mark.parametrize("name", ["train", "validation"])
def test_figqa_labels_alternate(name: str) -> None:
    assert all(item.gold == place % 2 for place, item in enumerate(figqa_split(name).items))


def test_figqa_test_labels_are_hidden() -> None:
    assert {item.gold for item in figqa_split("test").items} == {None}


def test_figqa_phrases_are_unique_over_all_splits() -> None:
    phrases = Counter(fold(item.context) for name in SPLITS for item in figqa_split(name).items)
    assert [phrase for phrase, count in phrases.items() if count > 1] == []


def test_figqa_endings_of_a_row_differ() -> None:
    assert [
        item.id
        for name in SPLITS
        for item in figqa_split(name).items
        if fold(item.options[0]) == fold(item.options[1])
    ] == []


def test_figqa_position_says_nothing_about_meaning() -> None:
    # The ending with a negation is first about as often as second: a rule on the words of the options alone
    # learns nothing.
    negated = [
        [bool(re.search(r"\b(not|no|never|nothing|none)\b|n't", option)) for option in item.options]
        for item in figqa_split("train").items[::2]
    ]
    first, second = (sum(row[place] and not row[1 - place] for row in negated) for place in (0, 1))
    assert min(first, second) / (first + second) > 0.3


def test_figqa_has_similes_and_metaphors() -> None:
    similes = [bool(re.search(r"\b(like|as)\b", item.context)) for item in figqa_split("train").items]
    assert 0.2 < sum(similes) / len(similes) < 0.9


def test_figqa_columns_are_upstreams() -> None:
    for path in (SAMPLES / "figqa" / "filtered").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == ["startphrase", "ending1", "ending2", "labels", "valid", "qid"]


def test_figqa_qids_are_of_one_pair_each() -> None:
    qids: Counter[str] = Counter()
    for path in (SAMPLES / "figqa" / "filtered").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            qids.update(row["qid"] for row in csv.DictReader(file))
    assert set(qids.values()) == {2}


def test_figqa_validation_items_have_a_commonsense_category() -> None:
    assert all(item.attributes["commonsense"] for item in figqa_split("validation").items)


def test_figqa_commonsense_counts_its_labels() -> None:
    with (SAMPLES / "figqa" / "commonsense_annotation" / "dev.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    assert all(
        int(row["num_labels"]) == sum(row[short] == "1" for short in figqa.COMMONSENSE) for row in rows
    )


def test_figqa_sample_needs_nothing_dropped_from_training() -> None:
    train, _ = for_training(DataConfig(root=SOURCE), PathsConfig())
    assert len(train.items) == len(figqa_split("train").items)


def test_figqa_test_labels_of_the_tests_fit_the_sample() -> None:
    labels = str(ROOT / "tests" / "data" / "figqa_sample_test_labels.csv")
    split = load("test", DataConfig(root=SOURCE, test_labels=labels), PathsConfig())
    golds: dict[str, set[int | None]] = {}
    for item in split.items:
        golds.setdefault(item.group, set()).add(item.gold)
    assert set(map(frozenset, golds.values())) == {frozenset({0, 1})}

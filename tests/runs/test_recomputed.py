"""Published numbers that follow from released files or from other published numbers, recomputed."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import published
from tests.published import results

EXPECTED = {"A/B": ("apt", "inapt"), "C": ("apt", "apt"), "D": ("inapt", "inapt")}


def rows(file: str) -> list[dict[str, str]]:
    with (Path(published(file)) / file).open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def table_9() -> dict[str, dict[tuple[str, str], float]]:
    """Counts of MUNCH's Table 9: {model: {(expected, predicted): triples}}."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in results():
        if row.benchmark == "MUNCH" and row.table == "Table 9" and row.value is not None:
            found.setdefault(row.model, {})[row.setting["expected"], row.setting["predicted"]] = row.value
    return found


@pytest.mark.parametrize(
    ("file", "phrases"),
    [
        ("ada_generation", 114),
        ("babbage_0.4_generation", 114),
        ("curie_0.4_generation", 114),
        ("davinci_generation", 114),
        ("davinci_0.4_long_generation", 114),
        ("davinci_0.8_generation", 5),
        ("davinci_1_generation", 10),
    ],
)
def test_gpt3_wrote_four_completions_of_every_phrase(file: str, phrases: int) -> None:
    counts = Counter(row["startphrase"] for row in rows(f"figqa/generations/{file}.csv"))
    assert (len(counts), set(counts.values())) == (phrases, {4})


def test_the_rated_completions_are_those_of_one_tenth_of_test() -> None:
    # Fig-QA, §5.2: shares of 114 phrases, as printed, are shares of whole phrases.
    phrases = len({row["startphrase"] for row in rows("figqa/generations/davinci_generation.csv")})
    for metric in ("contradictory_set_rate", "at_least_one_correct", "all_correct"):
        share = next(row.value for row in results() if row.table == "Sec 5.2" and row.metric == metric)
        assert share is not None
        assert round(share / 100 * phrases) / phrases * 100 == pytest.approx(share, abs=0.05)


def test_munch_has_the_samples_of_table_1() -> None:
    counts = Counter(row["genre"] for row in rows("munch/correct_answers/for_generation.csv"))
    printed = {
        row.setting["genre"]: row.value
        for row in results()
        if row.benchmark == "MUNCH" and row.table == "Table 1" and row.metric == "n_samples"
    }
    assert {**counts, "TOTAL": counts.total()} == printed


def test_munch_has_as_many_triples_of_each_kind_as_table_9_expects() -> None:
    labels = Counter(
        tuple(sorted((row["s1_label"], row["s2_label"])))
        for row in rows("munch/correct_answers/for_judgement.csv")
    )
    for counts in table_9().values():
        for expected, kind in EXPECTED.items():
            assert sum(count for (wanted, _), count in counts.items() if wanted == expected) == labels[kind]


@pytest.mark.parametrize(
    ("model", "accuracy"), [("LLaMA-13B", 0.454), ("LLaMA-30B", 0.331), ("GPT-3.5 (text-davinci-003)", 0.343)]
)
def test_the_best_cells_of_table_9_give_their_accuracy(model: str, accuracy: float) -> None:
    counts = table_9()[model]
    right = counts["A/B", "correct A/B"] + counts["C", "C"] + counts["D", "D"]
    assert round(right / sum(counts.values()), 3) == accuracy
    derived = next(
        row.value for row in results() if row.table == "derived from Table 9" and row.model == model
    )
    assert derived == pytest.approx(right / sum(counts.values()), abs=5e-5)

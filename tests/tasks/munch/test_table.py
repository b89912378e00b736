"""MUNCH's tables from predictions (figlang/tasks/munch/table.py, factors.py): by hand, and the published ones
found again."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from figlang import tables
from figlang.statistics import association
from figlang.tasks.munch import factors, published
from figlang.tasks.munch import table as munch_table
from figlang.tasks.munch.table import NONE, combine
from figlang.types import Prediction

SCORES = {
    "A": (1.0, 0, 0, 0),
    "B": (0, 1.0, 0, 0),
    "C": (0, 0, 1.0, 0),
    "D": (0, 0, 0, 1.0),
    NONE: (0.0, 0, 0, 0),
}


def cell(answers: Sequence[str], form: str = "word") -> list[Prediction]:
    """Predictions written as gold and predicted letter: AB is an A that the model takes for B, A- no choice
    at all."""
    genres, parts = ("NEWS", "FICTION"), ("NOUN", "VERB", "ADV")
    return [
        Prediction(
            str(place),
            f"s{place // 2}",
            "ABCD".index(answer[0]),
            SCORES[NONE if answer[1] == "-" else answer[1]],
            {
                "form": (form,),
                "genre": (genres[place % 2],),
                "pos": (parts[place % 3],),
                "novelty": (f"{place / 100}",),
            },
        )
        for place, answer in enumerate(answers)
    ]


EIGHT = ("AA", "AB", "BB", "BC", "CC", "DA", "DD", "D-")
CELLS = {
    "CTWT52": cell(EIGHT),
    "SWTC20": cell(("AA",) * 6 + ("BA",) * 2),
    "WOTG20": cell(("AB",) * 8),
    "GASW94": cell(("AA",) * 7 + ("AB",), "sentence"),
}
MEASURED = munch_table.measure(CELLS)
FACTORS = factors.measure(association.cases(CELLS["GASW94"] + CELLS["CTWT52"]), "welch", "chi2", least=3)
TOOK = {"tokens": 2000, "read": 1000, "ratio": 2.0, "seconds": 3.4}
CONTENT: dict[str, Any] = {
    "model": "m",
    "published_file": True,
    "signature": "s",
    "took": TOOK,
    "factors": FACTORS,
    **MEASURED,
}


def test_prompts_by_hand() -> None:
    found = MEASURED["prompts"]
    assert {name: one["accuracy"]["value"] for name, one in found.items()} == {
        "CTWT52": 0.5,
        "SWTC20": 0.75,
        "WOTG20": 0,
        "GASW94": 0.875,
    }
    assert found["CTWT52"]["confusion"] == {
        "A": {"A": 1, "B": 1, "C": 0, "D": 0, NONE: 0},
        "B": {"A": 0, "B": 1, "C": 1, "D": 0, NONE: 0},
        "C": {"A": 0, "B": 0, "C": 1, "D": 0, NONE: 0},
        "D": {"A": 1, "B": 0, "C": 0, "D": 1, NONE: 1},
    }
    assert MEASURED["best"] == "GASW94"


def test_the_spread_over_the_prompts_of_a_condition() -> None:
    word, sentence = MEASURED["conditions"]
    assert (word["form"], word["condition"], word["prompts"], word["n"]) == ("word", "implicit", 3, 8)
    assert (word["mean"], word["sd"]) == (pytest.approx(1.25 / 3), pytest.approx(0.3818813))
    assert munch_table.measure(CELLS, ddof=0)["conditions"][0]["sd"] == pytest.approx(0.3118048)
    assert (sentence["condition"], sentence["mean"], sentence["sd"]) == ("m-word", 0.875, None)
    assert word["low"] < word["mean"] < word["high"]


def test_the_two_candidates_are_one_class_of_table_9() -> None:
    assert combine(MEASURED["prompts"]["CTWT52"]["confusion"]) == {
        ("A/B", "correct A/B"): 2,
        ("A/B", "wrong B/A"): 1,
        ("A/B", "C"): 1,
        ("A/B", "D"): 0,
        ("A/B", NONE): 0,
        ("C", "A/B"): 0,
        ("C", "C"): 1,
        ("C", "D"): 0,
        ("C", NONE): 0,
        ("D", "A/B"): 1,
        ("D", "C"): 0,
        ("D", "D"): 1,
        ("D", NONE): 1,
    }


@pytest.mark.parametrize("model", munch_table.MODELS)
def test_the_published_confusion_has_every_class_of_ours(model: str) -> None:
    printed = {
        (row.setting["expected"], row.setting["predicted"]): row.value
        for row in published.table("Table 9")
        if row.model == model
    }
    empty = {gold: dict.fromkeys(("A", "B", "C", "D"), 0) for gold in "ABCD"}
    assert printed.keys() == combine(empty).keys()
    assert sum(value or 0 for value in printed.values()) == 1492


def cells_of(title: str, content: dict[str, Any] = CONTENT) -> list[list[str]]:
    (found,) = [table for table in munch_table.tables(content) if table.title.startswith(title)]
    return found.texts


def test_table_2_stands_beside_the_published_rows() -> None:
    word, sentence = cells_of("Table 2")
    assert word[0] == "word, implicit"
    assert word[1].startswith("41.7 ± 38.2 (")
    assert word[2:] == ["50.0", "75.0", "0.0", "28 ± 18", "21 ± 10", "23 ± 10"]
    assert sentence == ["sentence, m-word", sentence[1], "", "", "87.5", "10 ± 8", "27 ± 5", "21 ± 2"]
    assert sentence[1].startswith("87.5 (")


def test_letters_of_every_prompt_and_those_expected() -> None:
    rows = cells_of("Every prompt")
    assert [row[0] for row in rows] == [
        "word judgement",
        "CTWT52 implicit 1",
        "SWTC20 implicit 2",
        "WOTG20 implicit 3",
        "sentence judgement",
        "GASW94 m-word 3",
        "expected",
    ]
    assert rows[1][2:] == ["25.0", "25.0", "25.0", "12.5", "12.5"]
    assert rows[-1][2:] == ["100.0", "0.0", "0.0", "0.0", "0.0"]


def test_table_9_of_the_best_prompt_stands_beside_the_published_ones() -> None:
    rows = {row[0]: row[1:] for row in cells_of("Table 9")}
    assert rows["A/B → correct A/B"] == ["7", "667", "462", "373"]
    assert rows["D → C"] == ["0", "134", "342", "222"]
    assert not any(NONE in name for name in rows)
    assert any(NONE in row[0] for row in cells_of("Table 9", CONTENT | {"best": "CTWT52"}))


def test_tables_10_to_12_stand_beside_the_published_ones() -> None:
    ten, eleven, twelve = (cells_of(f"Table {number}") for number in (10, 11, 12))
    assert ten[0][3] == "n 11 + 5"
    assert ten[1:] == [
        ["LLaMA-13B", "0.07", "0.07", "not significant"],
        ["LLaMA-30B", "0.05", "0.08", "significant"],
        ["GPT-3.5 (text-davinci-003)", "0.06", "0.08", "not significant"],
    ]
    assert eleven[1] == ["n", "–", "8", "8", "–"]
    assert eleven[3] == ["LLaMA-30B", "37", "33", "24", "–"]
    assert twelve[1] == ["n", "6", "6", "–", "4"]
    assert twelve[2] == ["LLaMA-13B", "44", "47", "46", "70"]


def test_tests_are_corrected_together() -> None:
    tests = FACTORS["tests"]
    assert [test["of"] for test in tests] == ["novelty", "genre", "pos", "pos", "pos"]
    assert all(test["p_holm"] >= test["p"] for test in tests)
    assert len(cells_of("Tests")) == 5
    assert "corrected for all 5 tests" in factors.footnote(FACTORS)


def test_without_a_right_answer_nothing_is_tested() -> None:
    wrong = factors.measure(association.cases(cell(["AB", "BA"])), "welch", "chi2", 20)
    made = factors.tables(wrong, "tiny", "judgement", "judgement", published=False)
    assert [table.name for table in made] == ["table10", "table11", "table12"]
    assert made[0].texts[0][1] == "–"
    assert "±" in made[0].texts[0][2]
    assert factors.footnote(wrong).startswith("No difference is tested")


def test_published_rows_stand_only_beside_the_published_triples() -> None:
    text = tables.document("t", munch_table.tables(CONTENT | {"published_file": False}), [])
    assert "LLaMA" not in text
    assert "LLaMA" in tables.document("t", munch_table.tables(CONTENT), [])


def test_the_terminal_and_markdown_show_the_same_cells_and_fit() -> None:
    out = StringIO()
    made, below = munch_table.tables(CONTENT), factors.below(CONTENT, munch_table.FOOTNOTE)
    tables.show(made, below, Console(file=out, width=100))
    text = tables.document("MUNCH", made, below)
    for row in (row for table in made for row in table.texts):
        for value in filter(None, row[1:]):
            assert value in out.getvalue()
            assert value.replace("*", "\\*") in text
    assert "…" not in out.getvalue()


@pytest.mark.parametrize(
    ("place", "models"), [(("word", "m-word", "3"), ["LLaMA-13B"]), (("word", "implicit", "1"), [])]
)
def test_a_single_prompt_is_compared_with_the_same_prompt(
    place: tuple[str, str, str], models: list[str]
) -> None:
    found = published.compare("munch_word", place, published_data=True)
    assert [one.published.model for one in found if one.comparable] == models
    assert len(found) == 3
    assert all(one.published.value == pytest.approx(45.38) for one in found if one.comparable)
    assert not any(one.comparable for one in published.compare("munch_sample", place, published_data=False))

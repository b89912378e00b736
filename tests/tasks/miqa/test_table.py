"""MiQA's Table 3 from predictions (figlang/tasks/miqa/table.py): worked by hand, in both renderings."""

from dataclasses import replace
from io import StringIO
from itertools import product

import pytest
from rich.console import Console

from figlang.tables import document, show, text
from figlang.tasks.miqa import published as figures
from figlang.tasks.miqa import table
from figlang.types import Prediction

KINDS = ("implies", "implied-by")


def cell(implies: int, implied_by: int, first: int = 5) -> list[Prediction]:
    """Predictions for ten rows in both orders: how many of the twenty of each type are right, and how many
    choose the first option among the wrong ones."""
    rows = []
    for kind, right in zip(KINDS, (implies, implied_by), strict=True):
        for place, (row, gold) in enumerate(product(range(10), (0, 1))):
            choice = gold if place < right else 1 - gold
            scores = (1.0, 0.0) if choice == 0 else (0.0, 1.0)
            rows.append(
                Prediction(
                    f"{row}-{kind}-{gold}",
                    str(row),
                    gold,
                    scores,
                    {"question": (kind,), "order": (("right first", "wrong first")[gold],)},
                )
            )
    return rows


CELLS = {
    ("or", 0): cell(10, 14),
    ("or", 5): cell(16, 16),
    ("qa", 0): cell(12, 10),
    ("qa", 5): cell(12, 12),
    ("no_choices", 0): cell(20, 20),
    ("no_choices", 5): cell(20, 20),
}
MEASURED = table.measure(CELLS)
TOOK = {
    "tokens": 2000,
    "read": 1000,
    "ratio": 2.0,
    "seconds": 3.4,
    "one_by_one": {"questions": 72, "ratio": 1.9},
}
CONTENT = {"model": "m", "questions": MEASURED, "published_file": False, "signature": "s", "took": TOOK}


def test_cells_by_hand() -> None:
    found = MEASURED["implies"]["prompts"]
    values = {
        (name, shots): one["accuracy"]["value"]
        for name, by_shots in found.items()
        for shots, one in by_shots.items()
    }
    assert values == {
        ("or", "0"): 0.5,
        ("or", "5"): 0.8,
        ("qa", "0"): 0.6,
        ("qa", "5"): 0.6,
        ("no_choices", "0"): 1,
        ("no_choices", "5"): 1,
    }
    assert found["or"]["0"]["accuracy"]["n"] == 20
    assert found["or"]["0"]["first_option"]["value"] == 0.5


def test_a_prompt_without_a_readable_reply_stays_in_the_table() -> None:
    rows = [replace(row, scores=(0.0,) * len(row.scores)) for row in CELLS["or", 0]]
    found = table.measure({("or", 0): rows})
    cell = found["implies"]["prompts"]["or"]["0"]
    assert (cell["accuracy"]["value"], cell["first_option"]) == (0, None)
    made = table.made({**CONTENT, "questions": found})[0]
    assert (made.rows[0][0], made.rows[0][-1]) == ("or", "–")


def test_a_prompt_that_was_not_asked_a_type_of_question_has_no_cell_of_it() -> None:
    one, both = [row for row in cell(10, 14) if KINDS[1] in row.attributes["question"]], cell(12, 10)
    found = table.measure({("or", 0): one, ("qa", 0): both})
    assert {kind: list(each["prompts"]) for kind, each in found.items()} == {
        "implies": ["qa"],
        "implied-by": ["or", "qa"],
    }


def test_the_spread_leaves_baselines_out() -> None:
    over = MEASURED["implies"]["over_prompts"]
    assert over["0"] == pytest.approx(
        {"mean": 0.55, "sd": 0.1 / 2**0.5, "lowest": 0.5, "highest": 0.6, "prompts": 2}
    )
    assert over["5"]["mean"] == pytest.approx(0.7)


def test_the_best_is_chosen_without_examples_by_question_type() -> None:
    # or has the highest of all accuracies of implies, with five examples; the paper selects at none.
    assert {question: found["best"] for question, found in MEASURED.items()} == {
        "implies": "qa",
        "implied-by": "or",
    }


def test_the_interval_is_over_rows() -> None:
    # Both orders of a question are right or both wrong here: ten independent cases, not twenty.
    one = MEASURED["implies"]["prompts"]["or"]["0"]["accuracy"]
    assert one["high"] - one["low"] == pytest.approx(2 * 1.96 * 0.5 / 10**0.5, abs=0.1)


def test_a_single_prompt_has_no_spread() -> None:
    over = table.measure({("or", 0): cell(10, 10)})["implies"]["over_prompts"]["0"]
    assert (over["sd"], over["prompts"]) == (None, 1)


def test_without_a_run_without_examples_nothing_is_best() -> None:
    assert table.measure({("or", 5): cell(10, 10)})["implies"]["best"] is None


def test_rows_are_prompts_baselines_sums_and_published_numbers() -> None:
    blocks = table.rows(MEASURED, "implies", published=True)
    asking, baselines, summed, published = [
        [[text(cell, brief=True) for cell in row] for row in block] for block in blocks
    ]
    assert asking[1] == ["qa", "60.0 (27–86)", "60.0 (27–86)", "50 / 50"]
    assert [row[0] for row in baselines] == ["baseline: no_choices"]
    assert [row[:3] for row in summed] == [
        ["mean ± sd of 2 prompts", "55.0 ± 7.1", "70.0 ± 14.1"],
        ["best at 0 shots: qa *", "60.0 (27–86)", "60.0 (27–86)"],
    ]
    assert ["PaLM-540b", "89.7", "96.3", ""] in published
    assert ["DeBERTaV3-NLI-base", "82.7", "", ""] in published
    assert ["Human", "99.6", "", ""] in published
    assert len(published) == 1 + 13


def test_published_rows_stand_only_beside_the_published_items() -> None:
    assert table.rows(MEASURED, "implies", published=False)[3] == []


@pytest.mark.parametrize("question", KINDS)
def test_published_rows_by_shots(question: str) -> None:
    found = figures.table3(question)
    assert len(found) == 13
    assert sum(len(by_shots) for by_shots in found.values()) == 9 * 3 + 4
    assert (
        found["GPT-3-DaVinci"]
        == {
            "implies": {"0": 89.3, "1": 97.7, "5": 98.7},
            "implied-by": {"0": 77.3, "1": 88.0, "5": 95.7},
        }[question]
    )


def test_the_terminal_and_markdown_show_the_same_cells() -> None:
    out = StringIO()
    tables = table.made(CONTENT)
    show(tables, table.below(CONTENT), Console(file=out, width=200))
    whole = document("MiQA", tables, table.below(CONTENT))
    assert [each.name for each in tables] == ["table3_implies", "table3_implied_by"]
    for value in (value for each in tables for row in each.texts for value in row if value):
        assert value in out.getvalue()
        assert value.replace("*", "\\*") in whole
    assert "selected by its accuracy on these very items" in whole


def test_the_table_fits_an_ordinary_terminal() -> None:
    out = StringIO()
    cells = {
        (name, shots): cell(10, 10) for name in ("question_answer", "no_questions") for shots in (0, 1, 5)
    }
    content = CONTENT | {"questions": table.measure(cells), "published_file": True}
    show(table.made(content), table.below(content), Console(file=out, width=80))
    assert "…" not in out.getvalue()

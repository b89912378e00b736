"""Measures of rankings, worked by hand, and their files."""

from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.statistics import rankings
from figlang.tasks.munch import table3
from figlang.types import Ranking

# Three sentences: two answers of three ranked; none; four, of which two share a token's rank.
ROWS = [
    Ranking(
        "s1", "g1", ("a", "b", "c"), (2, None, 7), "x", ("x", "a"), {"novelty": ("0.1",), "genre": ("NEWS",)}
    ),
    Ranking("s2", "g1", ("a",), (None,), "", (), {"novelty": ("-0.2",), "genre": ("NEWS",)}),
    Ranking(
        "s3",
        "g2",
        ("a", "b", "c", "d"),
        (1, 1, 5, 12),
        "a",
        ("a",),
        {"novelty": ("0.3",), "genre": ("FICTION",)},
    ),
]


def value(found: dict[str, object], name: str) -> float:
    one = found[name]
    assert isinstance(one, dict)
    return float(one["value"])


def test_measures_worked_by_hand() -> None:
    found = rankings.measure(ROWS)
    assert value(found, "mrr") == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert value(found, "recall@1") == pytest.approx((0 + 0 + 2 / 4) / 3)
    assert value(found, "recall@5") == pytest.approx((1 / 3 + 0 + 3 / 4) / 3)
    assert value(found, "recall@10") == pytest.approx((2 / 3 + 0 + 3 / 4) / 3)
    assert value(found, "hit@1") == pytest.approx(1 / 3)
    assert value(found, "hit@5") == pytest.approx(2 / 3)
    assert value(found, "hit@10") == pytest.approx(2 / 3)
    assert value(found, "micro_recall@5") == pytest.approx(4 / 8)
    assert value(found, "micro_recall@10") == pytest.approx(5 / 8)
    assert (found["items"], found["answers"], found["unranked"], found["without"]) == (3, 8, 2, 1)


def test_mrr_lies_between_hit_at_1_and_1_and_recall_at_k_under_hit_at_k() -> None:
    found = rankings.measure(ROWS)
    assert value(found, "hit@1") <= value(found, "mrr") <= 1
    assert all(value(found, f"recall@{depth}") <= value(found, f"hit@{depth}") for depth in rankings.DEPTHS)


def test_intervals_are_over_groups() -> None:
    found = rankings.measure(ROWS)["mrr"]
    assert (found["n"], found["clusters"]) == (3, 2)
    assert 0 <= found["low"] < 0.25  # two groups say next to nothing
    assert 0.99 < found["high"] < 1


def test_what_lies_beyond_known_ranks_is_not_measured() -> None:
    found = rankings.measure(ROWS, max_rank=5)
    assert "recall@5" in found
    assert not {"recall@10", "hit@10", "micro_recall@10"} & set(found)


def test_a_case_is_right_where_an_answer_is_first() -> None:
    assert [(case.group, case.right) for case in rankings.cases(ROWS)] == [
        ("g1", False),
        ("g1", False),
        ("g2", True),
    ]


def test_over_prompts() -> None:
    second = [
        Ranking(row.id, row.group, row.answers, (1, *row.ranks[1:]), "", (), row.attributes) for row in ROWS
    ]
    found = table3.measure({"PTGS54": ROWS, "UASW92": second})
    assert found["best"] == "UASW92"
    assert found["over_prompts"]["mrr"]["mean"] == pytest.approx((0.5 + 1) / 2)
    assert found["over_prompts"]["mrr"]["sd"] == pytest.approx(0.5**1.5)
    assert table3.measure({"PTGS54": ROWS, "UASW92": second}, ddof=0)["over_prompts"]["mrr"][
        "sd"
    ] == pytest.approx(0.25)
    assert table3.measure({"PTGS54": ROWS})["over_prompts"]["mrr"]["sd"] is None


def test_a_file_holds_all_that_was_written(tmp_path: Path) -> None:
    rankings.write(tmp_path / "new" / "rows.jsonl", ROWS)
    assert rankings.read(tmp_path / "new" / "rows.jsonl") == ROWS


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[2, null, 7]", "[2, 7]", "line 1 is not a ranking .3 answers, 2 ranks."),
        ("[2, null, 7]", "[0, null, 7]", "ranks.0: input should be greater than or equal to 1"),
        ('"id"', '"name"', "line 1 is not a ranking"),
        ("{", "", "line 1 is not a ranking"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    rankings.write(path, ROWS)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(FiglangError, match=message):
        rankings.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"no rankings file .*; figlang reproduce writes one"):
        rankings.read(tmp_path / "rows.jsonl")

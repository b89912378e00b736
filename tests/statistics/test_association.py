"""Which properties right answers go with: by hand, by scipy, and as the paper says."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from figlang.statistics.association import Case, Contrast, cases, holm, means, pairs, share
from figlang.tasks.munch import published
from figlang.types import Prediction


def some(right: int, wrong: int, novelty: float = 0.0, size: int = 1, name: str = "") -> list[Case]:
    """Cases in groups of `size`, whose novelties are `novelty` and 0.1 more in turn."""
    answers = [True] * right + [False] * wrong
    return [
        Case(f"{name}{place // size}", answer, {"novelty": (f"{novelty + 0.1 * (place % 2)}",)})
        for place, answer in enumerate(answers)
    ]


def test_cases_are_predictions_with_a_label() -> None:
    rows = [
        Prediction("1", "g", 0, (1.0, 0.0), {"a": ("x",)}),
        Prediction("2", "g", None, (1.0, 0.0)),
        Prediction("3", "h", 0, (0.5, 0.5)),
    ]
    assert cases(rows) == [Case("g", True, {"a": ("x",)}), Case("h", False, {})]


def test_a_share_resamples_sentences() -> None:
    # Ten sentences whose four cases are all right or all wrong are ten cases, not forty.
    together, apart = share(some(20, 20, size=4)), share(some(20, 20))
    assert (together.value, together.n) == (0.5, 40)
    assert together.high - together.low == pytest.approx(2 * 1.96 * 0.5 / sqrt(10), abs=0.08)
    assert apart.high - apart.low == pytest.approx(2 * 1.96 * 0.5 / sqrt(40), abs=0.04)


@pytest.mark.parametrize("test", ["chi2", "chi2_yates", "fisher"])
def test_two_classes(test: str) -> None:
    (found,) = pairs({"a": some(30, 70, name="a"), "b": some(50, 50, name="b")}, test)
    assert (found.high, found.low, found.value) == ("b", "a", pytest.approx(0.2))
    pooled = 80 / 200
    z = 0.2 / sqrt(pooled * (1 - pooled) * 2 / 100)
    expected = {
        "chi2": 2 * stats.norm.sf(z),
        "chi2_yates": stats.chi2_contingency([[50, 50], [30, 70]], correction=True).pvalue,
        "fisher": stats.fisher_exact([[50, 50], [30, 70]]).pvalue,
    }
    assert found.p == pytest.approx(expected[test])
    assert found.interval == pytest.approx((0.2 - 1.96 * sqrt(0.0046), 0.2 + 1.96 * sqrt(0.0046)), abs=0.01)
    assert found.p_clustered == pytest.approx(expected["chi2"], abs=0.004)


def test_a_difference_of_few_cases_that_no_level_finds_has_p_1() -> None:
    # Exact ends of one case are at 1/2 if the level is 1, so that both intervals hold 0.45.
    (found,) = pairs({"a": some(9, 11, name="a"), "b": some(1, 1, name="b")}, least=2)
    assert found.p_clustered == 1
    assert found.interval[0] < 0 < found.value < found.interval[1]


def test_cases_of_one_sentence_are_no_independent_evidence() -> None:
    classes = {"a": some(30, 70, size=10, name="a"), "b": some(50, 50, size=10, name="b")}
    (found,) = pairs(classes)
    assert found.p < 0.01 < 0.2 < found.p_clustered
    assert found.interval[0] < 0 < found.interval[1]


def test_small_classes_are_not_tested_and_the_largest_difference_comes_first() -> None:
    classes = {
        "a": some(10, 30, name="a"),
        "b": some(20, 20, name="b"),
        "c": some(30, 10, name="c"),
        "d": some(5, 0, name="d"),
    }
    found = pairs(classes, least=20)
    assert [(one.high, one.low) for one in found] == [("c", "a"), ("b", "a"), ("c", "b")]
    assert len(pairs(classes, least=5)) == 6


@pytest.mark.parametrize("right", [0, 40])
def test_classes_that_are_all_right_or_all_wrong_do_not_differ(right: int) -> None:
    (found,) = pairs({"a": some(right, 40 - right, name="a"), "b": some(right, 40 - right, name="b")})
    assert (found.value, found.p, found.p_clustered) == (0, 1, 1)
    assert found.interval[0] < 0 < found.interval[1]


@pytest.mark.parametrize("test", ["welch", "mann_whitney"])
def test_means_of_right_and_wrong_answers(test: str) -> None:
    draw = np.random.default_rng(0)
    rows = [
        Case(str(place), place < 60, {"novelty": (str(draw.normal(0.1 * (place < 60), 0.2)),)})
        for place in range(150)
    ]
    values = np.array([float(row.attributes["novelty"][0]) for row in rows])
    sides = values[:60], values[60:]
    found = means(rows, "novelty", test)
    assert (found.right.mean, found.wrong.mean) == pytest.approx((sides[0].mean(), sides[1].mean()))
    assert (found.right.sd, found.right.n, found.wrong.n) == (pytest.approx(sides[0].std(ddof=1)), 60, 90)
    reference = {
        "welch": stats.ttest_ind(*sides, equal_var=False),
        "mann_whitney": stats.mannwhitneyu(*sides),
    }[test]
    assert found.difference is not None
    assert found.difference.p == pytest.approx(reference.pvalue)
    assert found.difference.value == pytest.approx(sides[0].mean() - sides[1].mean())
    low, high = found.difference.interval
    assert high - low == pytest.approx(2 * 1.96 * sqrt(sides[0].var() / 60 + sides[1].var() / 90), rel=0.1)


def test_without_two_answers_on_either_side_nothing_is_tested() -> None:
    found = means(some(1, 5), "novelty")
    assert (found.difference, found.right.n, found.right.sd) == (None, 1, None)
    assert means(some(0, 5), "novelty").right.mean is None


def test_a_single_sentence_on_a_side_is_no_evidence() -> None:
    # Every resample of it is the same, so that any difference would look certain.
    assert means(some(3, 3, size=3), "novelty").difference is None
    assert means(some(4, 2, size=2), "novelty").difference is None
    assert means(some(4, 4, size=2), "novelty").difference is not None
    assert pairs({"a": some(30, 70, size=100, name="a"), "b": some(50, 50, name="b")}) == []


def test_novelties_that_are_all_alike_are_not_tested() -> None:
    rows = [Case(str(place), place % 2 == 0, {"novelty": ("0.1",)}) for place in range(8)]
    found = means(rows, "novelty")
    assert (found.difference, found.right.n, found.wrong.n) == (None, 4, 4)


def test_cases_without_the_quantity_are_left_out() -> None:
    rows = [*some(5, 5), Case("x", True, {})]
    assert means(rows, "novelty").right.n == 5


def family(*values: float) -> Sequence[Contrast]:
    return [Contrast("a", "b", 0.0, (0.0, 0.0), p, p) for p in values]


def test_holm_by_hand() -> None:
    # 0.01 · 4; 0.02 · 3; 0.03 · 2 is below what came before, so it stays there; 0.9
    found = [one.p_holm for one in holm(family(0.9, 0.01, 0.03, 0.02))]
    assert found == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert [one.p_holm for one in holm(family(0.6, 0.7))] == [1.0, 1.0]
    assert holm([]) == []


def test_the_default_tests_find_what_the_paper_calls_significant() -> None:
    """From the rounded rows of Table 11, at the triples' numbers of Table 1 and of the judgement task."""
    sizes = {"judgement": {"NEWS": 631, "ACPROSE": 618, "FICTION": 243}}
    sizes["generation"] = {"ACPROSE": 1061, "NEWS": 922, "FICTION": 593, "CONVRSN": 377}
    rows: dict[tuple[str, str], dict[str, list[Case]]] = {}
    for row in published.table("Table 11"):
        genre, task = row.setting["genre"], row.setting["task"]
        n = sizes[task][genre]
        right = round((row.value or 0) * n)
        rows.setdefault((row.model, task), {})[genre] = some(right, n - right, size=100, name=genre)
    found = {key: pairs(classes)[0].p for key, classes in rows.items()}
    significant = {key for key, p in found.items() if p < 0.05}
    assert significant == {
        ("LLaMA-30B", "judgement"),
        ("LLaMA-13B", "generation"),
        ("GPT-3.5 (text-davinci-003)", "generation"),
    }
    assert found["LLaMA-30B", "judgement"] == pytest.approx(0.0003, abs=1e-4)
    assert found["LLaMA-13B", "generation"] == pytest.approx(0.0015, abs=3e-4)

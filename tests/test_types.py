"""Nouns of figlang/types.py."""

import pytest

from figlang.types import Prediction


def prediction(gold: int | None, *scores: float) -> Prediction:
    return Prediction("1", "1", gold, scores)


@pytest.mark.parametrize(
    ("scores", "choice"),
    [((1.0, 2.0), 1), ((2.0, 1.0), 0), ((-3.0, -1.0, -2.0), 1), ((float("-inf"), 0.0), 1)],
)
def test_the_choice_is_the_option_with_the_largest_score(scores: tuple[float, ...], choice: int) -> None:
    assert prediction(0, *scores).choice == choice


@pytest.mark.parametrize(
    "scores",
    [
        *((1.0, 1.0), (0.0, 2.0, 2.0), (float("-inf"), float("-inf"))),
        *((float("nan"), 1.0), (1.0, float("nan")), (float("nan"), float("nan"))),
    ],
)
def test_neither_a_tie_of_the_best_nor_a_score_that_is_not_a_number_is_a_choice(
    scores: tuple[float, ...],
) -> None:
    assert prediction(0, *scores).choice is None


def test_a_tie_below_the_best_leaves_the_choice() -> None:
    assert prediction(0, 1.0, 1.0, 2.0).choice == 2


@pytest.mark.parametrize("gold", [0, 1])
def test_a_tie_is_wrong_whatever_is_gold(gold: int) -> None:
    assert prediction(gold, 0.5, 0.5).correct is False


@pytest.mark.parametrize(("gold", "correct"), [(0, False), (1, True), (None, None)])
def test_a_choice_is_correct_if_it_is_gold_and_unknown_if_gold_is_hidden(
    gold: int | None, correct: bool | None
) -> None:
    assert prediction(gold, 0.0, 1.0).correct is correct

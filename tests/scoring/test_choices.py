"""Choices among answers to a prompt: worked by hand, and equal to a network's own loss."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch

from figlang.scoring.choices import measure
from figlang.scoring.requests import Request, Scored
from figlang.scoring.tree.causal import CausalScorer
from figlang.tasks.miqa.prompts import PROMPTS, Shots, Wording, ask, templates
from figlang.types import Item, Prediction, Prompted
from tests.causal_models import network, tokenizer, total

ITEM = Item("1", "r", "s", ("hot", "freezing"), 1, {"kind": ("k",)})
ASKED = Prompted(ITEM, "Which?", (" hot", " freezing"))


class TableScorer:
    """Per-token log-probabilities looked up by (context, continuation)."""

    def __init__(self, table: dict[tuple[str, str], list[float]]) -> None:
        self.table = table
        self.asked: list[Request] = []

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        self.asked = list(requests)
        return Scored(
            [torch.tensor(self.table[tuple(request)]) for request in self.asked], 0, 40, 20, 0, None
        )


# The short answer has the larger sum, the long one the larger mean per token and per byte, and it gains more
# by the prompt.
WORKED = {
    ("Which?", " hot"): [-4.0],
    ("Which?", " freezing"): [-2.0, -1.0, -1.5],
    ("", " hot"): [-3.0],
    ("", " freezing"): [-4.0, -2.0, -2.5],
}


@pytest.mark.parametrize(
    ("norm", "minus_alone", "scores"),
    [
        ("sum", False, (-4.0, -4.5)),
        ("mean", False, (-4.0, -1.5)),
        ("byte", False, (-4.0 / 4, -4.5 / 9)),
        ("sum", True, (-1.0, 4.0)),
        ("mean", True, (-1.0, -1.5 + 8.5 / 3)),
    ],
)
def test_scores_by_hand(norm: str, minus_alone: bool, scores: tuple[float, float]) -> None:
    measured = measure(TableScorer(WORKED), [ASKED], alone=minus_alone)
    (found,) = measured.predictions(norm, minus_alone)
    assert found.scores == pytest.approx(scores)
    assert (found.id, found.group, found.gold, found.attributes) == ("1", "r", 1, {"kind": ("k",)})


def test_one_measurement_serves_every_normalisation() -> None:
    measured = measure(TableScorer(WORKED), [ASKED], alone=True)
    choices = {
        (norm, alone): measured.predictions(norm, alone)[0].choice
        for norm in ("sum", "mean")
        for alone in (False, True)
    }
    assert choices == {("sum", False): 0, ("mean", False): 1, ("sum", True): 1, ("mean", True): 1}
    assert measured.records() == [
        {"id": "1", "after": ((-4.0, 1, 4), (-4.5, 3, 9)), "alone": ((-3.0, 1, 4), (-8.5, 3, 9))},
    ]


@pytest.mark.parametrize("alone", [False, True])
def test_every_string_is_asked_for_once(alone: bool) -> None:
    scorer = TableScorer(WORKED)
    measure(scorer, [ASKED, ASKED], alone)
    assert len(scorer.asked) == len(set(scorer.asked)) == (4 if alone else 2)


@pytest.mark.parametrize("name", PROMPTS)
def test_scores_are_the_networks_own_loss(name: str) -> None:
    plain = network("llama")
    items = [
        Item(
            f"{row}-{kind}",
            str(row),
            f"the so {row}",
            ("the oven", f"as {row} is"),
            row % 2,
            {"question": (kind,)},
        )
        for row in range(4)
        for kind in ("implies", "implied-by")
    ]
    asked = ask(items, Wording(templates(name)), Shots(2))
    scorer = CausalScorer(plain, tokenizer(), bos="add")
    predictions = measure(scorer, asked).predictions()
    for each, prediction in zip(asked, predictions, strict=True):
        sequences, _ = scorer.encoder.encode([Request(each.prompt, answer) for answer in each.answers])
        expected = [total(plain, tokens.ids, tokens.start) for tokens in sequences]
        assert prediction.scores == pytest.approx(expected, abs=1e-3)
        assert isinstance(prediction, Prediction)


def test_what_options_share_is_read_once() -> None:
    items = [
        Item(f"{row}", str(row), f"{row} the so", ("the oven", "as is"), 0, {"question": ("implies",)})
        for row in range(30)
    ]
    scorer = CausalScorer(network("llama"), tokenizer(), bos="add")
    ratios = {}
    for per in ("item", "split"):
        scored = measure(scorer, ask(items, Wording(templates("qa")), Shots(5, per=per))).scored
        ratios[per] = scored.tokens / scored.read
    assert ratios["item"] > 1.9
    assert ratios["split"] > 2 * ratios["item"]


def test_a_refused_hidden_context_is_counted_apart_from_the_choice() -> None:
    class Refusing(TableScorer):
        def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
            found = super().score(requests, progress)
            refused = [
                request.context == "Hidden?" and request.continuation == " hot" for request in self.asked
            ]
            pairs = zip(refused, found.log_probs, strict=True)
            return replace(found, log_probs=[torch.tensor([]) if no else row for no, row in pairs])

    hidden = Prompted(ITEM, "Hidden?", ASKED.answers)
    table = WORKED | {("Hidden?", " hot"): [-1.0], ("Hidden?", " freezing"): [-2.0]}
    seen = measure(Refusing(table), [ASKED, hidden])
    (row,) = seen.records(1)
    assert row["refused_blind"]
    assert "refused" not in row
    assert seen.predictions()[0].choice is not None
    assert seen.predictions()[1].choice is None
    assert len(seen.records()) == 2
    (row,) = measure(TableScorer(table), [ASKED, hidden]).records(1)
    assert "refused_blind" not in row

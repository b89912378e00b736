"""Anchors of contrastive training: their values by hand, and what they hold back."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from figlang.config import MethodConfig
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringBatch, StringScorer
from figlang.training import displacement
from figlang.training.anchored import AnchoredModule, likely, not_below
from tests.causal_models import network
from tests.scoring.tree.test_branching import ITEMS, SCORINGS, encoder

STRINGS = encoder(SCORINGS["answer"], sharing=True)


def module(anchor: str, weight: float = 1.0) -> tuple[AnchoredModule, list[displacement.EncodedStrings]]:
    built = network("llama")
    score = StringScorer(dissect(built))
    examples = STRINGS.encode(ITEMS)
    if anchor == "positive":
        examples = displacement.with_reference(built, score, examples, STRINGS.collate)
    method = MethodConfig(anchor=anchor, anchor_weight=weight)
    return AnchoredModule(built, method, score, steps=10, seed=0).train(), examples


def value(found: AnchoredModule, examples: list[displacement.EncodedStrings]) -> float:
    return float(found.loss(STRINGS.collate(examples))["loss"].detach())


def by_hand(found: AnchoredModule) -> tuple[Tensor, Tensor]:
    """Scores of the options of every item, and log-probability a token of its right answer, one at a time."""
    means, losses = [], []
    for item in ITEMS:
        sums = []
        for place, option in enumerate(item.options):
            request = STRINGS.wording.span("", item.context, option)
            tokens = STRINGS.requests.encode([request])[0][0]
            logits = found.network(torch.tensor([tokens.ids[:-1]])).logits[0].log_softmax(-1)
            own = torch.stack([logits[at - 1, tokens.ids[at]] for at in range(tokens.start, len(tokens.ids))])
            sums.append(own.sum())
            if place == item.gold:
                means.append(own.mean())
        losses.append(cross_entropy(torch.stack(sums)[None], torch.tensor([item.gold])))
    return torch.stack(losses).mean().detach(), torch.stack(means).detach()


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_the_loss_of_the_right_answers_is_added(weight: float) -> None:
    found, examples = module("lm", weight)
    choosing, means = by_hand(found)
    loss = value(found, examples)
    assert loss == pytest.approx(float(choosing - weight * means.mean()), abs=1e-4)
    selection = value(found.eval(), examples)
    assert selection == pytest.approx(float(choosing), abs=1e-4), "an epoch is selected without it"


def test_an_answer_costs_nothing_until_it_falls_below_what_it_had() -> None:
    found, examples = module("positive")
    choosing, means = by_hand(found)
    assert torch.cat([torch.tensor(each.reference) for each in examples]) == pytest.approx(means, abs=1e-4)
    assert value(found, examples) == pytest.approx(float(choosing), abs=1e-4)
    higher = [replace(each, reference=tuple(one + 0.5 for one in each.reference)) for each in examples]
    assert value(found, higher) == pytest.approx(float(choosing) + 0.5, abs=1e-4)


def test_the_penalty_is_a_mean_over_answers() -> None:
    means, before = torch.tensor([-3.0, -0.5, -3.5]), torch.tensor([-2.0, -1.0, -3.0])
    assert float(not_below(means, before)) == pytest.approx((1 + 0 + 0.5) / 3)
    assert float(likely(means, None)) == pytest.approx(7 / 3)


@pytest.mark.parametrize("anchor", ["lm", "positive"])
def test_items_without_a_label_have_no_anchor(anchor: str) -> None:
    found, examples = module(anchor, 2.0)
    hidden = [
        replace(each, choices=tuple(replace(one, gold=-1, teacher=(0.5, 0.5)) for one in each.choices))
        for each in examples
    ]
    found.method = replace(found.method, teacher=["x"], teacher_weight=0.0)
    assert value(found, [hidden[0], *examples[1:]]) == pytest.approx(value(found, examples[1:]), abs=1e-5)
    found.method = replace(found.method, teacher_weight=1.0)
    batch = STRINGS.collate(hidden)
    chosen = found.chosen(found.score(found.network, batch), batch.gold, batch.teacher)
    result = found.loss(batch)
    torch.testing.assert_close(result["loss"], chosen)
    assert (int(result["cases"]), int(result["labelled"])) == (len(hidden), 0)


def steps(anchor: str) -> displacement.Likelihood:
    """Train for some steps, and say how likely the answers are then."""
    found, examples = module("lm", 0.0) if anchor == "none" else module(anchor)
    batch: StringBatch = STRINGS.collate(examples)
    score = StringScorer(dissect(found.network))
    optimizer = torch.optim.AdamW(found.parameters(), lr=3e-3)
    for _ in range(25):
        optimizer.zero_grad()
        found.loss(batch)["loss"].backward()
        optimizer.step()
    measured = displacement.measure(found.network, score, examples, STRINGS.collate)
    assert measured is not None
    return measured


def test_anchors_keep_right_answers_likely() -> None:
    built = network("llama")
    score = StringScorer(dissect(built))
    before = displacement.measure(built, score, STRINGS.encode(ITEMS), STRINGS.collate)
    free, positive, lm = (steps(anchor) for anchor in ("none", "positive", "lm"))
    assert before is not None
    assert positive.gold > free.gold
    assert lm.gold > before.gold
    assert min(positive.gold - positive.wrong, lm.gold - lm.wrong) > before.gold - before.wrong

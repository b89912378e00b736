"""What a causal training says of right and wrong answers, before and after."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringScorer
from figlang.training import displacement
from figlang.types import Item
from tests.causal_models import network, values
from tests.running import train
from tests.scoring.tree.test_branching import ITEMS, SCORINGS, encoder

ANSWERS = ("it was hot", "it was cold")
PAIRS = [
    Item(f"{number}{place}", str(number), f"the {'very ' * (number % 3)}old room was {like}", ANSWERS, place)
    for number in range(10)
    for place, like in enumerate(("an oven", "a fridge"))
]


@pytest.mark.parametrize("name", ["answer", "clean"])
def test_likelihoods_are_the_networks_own(name: str) -> None:
    built, strings = network("llama").train(), encoder(SCORINGS[name], sharing=True)
    measured = displacement.measure(
        built, StringScorer(dissect(built)), strings.encode(ITEMS), strings.collate
    )
    assert measured is not None
    assert built.training, "the mode is kept"
    gold, wrong = [], []
    for item in ITEMS:
        of_item = []
        for place, option in enumerate(item.options):
            request = strings.wording.scored(strings.wording.scoring.span, "", item.context, option)
            tokens = strings.requests.encode([request])[0][0]
            own = values(built.eval(), tokens.ids, tokens.start)
            (gold if place == item.gold else of_item).append(sum(own) / len(own))
        wrong.append(sum(of_item) / len(of_item))
    assert measured.gold == pytest.approx(sum(gold) / len(gold), abs=1e-4)
    assert measured.wrong == pytest.approx(sum(wrong) / len(wrong), abs=1e-4)
    assert measured.items == len(ITEMS)


def test_fewer_items_are_read_together_if_memory_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    built, strings = network("llama"), encoder(SCORINGS["answer"], sharing=True)
    examples, whole = strings.encode(ITEMS), StringScorer.log_probs
    scorer = StringScorer(dissect(built))
    expected = displacement.measure(built, scorer, examples, strings.collate)

    def scarce(own: StringScorer, network: nn.Module, batch: Any) -> torch.Tensor:
        if len(batch.gold) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return whole(own, network, batch)

    monkeypatch.setattr(StringScorer, "log_probs", scarce)
    measured = displacement.measure(built, scorer, examples, strings.collate)
    assert measured is not None
    assert expected is not None
    assert measured.gold == pytest.approx(expected.gold, abs=1e-5)
    assert measured.wrong == pytest.approx(expected.wrong, abs=1e-5)


def test_pairs_have_a_reference_for_each_of_their_choices_in_any_order() -> None:
    built, strings = network("llama").eval(), encoder(SCORINGS["answer"], sharing=True)
    scorer, pairs = StringScorer(dissect(built)), strings.encode_pairs(PAIRS)
    assert len(pairs) > displacement.TOGETHER
    assert {len(each.choices) for each in pairs} == {4}, "two forward, two backward"
    lengths = [each.longest for each in pairs]
    assert lengths != sorted(lengths), "those of one length, which are read together, stand apart"
    together = displacement.with_reference(built, scorer, pairs, strings.collate)
    for pair, found in zip(pairs, together, strict=True):
        (alone,) = displacement.with_reference(built, scorer, [pair], strings.collate)
        assert found.reference == pytest.approx(alone.reference, abs=1e-5)


def test_items_without_labels_are_left_out() -> None:
    built, strings = network("llama"), encoder(SCORINGS["answer"], sharing=True)
    examples = strings.encode(ITEMS)
    hidden = [each for each in examples if each.choices[0].gold < 0]
    assert displacement.measure(built, StringScorer(dissect(built)), hidden, strings.collate) is None
    assert displacement.sentence(displacement.facts(None, None)) == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_network_without_finite_scores_is_not_measured(value: float) -> None:
    built, strings = network("llama"), encoder(SCORINGS["answer"], sharing=True)
    with torch.no_grad():
        built.lm_head.weight.fill_(value)
    examples = strings.encode(ITEMS)
    assert displacement.measure(built, StringScorer(dissect(built)), examples, strings.collate) is None


def test_only_a_fall_is_worth_a_warning() -> None:
    def likelihood(gold: float) -> displacement.Likelihood:
        return displacement.Likelihood(gold, gold - 1, 100)

    before, fallen, kept = likelihood(-3.12), likelihood(-5.98), likelihood(-3.2)
    assert "-3.12 to -5.98 nats per token" in displacement.warning(displacement.facts(before, fallen))
    assert displacement.warning(displacement.facts(before, kept)) == ""
    assert displacement.warning(displacement.facts(fallen, before)) == ""


def test_a_training_says_it_and_its_anchor_is_a_setting(tmp_path: Path) -> None:
    words = ["model=smollm2", "method.lr=0.01", "method.epochs=2"]
    wrong = train(tmp_path, "model=minilm", "method.anchor=lm")
    assert "method.anchor=lm is for causal models with method=contrastive" in wrong.stderr
    told = {}
    for name in ("none", "positive"):
        result = train(tmp_path, *words, f"method.anchor={name}", f"run={name}")
        assert result.returncode == 0, result.stderr
        content = json.loads((tmp_path / name / "metrics.json").read_text())
        told[name] = content["training"]["log_probs"]
        said = displacement.sentence(told[name])
        assert said in result.stderr
        assert said in (tmp_path / name / "model" / "README.md").read_text()
        found = [finding["code"] for finding in content["health"]]
        assert ("displaced" in found) == bool(displacement.warning(told[name]))
    assert told["none"]["before"] == told["positive"]["before"]
    assert told["none"]["after"] != told["positive"]["after"]


def test_a_run_of_before_a_setting_is_the_same_run(tmp_path: Path) -> None:
    words = ["model=smollm2", "run=old"]
    assert train(tmp_path, *words).returncode == 0
    recipe = json.loads((tmp_path / "old" / "recipe.json").read_text())
    assert "anchor" not in recipe["settings"]["method"]
    again = train(tmp_path, *words)
    assert again.returncode == 0, again.stderr
    other = train(tmp_path, *words, "method.anchor=lm")
    assert "holds a finished run with other settings (method.anchor" in other.stderr

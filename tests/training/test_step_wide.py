"""Losses that compare texts across a step: by hand, in any order, and nothing else changed."""

import math
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import MethodConfig
from figlang.scoring.encode import Batch, Encoder
from figlang.scoring.head import Dual, scorer
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.step_wide import StepWideModule
from tests.running import train
from tests.training.test_cross_entropy_shared_texts import OTHER, PAIR, built

__all__ = ["built"]

SCALE = 3.0
BOTH = MethodConfig(format="dual", direction="both", scale=SCALE)
RANKED = MethodConfig(format="dual", negatives="batch", negatives_weight=0.5, scale=SCALE)
RANKED_BOTH = MethodConfig(
    format="dual", direction="both", negatives="batch", negatives_weight=0.5, scale=SCALE
)
# Items as (context, options, place of the right one); a text is the direction of its vector in degrees.
Texts = tuple[int, tuple[int, ...], int]
TWO_PAIRS: list[Texts] = [
    (10, (25, 60), 0),
    (70, (25, 60), 1),
    (130, (140, 210), 0),
    (190, (140, 210), 1),
]


class Directions(nn.Module):
    """A network whose token N is the unit vector at N degrees."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        angle = torch.deg2rad(input_ids.double())
        return SimpleNamespace(last_hidden_state=torch.stack([angle.cos(), angle.sin()], -1))


def batch_of(items: Sequence[Texts]) -> Batch:
    """The items as a batch in which each distinct text is one sequence, in the order of its first use."""
    texts = list(dict.fromkeys(text for context, options, _ in items for text in (context, *options)))
    rows = torch.tensor(texts)[:, None]
    return Batch(
        {"input_ids": rows, "attention_mask": torch.ones_like(rows)},
        torch.tensor([[texts.index(option) for option in options] for _, options, _ in items]),
        torch.tensor([texts.index(context) for context, _, _ in items]),
        torch.tensor([gold for _, _, gold in items]),
        list(range(len(items))),
    )


def found(method: MethodConfig, items: Sequence[Texts], training: bool = True) -> dict[str, float]:
    module = StepWideModule(Directions(), method, Dual(SCALE), steps=1, seed=0).train(training)
    return {name: float(value) for name, value in module.loss(batch_of(items)).items()}


def choice(asked: int, right: int, wrong: Sequence[int]) -> float:
    """The cross-entropy of choosing one text among others."""
    score = {text: SCALE * math.cos(math.radians(asked - text)) for text in (right, *wrong)}
    return math.log(sum(math.exp(each - score[right]) for each in score.values()))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


OPTIONS = [choice(10, 25, [60]), choice(70, 60, [25]), choice(130, 140, [210]), choice(190, 210, [140])]
CONTEXTS = [choice(25, 10, [70]), choice(60, 70, [10]), choice(140, 130, [190]), choice(210, 190, [130])]
ALL_ANSWERS = [
    choice(10, 25, [60, 140, 210]),
    choice(70, 60, [25, 140, 210]),
    choice(130, 140, [25, 60, 210]),
    choice(190, 210, [25, 60, 140]),
]
ALL_CONTEXTS = [
    choice(25, 10, [70, 130, 190]),
    choice(60, 70, [10, 130, 190]),
    choice(140, 130, [10, 70, 190]),
    choice(210, 190, [10, 70, 130]),
]


def test_the_loss_of_two_pairs_is_that_worked_by_hand() -> None:
    assert found(BOTH, TWO_PAIRS)["loss"] == pytest.approx(mean(OPTIONS + CONTEXTS))
    assert found(RANKED, TWO_PAIRS)["loss"] == pytest.approx(mean(OPTIONS) + 0.5 * mean(ALL_ANSWERS))
    both = mean(OPTIONS + CONTEXTS) + 0.5 * mean(ALL_ANSWERS + ALL_CONTEXTS)
    assert found(RANKED_BOTH, TWO_PAIRS)["loss"] == pytest.approx(both)


def test_choices_in_both_directions_are_counted() -> None:
    # 60 degrees is nearer to 70 than to 10, and so on: all eight choices are right but that of 140 for 190,
    # which is nearer to 210.
    result = found(BOTH, [*TWO_PAIRS[:3], (190, (140, 210), 0)])
    assert (result["cases"], result["correct"]) == (4 + 2, 5), "one answer for two contexts is no choice"
    result = found(BOTH, TWO_PAIRS)
    assert (result["cases"], result["correct"]) == (8, 8)


@pytest.mark.parametrize("method", [BOTH, RANKED, RANKED_BOTH])
def test_the_order_of_items_and_options_changes_no_loss(method: MethodConfig) -> None:
    expected = found(method, TWO_PAIRS)
    turned = [(context, options[::-1], 1 - gold) for context, options, gold in TWO_PAIRS]
    for items in (*permutations(TWO_PAIRS), turned):
        assert found(method, items) == pytest.approx(expected)


def test_a_right_answer_of_the_same_context_does_not_compete() -> None:
    """One metaphor stands in two items with other answers."""
    items: list[Texts] = [(10, (25, 60), 0), (10, (40, 210), 0)]
    losses = [choice(10, 25, [60, 210]), choice(10, 40, [60, 210])]
    options = [choice(10, 25, [60]), choice(10, 40, [210])]
    assert found(RANKED, items)["loss"] == pytest.approx(mean(options) + 0.5 * mean(losses))
    # No other context is there, so nothing is chosen backward.
    both = mean(options) + 0.5 * mean([*losses, 0, 0])
    assert found(RANKED_BOTH, items)["loss"] == pytest.approx(both)


def test_a_context_with_the_same_right_answer_does_not_compete() -> None:
    items: list[Texts] = [(10, (25, 60), 0), (40, (25, 60), 0), (70, (25, 60), 1)]
    forward = [choice(10, 25, [60]), choice(40, 25, [60]), choice(70, 60, [25])]
    backward = [choice(25, 10, [70]), choice(25, 40, [70]), choice(60, 70, [10, 40])]
    assert found(BOTH, items)["loss"] == pytest.approx(mean(forward + backward))
    assert found(RANKED_BOTH, items)["loss"] == pytest.approx(mean(forward + backward) * 1.5), (
        "all texts of the step are in one group"
    )


def test_a_text_does_not_compete_with_itself() -> None:
    """The context of the second item is an answer of the first."""
    items: list[Texts] = [(10, (25, 60), 0), (60, (80, 120), 0)]
    options = [choice(10, 25, [60]), choice(60, 80, [120])]
    losses = [choice(10, 25, [60, 80, 120]), choice(60, 80, [25, 120])]
    assert found(RANKED, items)["loss"] == pytest.approx(mean(options) + 0.5 * mean(losses))


@pytest.mark.parametrize("method", [BOTH, RANKED_BOTH])
def test_a_validation_is_that_of_the_options(method: MethodConfig) -> None:
    result = found(method, TWO_PAIRS, training=False)
    assert result["loss"] == pytest.approx(mean(OPTIONS))
    assert result["cases"] == len(TWO_PAIRS)


def learnt(
    kind: type[CrossEntropyModule],
    network: PreTrainedModel,
    method: MethodConfig,
    batch: Batch,
) -> list[Tensor]:
    """Loss, right choices and gradients of a step with dropout."""
    network.float().train().zero_grad()
    torch.manual_seed(3)
    module: Any = kind(network, method, scorer("dual", 20.0), steps=1, seed=0)  # type: ignore[arg-type]
    result = module.loss(batch)
    result["loss"].backward()
    gradients = [each.grad.clone() for each in network.parameters() if each.grad is not None]
    return [result["loss"].detach(), result["correct"], *gradients]


@pytest.mark.parametrize("r_drop", [0.0, 0.5])
def test_forward_with_weight_zero_is_the_plain_loss_to_the_last_bit(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase], r_drop: float
) -> None:
    network, tokenizer = built
    encoder = Encoder(tokenizer, "dual", "clean", 80)
    batch = encoder.collate(encoder.encode([*PAIR, OTHER])[0])
    plain = MethodConfig(format="dual", r_drop=r_drop, label_smoothing=0.1)
    zero = MethodConfig(
        format="dual", r_drop=r_drop, label_smoothing=0.1, negatives="batch", negatives_weight=0
    )
    before = learnt(CrossEntropyModule, network, plain, batch)
    after = learnt(StepWideModule, network, zero, batch)
    assert len(before) > 2
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def test_similarities_are_not_rounded_by_autocast(
    built: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    """A pair alone: the answers of the step are those of each item, so both terms are one loss."""
    network, tokenizer = built
    encoder = Encoder(tokenizer, "dual", "clean", 80)
    batch = encoder.collate(encoder.encode(PAIR)[0])
    module: Any = StepWideModule(
        network.float().train(),
        MethodConfig(format="dual", negatives="batch"),
        Dual(20.0),
        steps=1,
        seed=0,
    )
    plain = CrossEntropyModule(network, MethodConfig(format="dual"), Dual(20.0), steps=1, seed=0)
    losses = []
    for each in (plain, module):
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16):
            losses.append(float(each.loss(batch)["loss"].detach()))
    assert losses[1] == pytest.approx(2 * losses[0], rel=1e-5)


def test_a_run_trains_with_all_of_it(tmp_path: Path) -> None:
    asked = ["method.format=dual", "method.direction=both", "method.negatives=batch", "method.r_drop=0.5"]
    result = train(tmp_path, "run=runs/all/seed0", "data.limit=16", "method.epochs=1", *asked)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/all/seed0/metrics.json").is_file()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["method.negatives=batch", "method.format=pair"], "negatives=batch is for encoders with"),
        (
            ["method.direction=both", "method.share_texts=false"],
            "method.direction=both needs method.share_texts",
        ),
        (["method.negatives=batch", "method.accumulate=2"], "method.accumulate=2 reads them in parts"),
        (["method.direction=both", "trainer.devices=2"], "several processes would share them out"),
        (["method.direction=both", "data=snli_choice"], "has no pairs of metaphors"),
    ],
)
def test_a_step_that_is_not_read_together_is_refused(tmp_path: Path, asked: list[str], expected: str) -> None:
    result = train(tmp_path, "run=runs/no/seed0", *asked)
    assert result.returncode != 0
    assert expected in result.stderr

"""Learning from teachers: divergences worked by hand, and what is the same as learning from labels."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from figlang.config import MethodConfig, ModelConfig
from figlang.models import networks
from figlang.scoring.encode import Encoder
from figlang.scoring.head import Dual, scorer
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringScorer
from figlang.training.anchored import AnchoredModule
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.distillation import counted, divergence, mixed, softened, taught
from figlang.training.step_wide import StepWideModule
from figlang.types import Item
from tests.causal_models import network
from tests.scoring.tree.test_branching import ITEMS as STRINGS
from tests.scoring.tree.test_branching import SCORINGS
from tests.scoring.tree.test_branching import encoder as strings

ITEMS = [
    Item("a", "a", "The room was an oven", ("It was hot.", "It was cold and dark."), 0),
    Item("b", "a", "The room was a fridge.", ("It was hot.", "It was cold and dark."), 1),
    Item("c", "c", "His word is law", ("It binds.", "It is weak.", "It is long."), 2, paired=False),
]
KINDS = ("pair", "joint", "dual", "causal", "both", "anchored", "step")


def built(kind: str, **settings: Any) -> tuple[CrossEntropyModule, Sequence[Item], Sequence[Any], Any]:
    """A way of training, its items, their examples, and what makes a batch of them."""
    torch.manual_seed(0)
    if kind == "step":
        words = settings | {"direction": "both", "negatives": "batch"}
        dual, *rest = built("dual", **settings)
        score = cast(Dual, dual.score)
        step = StepWideModule(dual.network, MethodConfig(format="dual", **words), score, steps=1, seed=0)
        return quiet(step), *rest
    if kind in ("pair", "joint", "dual"):
        texts = [text for item in ITEMS for text in item.texts]
        made, tokenizer = networks.build(ModelConfig(init="tiny"), kind, texts, 3)
        reads = Encoder(tokenizer, kind, "clean", 80)
        method = MethodConfig(format=kind, **settings)
        module = CrossEntropyModule(made, method, scorer(kind, 20.0), steps=1, seed=0)
        return quiet(module), ITEMS, reads.encode(ITEMS)[0], reads.collate
    causal, words = network("llama"), strings(SCORINGS["answer"], sharing=True)
    examples = words.encode_pairs(STRINGS) if kind == "both" else words.encode(STRINGS)
    way = AnchoredModule if kind == "anchored" else CrossEntropyModule
    method = MethodConfig(anchor="lm" if kind == "anchored" else "none", anchor_weight=0.5, **settings)
    score = StringScorer(dissect(causal))
    return quiet(way(causal, method, score, steps=1, seed=0)), STRINGS, examples, words.collate


def quiet(module: CrossEntropyModule) -> CrossEntropyModule:
    """In training mode, without dropout: two readings are the same."""
    for part in module.train().modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return module


def learnt(module: CrossEntropyModule, batch: Any) -> list[Tensor]:
    """The loss, and the gradient of each weight."""
    module = copy.deepcopy(module)
    loss = module.loss(batch)["loss"]
    loss.backward()
    return [loss.detach(), *(one.grad for one in module.parameters() if one.grad is not None)]


def sure(items: Sequence[Item]) -> dict[str, list[tuple[float, ...]]]:
    """A teacher that has no doubt of the label."""
    return {
        item.id: [tuple(0.0 if place == item.gold else -1e6 for place in range(len(item.options)))]
        for item in items
    }


def unsure(items: Sequence[Item]) -> dict[str, list[tuple[float, ...]]]:
    return {item.id: [tuple(map(float, range(len(item.options))))] for item in items}


@pytest.mark.parametrize("kind", KINDS)
def test_a_teacher_without_doubt_is_the_label(kind: str) -> None:
    module, items, examples, collate = built(kind, teacher=["x"], teacher_weight=1.0)
    told = collate(taught(examples, items, sure(items), 1.0))
    for ours, theirs in zip(learnt(module, told), learnt(module, collate(examples)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_teacher_of_no_weight_changes_not_a_bit(kind: str) -> None:
    module, items, examples, collate = built(kind, teacher=["x"], teacher_weight=0.0)
    told = collate(taught(examples, items, unsure(items), 1.0))
    assert all(map(torch.equal, learnt(module, told), learnt(module, collate(examples))))


def test_contexts_that_are_chosen_beside_options_learn_from_labels() -> None:
    """By `direction=both`, a dual encoder has more choices than a teacher knows of."""
    module, items, examples, collate = built("step", teacher=["x"], teacher_weight=0.5)
    batch = collate(taught(examples, items, unsure(items), 1.0))
    scores_BC, gold_B, _ = module.read(batch)
    assert len(scores_BC) > len(batch.teacher)
    options = module.chosen(scores_BC[: len(items)], gold_B[: len(items)], batch.teacher) * len(items)
    contexts = cross_entropy(scores_BC[len(items) :], gold_B[len(items) :], reduction="sum")
    whole = module.chosen(scores_BC, gold_B, batch.teacher)
    assert float(whole.detach()) == pytest.approx(float((options + contexts).detach()) / len(scores_BC))


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_items_learn_from_their_own_teachers(kind: str) -> None:
    module, items, examples, collate = built(kind, teacher=["x"], teacher_weight=0.3)
    teachers = {items[1].id: unsure(items)[items[1].id]}
    batch = collate(taught(examples, items, teachers, 1.0))
    scores_BC = module.score(module.network, batch).detach()
    labels = [
        float(cross_entropy(row[None], gold[None])) for row, gold in zip(scores_BC, batch.gold, strict=True)
    ]
    taught_rows = [place for place, row in enumerate(batch.teacher) if row.sum() > 0]
    assert len(taught_rows) == 1, "choices of a metaphor for an answer have no teacher"
    (place,) = taught_rows
    width = len(items[1].options)
    ours = scores_BC[place, :width].double().softmax(0).tolist()
    theirs = torch.arange(width).double().softmax(0).tolist()
    apart = sum(p * log(p / q) for p, q in zip(theirs, ours, strict=True))
    labels[place] = 0.7 * labels[place] + 0.3 * apart
    expected = sum(labels) / len(labels)
    found = float(module.chosen(scores_BC, batch.gold, batch.teacher))
    assert found == pytest.approx(expected, abs=1e-5)
    module.eval()
    assert float(module.chosen(scores_BC, batch.gold, batch.teacher)) == float(
        cross_entropy(scores_BC, batch.gold)
    ), "an epoch is selected by labels alone"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("both", "step")])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_an_item_without_a_label_has_its_teachers_part_alone(kind: str, smoothing: float) -> None:
    words = {"label_smoothing": smoothing} if kind != "anchored" else {}
    module, items, examples, collate = built(kind, teacher=["x"], teacher_weight=0.3, **words)
    batch = collate(taught(examples, items, unsure(items), 1.0))
    scores_BC = module.score(module.network, batch).detach()
    each = [
        float(module.chosen(scores_BC[place : place + 1], batch.gold[place : place + 1], told[None]))
        for place, told in enumerate(batch.teacher)
    ]
    each[1] = 0.3 * float(divergence(batch.teacher[1:2], scores_BC[1:2], 1.0))
    hidden = batch.gold.clone()
    hidden[1] = -1
    found = float(module.chosen(scores_BC, hidden, batch.teacher))
    assert found == pytest.approx(sum(each) / len(each), abs=1e-5)
    result = module.counted(scores_BC, hidden, scores_BC.sum())
    assert (int(result["cases"]), int(result["labelled"])) == (len(items), len(items) - 1)


def test_the_divergence_is_that_worked_by_hand() -> None:
    teacher = torch.tensor([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    # Softmax of half of these: 1/2 and 1/2 of two options; thirds; halves; 3/4 and 1/4.
    scores = torch.tensor(
        [[1.0, 1.0, -torch.inf], [2.0, 2.0, 2.0], [0.0, 0.0, -torch.inf], [2 * log(3), 0.0, -torch.inf]]
    )
    expected = [
        4 * (0.75 * log(0.75 / 0.5) + 0.25 * log(0.25 / 0.5)),
        4 * (0.5 * log(0.5 * 3) + 2 * 0.25 * log(0.25 * 3)),
        0.0,
        4 * log(4 / 3),
    ]
    assert divergence(teacher, scores, 2.0).tolist() == pytest.approx(expected, abs=1e-6)
    label = torch.tensor([1.0, 2.0, 3.0, 4.0])
    weighted = [0.9 * own + 0.1 * apart for own, apart in zip((1, 2, 3, 4), expected, strict=True)]
    weighted[2] = 3.0
    assert float(mixed(label, teacher, scores, 0.1, 2.0)) == pytest.approx(sum(weighted) / 4, abs=1e-6)


def test_a_model_that_agrees_with_its_teacher_learns_nothing() -> None:
    scores = torch.tensor([[1.0, -2.0, 0.5], [3.0, 1.0, -torch.inf]], requires_grad=True)
    teacher = torch.tensor([softened([[1.0, -2.0, 0.5]], 3.0), (*softened([[3.0, 1.0]], 3.0), 0.0)])
    apart = divergence(teacher, scores, 3.0)
    apart.sum().backward()
    assert apart.tolist() == pytest.approx([0, 0], abs=1e-6)
    assert scores.grad is not None
    assert scores.grad.abs().max() < 1e-6


def test_teachers_are_combined_log_linearly() -> None:
    one, other = (log(0.8), log(0.2)), (log(0.3) + 7, log(0.7) + 7)  # a score may have any origin
    first, second = (0.8 * 0.3) ** 0.5, (0.2 * 0.7) ** 0.5
    assert softened([one, other], 1.0) == pytest.approx((first / (first + second), second / (first + second)))
    assert softened([one, other], 1.0) == softened([other, one], 1.0)
    assert softened([one], 2.0) == pytest.approx((2 / 3, 1 / 3)), "square roots of 4 to 1"
    assert softened([one, one, one], 1.0) == pytest.approx(softened([one], 1.0))
    assert softened([(0.0, -1e6)], 1.0) == (1.0, 0.0)
    assert sum(softened([(3.0, exp(1), -4.0)], 0.7)) == pytest.approx(1)


def test_the_log_says_how_many_items_have_a_teacher() -> None:
    scores = (0.0, 1.0)
    assert counted(ITEMS, {item.id: [scores] for item in ITEMS}) == "all 3 training items have a teacher"
    assert counted(ITEMS, {"a": [scores], "c": [scores, scores]}) == (
        "2 of 3 training items have a teacher, the others their label alone: 1 to 2 teachers an item"
    )


@pytest.mark.parametrize("more", [{"label_smoothing": 0.1}, {"r_drop": 1.0}])
def test_it_goes_with_other_ways(more: dict[str, float]) -> None:
    module, items, examples, collate = built("pair", teacher=["x"], teacher_weight=0.0, **more)
    told = collate(taught(examples, items, unsure(items), 1.0))
    without = learnt(module, told)[0]
    module.method = replace(module.method, teacher_weight=1.0)
    wholly = learnt(module, told)[0]
    module.method = replace(module.method, teacher_weight=0.25)
    assert float(learnt(module, told)[0]) == pytest.approx(
        0.75 * float(without) + 0.25 * float(wholly), rel=1e-5
    )

"""Learning similarities from teachers: losses worked by hand, and what changes nothing."""

import math
from collections.abc import Sequence

import pytest
import torch

from figlang.config import MethodConfig
from figlang.scoring.head import Dual
from figlang.training.similarity import SimilarityModule, apart
from figlang.training.teacher_networks import Teaching, Texts
from figlang.types import Item
from tests.training.test_step_wide import SCALE, TWO_PAIRS, Directions, batch_of
from tests.training.test_step_wide import Texts as Directed

METHOD = MethodConfig(
    format="dual", teacher_model=["x"], teacher_weight=0.0, similarity_weight=0.5, temperature=2.0
)


def directed(items: Sequence[Directed]) -> list[Item]:
    """Items whose texts are the directions of their vectors."""
    return [
        Item(str(place), str(place), str(context), tuple(map(str, options)), gold)
        for place, (context, options, gold) in enumerate(items)
    ]


def taught(items: Sequence[Directed], *turns: float) -> Teaching:
    """Teachers that see each text turned by so many degrees for each degree of it."""
    texts = Texts.of(directed(items))
    angles = torch.deg2rad(torch.tensor([float(text) for text in texts.texts]))
    vectors = [
        math.sqrt(SCALE) * torch.stack([(turn * angles).cos(), (turn * angles).sin()], -1) for turn in turns
    ]
    return Teaching({}, texts, vectors)


def module(items: Sequence[Directed], *turns: float) -> SimilarityModule:
    teaching = taught(items, *turns)
    return SimilarityModule(Directions(), METHOD, Dual(SCALE), steps=1, seed=0, teaching=teaching).train()


def labels(items: Sequence[Directed]) -> float:
    """The mean cross-entropy of the options."""
    return sum(
        -math.log(distribution(context, options, [1.0], 1.0)[gold]) for context, options, gold in items
    ) / len(items)


def distribution(
    asked: int, others: Sequence[int], turns: Sequence[float], temperature: float
) -> list[float]:
    def score(other: int) -> float:
        return sum(SCALE * math.cos(turn * math.radians(asked - other)) for turn in turns) / len(turns)

    weights = [math.exp(score(other) / temperature) for other in others]
    return [weight / sum(weights) for weight in weights]


def by_hand(items: Sequence[Directed], turns: Sequence[float], temperature: float) -> float:
    contexts = sorted({context for context, _, _ in items})
    answers = sorted({option for _, options, _ in items for option in options})
    total = 0.0
    for asking, asked in ((contexts, answers), (contexts, contexts), (answers, answers)):
        rows = []
        for one in asking:
            others = [other for other in asked if asking is not asked or other != one]
            theirs = distribution(one, others, turns, temperature)
            ours = distribution(one, others, [1.0], temperature)
            rows.append(sum(p * math.log(p / q) for p, q in zip(theirs, ours, strict=True)))
        total += temperature**2 * sum(rows) / len(rows)
    return total


@pytest.mark.parametrize("turns", [[0.5], [0.5, 0.9]])
def test_the_loss_of_two_pairs_is_that_worked_by_hand(turns: list[float]) -> None:
    found = float(module(TWO_PAIRS, *turns).loss(batch_of(TWO_PAIRS))["loss"])
    assert found == pytest.approx(labels(TWO_PAIRS) + 0.5 * by_hand(TWO_PAIRS, turns, 2.0), abs=1e-5)


def test_a_student_that_agrees_with_its_teacher_learns_nothing() -> None:
    found = module(TWO_PAIRS, 1.0)
    assert float(found.loss(batch_of(TWO_PAIRS))["loss"]) == pytest.approx(labels(TWO_PAIRS), abs=1e-5)
    scores = torch.tensor([[3.0, -1.0], [0.5, 2.0]], requires_grad=True)
    apart(scores.detach(), scores, 2.0).backward()
    assert scores.grad is not None
    assert scores.grad.abs().max() < 1e-6


def test_an_epoch_is_selected_by_labels_alone() -> None:
    found = module(TWO_PAIRS, 0.5).eval()
    assert float(found.loss(batch_of(TWO_PAIRS))["loss"]) == pytest.approx(labels(TWO_PAIRS))


def test_the_order_of_items_changes_no_loss() -> None:
    turned = TWO_PAIRS[::-1]
    found = float(module(turned, 0.5).loss(batch_of(turned))["loss"])
    assert found == pytest.approx(float(module(TWO_PAIRS, 0.5).loss(batch_of(TWO_PAIRS))["loss"]), abs=1e-6)


def test_a_step_of_one_item_has_answers_alone() -> None:
    one = TWO_PAIRS[:1]
    found = float(module(one, 0.5).loss(batch_of(one))["loss"])
    theirs, ours = (distribution(10, (25, 60), [turn], 2.0) for turn in (0.5, 1.0))
    expected = 4 * sum(p * math.log(p / q) for p, q in zip(theirs, ours, strict=True))
    assert found == pytest.approx(labels(one) + 0.5 * expected, abs=1e-5)


def test_items_are_found_by_their_positions() -> None:
    """A step has some of the items, in any order."""
    few = [TWO_PAIRS[3], TWO_PAIRS[1]]
    batch = batch_of(few)
    batch.positions = [3, 1]
    found = float(module(TWO_PAIRS, 0.5).loss(batch)["loss"])
    assert found == pytest.approx(labels(few) + 0.5 * by_hand(few, [0.5], 2.0), abs=1e-5)


def test_texts_that_a_student_reads_alike_take_the_first_of_them() -> None:
    items = directed(TWO_PAIRS)
    alike = [*items[:3], Item("3", "3", "190", ("140 ", "210"), 1)]
    texts = Texts.of(alike)
    assert texts.texts[-1] == "140 "
    found = module(TWO_PAIRS, 0.5)
    angles = torch.deg2rad(torch.tensor([float(text) for text in texts.texts]))
    angles[-1] += 1  # what the teacher thinks of the second spelling is not read
    vectors = math.sqrt(SCALE) * torch.stack([(0.5 * angles).cos(), (0.5 * angles).sin()], -1)
    found._texts, found._vectors = texts, [vectors]
    expected = float(module(TWO_PAIRS, 0.5).loss(batch_of(TWO_PAIRS))["loss"])
    assert float(found.loss(batch_of(TWO_PAIRS))["loss"]) == pytest.approx(expected, abs=1e-6)


def test_vectors_are_no_part_of_a_saved_state() -> None:
    assert not module(TWO_PAIRS, 0.5).state_dict()

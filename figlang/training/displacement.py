"""How likely a causal model finds right and wrong answers, before and after a training."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import torch
from torch import nn

from figlang.cpu.hasten import hastened
from figlang.machine.shrinking import Shrinking
from figlang.scoring.tree.branching import EncodedStrings, StringBatch, StringScorer
from figlang.text.amounts import form

MOST = 100  # items that are looked at
TOGETHER = 8
DISPLACED = "displaced"  # the code of the warning
WORTH_SAYING = 0.1  # nats per token: if right answers become less likely by more, a warning says so

Collate = Callable[[Sequence[EncodedStrings]], StringBatch]


@dataclass(frozen=True)
class Likelihood:
    """Mean log-probability per token, in nats, of right and wrong answers, over items."""

    gold: float
    wrong: float
    items: int


def measure(
    network: nn.Module, score: StringScorer, examples: Sequence[EncodedStrings], collate: Collate
) -> Likelihood | None:
    """Measure the first items that have a label.

    Args:
        network: The network. Its mode is kept.
        score: Its scorer.
        examples: Items in tokens.
        collate: Makes a batch of examples.

    Returns:
        None if there is no item with a label, or if a log-probability is not a finite number. The training
            then says which items these are.
    """
    known = _labelled(examples)[:MOST]
    if not known:
        return None
    gold, wrong = [], []
    for means, right in _means(network, score, known, collate):
        gold.append(means[right])
        wrong.append(sum(others := [*means[:right], *means[right + 1 :]]) / len(others))
    if not isfinite(sum(gold) + sum(wrong)):
        return None
    return Likelihood(sum(gold) / len(gold), sum(wrong) / len(wrong), len(known))


def with_reference(
    network: nn.Module, score: StringScorer, examples: Sequence[EncodedStrings], collate: Collate
) -> list[EncodedStrings]:
    """Give every example the log-probability per token that its gold strings have now. One without a label
    keeps none: no anchor reads it.

    Args:
        network: The network before its training.
        score: Its scorer.
        examples: The training items in tokens.
        collate: Makes a batch of examples.
    """
    known = iter(means[right] for means, right in _means(network, score, _labelled(examples), collate))
    return [
        replace(each, reference=tuple(next(known) if choice.gold >= 0 else 0.0 for choice in each.choices))
        for each in examples
    ]


def facts(before: Likelihood | None, after: Likelihood | None) -> dict[str, Any]:
    """The part of metrics.json on two measurements; empty without them."""
    if before is None or after is None:
        return {}
    return {"before": asdict(before), "after": asdict(after)}


def sentence(measured: dict[str, Any]) -> str:
    """The two measurements of `facts` as a sentence; empty without them."""
    if not {"before", "after"} <= measured.keys():
        return ""
    before, after = measured["before"], measured["after"]
    return (
        f"log-probability per token, of {after['items']} {form(after['items'], 'validation item')}, "
        f"before and after: right answers {before['gold']:.2f} and {after['gold']:.2f}, "
        f"wrong answers {before['wrong']:.2f} and {after['wrong']:.2f}"
    )


def warning(measured: dict[str, Any]) -> str:
    """A sentence if right answers have become less likely; else empty."""
    if not {"before", "after"} <= measured.keys():
        return ""
    if measured["after"]["gold"] >= measured["before"]["gold"] - WORTH_SAYING:
        return ""
    return (
        f"right answers became less likely ({measured['before']['gold']:.2f} to "
        f"{measured['after']['gold']:.2f} nats per token): the model chooses, but it may not write well any "
        "more; method.anchor=lm or positive holds this back"
    )


def _labelled(examples: Sequence[EncodedStrings]) -> list[EncodedStrings]:
    """The examples all of whose choices have a label."""
    return [each for each in examples if all(choice.gold >= 0 for choice in each.choices)]


@torch.no_grad()
def _means(
    network: nn.Module, score: StringScorer, examples: Sequence[EncodedStrings], collate: Collate
) -> list[tuple[list[float], int]]:
    """For every choice the log-probability per token of its options, and the place of the right one.

    Examples of about equal length are read together.
    """
    # Cards import this module too, and Lightning takes a second to import.
    from lightning_fabric.utilities import move_data_to_device

    training, device = network.training, next(network.parameters()).device
    network.eval()
    order = sorted(range(len(examples)), key=lambda place: examples[place].longest)
    found: dict[int, list[tuple[list[float], int]]] = {}
    sizes = Shrinking(TOGETHER, 1, "items are read")

    def read(size: int) -> None:
        places = order[len(found) : len(found) + size]
        some = [examples[place] for place in places]
        batch = move_data_to_device(collate(some), device)
        means_BC = score.means(score.log_probs(network, batch), batch)
        options_B = (batch.option_strings >= 0).sum(1)
        rows = zip(means_BC.tolist(), options_B.tolist(), batch.gold.tolist(), strict=True)
        choices = iter([(means[:options], right) for means, options, right in rows])
        for place, example in zip(places, some, strict=True):
            found[place] = [next(choices) for _ in example.choices]

    with hastened(network):
        while len(found) < len(examples):
            sizes(read)
    network.train(training)
    return [choice for place in range(len(examples)) for choice in found[place]]

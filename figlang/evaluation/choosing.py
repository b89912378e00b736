"""Encoders that choose: a network gives each option of an item a score."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from figlang.cpu.hasten import hastened
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.machine import bars
from figlang.machine.shrinking import Shrinking
from figlang.models import networks
from figlang.models.checkpoint import Loaded
from figlang.scoring.encode import Batch, Encoded, Encoder
from figlang.scoring.head import HeadScorer, scorer
from figlang.tasks.blind import distinct
from figlang.text.amounts import form
from figlang.types import Item, Prediction

log = logging.getLogger("figlang")


class Choice(Answering):
    """A network with a head of choices, or one that compares the vectors of two sentences."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        manifest = self._loaded.manifest
        reads = encoder(self._loaded, how)
        score = scorer(manifest.format, manifest.scale, manifest.sentence_vectors)

        def read(items: Sequence[Item]) -> list[Prediction]:
            return predict(self._loaded.network, score, reads, items, how.batch_size, how.progress)

        chosen, blind = read(share.items), unseen(read, share.items, reads, how.blind)
        return Rows(share.place(chosen), None if blind is None else share.place(blind)), {
            **origin(self._loaded),
            "scoring": manifest.described,
            "norm": "none",
            "prompt": "none",
            "text": manifest.text,
            "max_length": reads.max_length,
        }


def encoder(loaded: Loaded, how: How) -> Encoder:
    """Make the object that words and tokenises items for a network.

    Raises:
        FiglangError: `how.max_length` is more than the network has positions for.
    """
    manifest = loaded.manifest
    if how.max_length is not None:
        networks.check_positions(loaded.network, manifest.name, how.max_length, "max_length")
    return Encoder(
        loaded.tokenizer,
        manifest.format,
        manifest.text,
        how.max_length or manifest.max_length,
        manifest.sentence_vectors,
    )


def unseen(
    predicted: Callable[[Sequence[Item]], list[Prediction]],
    items: Sequence[Item],
    reads: Encoder,
    wanted: bool,
) -> list[Prediction] | None:
    """Predictions with the context hidden. Repeated options are read once.

    Args:
        predicted: Predicts items.
        items: The items with their contexts.
        reads: Tokenises them.
        wanted: Whether to predict at all.

    Returns:
        A prediction for each item; None if none are wanted, or if the tokenizer gives no token for an empty
        text.
    """
    if not wanted:
        return None
    if not reads.reads_nothing:
        log.warning(
            "accuracy with the context hidden is not measured: this tokenizer gives no token for an empty "
            "text"
        )
        return None
    kept, places = distinct([item.hidden() for item in items])
    rows = predicted(kept)
    return [Prediction.of(item, rows[place].scores) for item, place in zip(items, places, strict=True)]


@torch.inference_mode()
def predict(
    network: nn.Module,
    score: HeadScorer,
    encoder: Encoder,
    items: Sequence[Item],
    batch_size: int = 64,
    progress: bool = False,
) -> list[Prediction]:
    """Predictions in the order of the items, in the network's own precision, dropout off.

    Items are batched by length; which items share a batch changes no score beyond rounding. If memory is not
    enough for a batch, batches are halved from then on, and the log says so.

    Args:
        network: The network.
        score: Reads the scores of a batch, (B, C), from the network.
        encoder: Words and tokenises items.
        items: The items.
        batch_size: Items of a batch.
        progress: Whether to show a bar.
    """
    network.eval()
    device = next(network.parameters()).device
    encoded, truncated = encoder.encode(items)
    if truncated:
        sequences = sum(len(example.sequences) for example in encoded)
        log.warning(
            "%d of %d sequences were truncated to max_length=%d tokens",
            truncated,
            sequences,
            encoder.max_length,
        )
    order = sorted(encoded, key=lambda example: example.longest)
    scores: dict[int, list[float]] = {}
    bar = bars.progress(progress)
    with hastened(network), bar:
        task = bar.add_task("evaluating", total=len(order))
        sizes = Shrinking(batch_size, 1, "items are read")

        def read(size: int) -> dict[int, list[float]]:
            batch = moved(encoder.collate(order[len(scores) : len(scores) + size]), device)
            return dict(zip(batch.positions, score(network, batch).float().cpu().tolist(), strict=True))

        while len(scores) < len(order):
            found = sizes(read)
            scores |= found
            bar.advance(task, len(found))
    return [
        Prediction.of(item, tuple(scores[position][: len(item.options)]))
        for position, item in enumerate(items)
    ]


def prediction(item: Item, scores: Tensor) -> Prediction:
    """The prediction for an item from its row of scores (C,); places beyond its options are dropped."""
    return Prediction.of(item, tuple(scores[: len(item.options)].tolist()))


def moved(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device."""
    inputs = {name: tensor.to(device) for name, tensor in batch.inputs.items()}
    contexts = None if batch.context_rows is None else batch.context_rows.to(device)
    return Batch(inputs, batch.option_rows.to(device), contexts, batch.gold.to(device), batch.positions)


def encode_all(encoder: Encoder, items: Sequence[Item]) -> tuple[list[Encoded], list[str]]:
    """Encoded items, and a note if any input was truncated."""
    encoded, truncated = encoder.encode(items)
    notes = (
        [
            f"{truncated} {form(truncated, 'sequence was', 'sequences were')} truncated to "
            f"model.max_length={encoder.max_length} tokens"
        ]
        if truncated
        else []
    )
    return encoded, notes

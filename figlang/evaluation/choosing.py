"""The shared evaluation module: items and a network to predictions."""

import logging
from collections.abc import Sequence

import torch
from rich.progress import Progress, TimeElapsedColumn
from torch import Tensor, nn

from figlang.cpu.hasten import hastened
from figlang.scoring.encode import Batch, Encoded, Encoder
from figlang.scoring.head import Scorer
from figlang.types import Item, Prediction

log = logging.getLogger("figlang")


@torch.inference_mode()
def predict(
    network: nn.Module,
    score: Scorer,
    encoder: Encoder,
    items: Sequence[Item],
    batch_size: int = 64,
    progress: bool = False,
) -> list[Prediction]:
    """Predictions in the order of the items, in the network's own precision, dropout off.

    Items are batched by length; which items share a batch changes no score beyond rounding.
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
    bar = Progress(*Progress.get_default_columns(), TimeElapsedColumn(), disable=not progress)
    with hastened(network), bar:
        task = bar.add_task("evaluating", total=len(order))
        for start in range(0, len(order), batch_size):
            examples = order[start : start + batch_size]
            batch = _to(encoder.collate(examples), device)
            scores.update(zip(batch.positions, score(network, batch).float().cpu().tolist(), strict=True))
            bar.advance(task, len(examples))
    return [
        Prediction.of(item, tuple(scores[position][: len(item.options)]))
        for position, item in enumerate(items)
    ]


def prediction(item: Item, scores: Tensor) -> Prediction:
    """The prediction for an item from its row of scores (C,); places beyond its options are dropped."""
    return Prediction.of(item, tuple(scores[: len(item.options)].tolist()))


def _to(batch: Batch, device: torch.device) -> Batch:
    inputs = {name: tensor.to(device) for name, tensor in batch.inputs.items()}
    contexts = None if batch.context_rows is None else batch.context_rows.to(device)
    return Batch(inputs, batch.option_rows.to(device), contexts, batch.gold.to(device), batch.positions)


def encode_all(encoder: Encoder, items: Sequence[Item]) -> tuple[list[Encoded], list[str]]:
    """Encoded items, and a note if any input was truncated."""
    encoded, truncated = encoder.encode(items)
    notes = (
        [f"{truncated} sequences were truncated to model.max_length={encoder.max_length} tokens"]
        if truncated
        else []
    )
    return encoded, notes

"""Run one small batch through a network before work starts, to refuse an unsuitable network early."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from figlang.errors import FiglangError, one_line
from figlang.machine.faults import explain
from figlang.models.opening import HEADS, remedy
from figlang.scoring.encode import Encoded, Encoder

# Far above float32 rounding, and far below the effect of a padding token that is read as a word.
TOLERANCE = 1e-2


@torch.inference_mode()
def rehearse(
    network: PreTrainedModel,
    score: Callable[[nn.Module, Any], Tensor],
    encoder: Encoder,
    examples: Sequence[Encoded],
) -> None:
    """Score the shortest and the longest of the examples, together and each alone.

    Args:
        network: The network.
        score: Reads the scores of a batch, (B, C), from the network.
        encoder: Makes a batch of examples.
        examples: Items in tokens.

    Raises:
        FiglangError: If the network fails, or if a score depends on the rest of its batch, for example
            because padding is read.
    """
    chosen = list(
        {
            id(example): example for example in (min(examples, key=_longest), max(examples, key=_longest))
        }.values()
    )
    advice = remedy(network.config, HEADS.get(encoder.format))
    network.eval()
    try:
        together = score(network, encoder.collate(chosen)).float()
        alone = [score(network, encoder.collate([example])).float()[0] for example in chosen]
    except FiglangError:
        raise
    except Exception as error:  # networks of a hundred families raise all kinds of errors
        if explain(error, training=False):
            raise
        raise FiglangError(
            f"{type(network).__name__} cannot read the input format {encoder.format} ({one_line(error)}); "
            f"{advice}"
        ) from error
    for row, scores in zip(together, alone, strict=True):
        in_batch = row[: len(scores)]
        if not bool(((in_batch - scores).abs() <= TOLERANCE * (1 + scores.abs())).all()) and bool(
            scores.isfinite().all()
        ):
            raise FiglangError(
                f"{type(network).__name__} reads padding, so that a score would depend on what shares its "
                f"batch; {advice}"
            )


def _longest(example: Encoded) -> int:
    return example.longest

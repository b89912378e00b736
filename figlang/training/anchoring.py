"""The anchors that read other texts (`method.anchor=kl` and `vectors`), for a configuration and a network."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn

from figlang.config import TrainConfig
from figlang.models.differences import MUTATING
from figlang.scoring.encode import Batch, Encoded, Encoder
from figlang.scoring.head import Dual, HeadScorer
from figlang.scoring.tree.branching import EncodedStrings, StringEncoder, StringScorer
from figlang.training.agreement import continues
from figlang.training.near_base import NearBase, divergence, turned

Anchor = Callable[[nn.Module, int], NearBase]


def of_tokens(
    config: TrainConfig, texts: Sequence[EncodedStrings], encoder: StringEncoder, score: StringScorer
) -> Anchor | None:
    """The anchor of a causal model, which compares the next tokens; None without texts.

    Args:
        config: The options of the training.
        texts: The texts in tokens.
        encoder: Makes a batch of them.
        score: Has the logits of a batch.
    """
    if not texts:
        return None
    return partial(
        NearBase,
        examples=texts,
        at_once=config.method.anchor_texts,
        collate=encoder.collate,
        read=score.logits,
        apart=divergence,
        remade=_remade(config),
    )


def of_vectors(
    config: TrainConfig, texts: Sequence[Encoded], encoder: Encoder, score: HeadScorer
) -> Anchor | None:
    """The anchor of an encoder, which compares the vectors of sentences; None without texts.

    Args:
        config: The options of the training.
        texts: The texts in tokens, each as an item of its own.
        encoder: Makes a batch of them, in which equal texts are one sequence.
        score: Has the vectors of a batch.
    """
    if not texts:
        return None
    assert isinstance(score, Dual), "only dual encoders have vectors of sentences"

    def read(network: nn.Module, batch: Batch) -> Tensor:
        assert batch.context_rows is not None, "the format is dual"
        return score.vectors(network, batch)[batch.context_rows]

    return partial(
        NearBase,
        examples=texts,
        at_once=config.method.anchor_texts,
        collate=encoder.collate,
        read=read,
        apart=turned,
        remade=_remade(config),
    )


def _remade(config: TrainConfig) -> bool:
    """Whether the network without its adapters is not the one with which the training begins."""
    return config.peft.init in (*MUTATING, "loftq") and not continues(config)

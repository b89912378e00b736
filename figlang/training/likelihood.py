"""How likely a training's causal network finds answers when it begins and when it ends, on its own device."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pytorch_lightning.utilities import rank_zero_only

from figlang.config import PromptConfig, ScoringConfig, TrainConfig
from figlang.evaluation import runtime
from figlang.models.checkpoint import Loaded
from figlang.scoring.requests import RequestEncoder
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringEncoder, StringScorer
from figlang.scoring.window import positions
from figlang.scoring.wording import Wording
from figlang.training import displacement
from figlang.training.callbacks import Health
from figlang.training.displacement import Likelihood
from figlang.training.preparation import Prepared
from figlang.training.strategies import SHARDED
from figlang.types import Item

log = logging.getLogger("figlang")


def referenced(config: TrainConfig, ready: Prepared) -> Sequence[Any]:
    """The training examples, with how likely right answers are before the training if the anchor needs it.

    A network that is resumed gets its trained weights later, from the trainer.
    """
    if config.method.anchor != "positive":
        return ready.examples
    assert isinstance(ready.score, StringScorer), "anchors are for causal models"
    with _computing(config, ready):
        return displacement.with_reference(ready.network, ready.score, ready.examples, ready.collate)


def now(config: TrainConfig, ready: Prepared) -> Likelihood | None:
    """How likely the network finds right and wrong answers now; None for an encoder, and in all processes but
    the first."""
    if not isinstance(ready.score, StringScorer) or rank_zero_only.rank != 0:
        return None
    with _computing(config, ready):
        return displacement.measure(ready.network, ready.score, ready.validation_examples, ready.collate)


def displaced(
    config: TrainConfig, ready: Prepared, before: Likelihood | None, health: Health, exported: int
) -> dict[str, Any]:
    """Say how likely right and wrong answers are now, for metrics.json; empty for an encoder.

    Args:
        config: Settings of the training.
        ready: The prepared network and items.
        before: The measurement before the training; None for an encoder.
        health: Takes a warning.
        exported: Number of the exported epoch.
    """
    measured = displacement.facts(before, now(config, ready) if before else None)
    if measured:
        log.info(displacement.sentence(measured))
    if lower := displacement.warning(measured):
        health.note(exported, displacement.DISPLACED, lower)
    return measured


def of_export(loaded: Loaded, items: Sequence[Item]) -> Likelihood | None:
    """Measure an exported network on validation items, as a training measures its own; call before it scores.

    Args:
        loaded: The export on its device.
        items: The validation items.

    Returns:
        The measurement; None for an encoder.
    """
    if not loaded.manifest.input_format.causal:
        return None
    scoring, network = ScoringConfig(**(loaded.manifest.scoring or {})), loaded.network.eval()
    window = positions(network.config)
    requests = RequestEncoder(loaded.tokenizer, loaded.bos(), scoring.overflow, window)
    encoder = StringEncoder(requests, Wording(scoring, PromptConfig(), items[0].cut), sharing=False)
    score = StringScorer(dissect(network))
    return displacement.measure(network, score, encoder.encode(items), encoder.collate)


@contextmanager
def _computing(config: TrainConfig, ready: Prepared) -> Iterator[None]:
    """Put a network that waits on the CPU on the training's device while the block runs.

    One that a sharded strategy distributes may be too large for a device, and stays.
    """
    home = next(ready.network.parameters()).device
    away = home.type == "cpu" and config.trainer.strategy not in SHARDED
    if away:
        ready.network.to(runtime.device(config.trainer))
    try:
        yield
    finally:
        if away:
            ready.network.to(home)

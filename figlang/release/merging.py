"""Adapters into the network below them, with proof that no score changes."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from figlang.errors import FiglangError
from figlang.evaluation import predicting
from figlang.models import checkpoint, lora
from figlang.models.checkpoint import Loaded
from figlang.models.manifest import Manifest
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.types import Split

log = logging.getLogger("figlang")

# A difference of a score that passes unasked: float32 moves the sums over a short sentence's
# log-probabilities by a tenth of it.
TOLERANCE = 1e-4
# Beyond it, so many times what float32 itself is off by. Scores before and after are both off by that much,
# in either direction, and so are the merged weights, which are rounded once; in 48 merges of small networks
# the ratio was 2 at most.
TIMES = 4
ITEMS = 32


def merge(
    adapters: Loaded, split: Split, folder: Path, card: Callable[[Manifest], str] | None = None
) -> Loaded:
    """Write the merged network as a plain Hugging Face folder, once the scores of items of the split are
    found equal.

    `card` words its README.md.

    A difference is compared with what float32 itself is off by: the same scores are then computed in float64
    too.

    Raises FiglangError if the scores differ by more than rounding does, and then writes nothing.
    """
    few = replace(split, items=split.items[:ITEMS])
    before = _scores(adapters, few)
    whole = replace(adapters.manifest, base_precision=None, base_sha256=None)
    merged = Loaded(lora.merge(adapters.network).eval(), adapters.tokenizer, whole)
    after = _scores(merged, few)
    largest = _largest(before, after)
    if not largest <= TOLERANCE:
        # Weights in float32 are the same numbers in float64, so that going there and back changes none of
        # them.
        merged.network.double()
        rounding = _largest(after, _scores(merged, few))
        merged.network.float()
        if not largest <= TIMES * rounding:
            raise FiglangError(
                f"merging changes a score by {largest:.2g}, and float32 rounds by {rounding:.2g} only; "
                "nothing was written, keep the adapters as they are"
            )
        log.info("float32 rounds scores of this network by %.1g", rounding)
    log.info("merged: %d scores change by %.1g at most", len(before), largest)
    checkpoint.export(merged.network, merged.tokenizer, whole, folder, "" if card is None else card(whole))
    return merged


def _largest(one: list[float], other: list[float]) -> float:
    # By torch, whose maximum is nan where a difference is.
    return float(
        (torch.tensor(one, dtype=torch.float64) - torch.tensor(other, dtype=torch.float64)).abs().max()
    )


def _scores(loaded: Loaded, split: Split) -> list[float]:
    with TemporaryDirectory() as folder:
        predicting.predict(loaded, split, Path(folder), predicting.How(blind=False))
        return [score for row in read_predictions(Path(folder) / FORWARD) for score in row.scores]

"""Adapters into the network below them, with proof that no score changes."""

import logging
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from figlang import predicting
from figlang.errors import FiglangError
from figlang.exports import checkpoint
from figlang.exports.checkpoint import Loaded
from figlang.models import lora
from figlang.predictions import FORWARD, read_predictions
from figlang.types import Split

log = logging.getLogger("figlang")

# Largest difference of a score; float32 moves sums over a sentence's log-probabilities by a tenth of it.
TOLERANCE = 1e-4
ITEMS = 32


def merge(adapters: Loaded, split: Split, folder: Path, card: str = "") -> Loaded:
    """Write the merged network as a plain Hugging Face folder, once the scores of items of the split are found equal.

    Raises FiglangError if they differ by more than TOLERANCE, and then writes nothing.
    """
    few = replace(split, items=split.items[:ITEMS])
    before = _scores(adapters, few)
    whole = replace(adapters.recipe, base_precision=None, base_sha256=None)
    merged = Loaded(lora.merge(adapters.network).eval(), adapters.tokenizer, whole)
    after = _scores(merged, few)
    largest = max(abs(one - other) for one, other in zip(before, after, strict=True))
    if not largest <= TOLERANCE:
        raise FiglangError(
            f"merging changes a score by {largest:.2g}, more than {TOLERANCE:g}; nothing was written, keep the adapters as they are"
        )
    log.info("merged: %d scores change by %.1g at most", len(before), largest)
    checkpoint.export(merged.network, merged.tokenizer, whole, folder, card)
    return merged


def _scores(loaded: Loaded, split: Split) -> list[float]:
    with TemporaryDirectory() as folder:
        predicting.predict(loaded, split, Path(folder), predicting.How())
        return [score for row in read_predictions(Path(folder) / FORWARD) for score in row.scores]

"""Merge adapters into the network below them, and prove that no score changes."""

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

# A difference of a score that is accepted at once. float32 moves the sum over a short sentence's
# log-probabilities by a tenth of it.
TOLERANCE = 1e-4
# A larger difference may be this many times the error of float32. Scores before and after both have that
# error, in either direction, and merged weights are rounded once. In 48 merges of small networks, the ratio
# was 2 at most.
TIMES = 4
ITEMS = 32


def merge(
    adapters: Loaded,
    split: Split,
    folder: Path,
    card: Callable[[Manifest], str] | None = None,
    check: Callable[[], None] | None = None,
) -> Loaded:
    """Write the merged network as a plain Hugging Face folder, if the scores of some items are equal.

    A difference is compared with the error of float32: the same scores are then computed in float64 too.

    Args:
        adapters: A network with adapters.
        split: Items to score; the first ITEMS are used.
        folder: The folder to write.
        card: Writes the text of its README.md.
        check: Raises FiglangError if the folder may not be replaced (`whole_folder`).

    Returns:
        The merged network.

    Raises:
        FiglangError: If the scores differ by more than rounding. Then nothing is written.
    """
    few = replace(split, items=split.items[:ITEMS])
    before = scores_of(adapters, few)
    whole = replace(adapters.manifest, base_precision=None, base_sha256=None)
    merged = Loaded(lora.merge(adapters.network).eval(), adapters.tokenizer, whole)
    after = scores_of(merged, few)
    largest = _largest(before, after)
    if not largest <= TOLERANCE:
        # Weights in float32 are the same numbers in float64, so the way there and back does not change them.
        merged.network.double()
        rounding = _largest(after, scores_of(merged, few))
        merged.network.float()
        if not largest <= TIMES * rounding:
            raise FiglangError(
                f"merging changes a score by {largest:.2g}, but float32 rounds by only {rounding:.2g}; "
                "nothing was written, keep the adapters as they are"
            )
        log.info("float32 rounds scores of this network by %.1g", rounding)
    log.info("merged: %d scores change by %.1g at most", len(before), largest)
    said = "" if card is None else card(whole)
    checkpoint.export(merged.network, merged.tokenizer, whole, folder, said, check)
    return merged


def _largest(scores_before: list[float], scores_after: list[float]) -> float:
    # By torch, because its maximum is nan if a difference is.
    return float(
        (torch.tensor(scores_before, dtype=torch.float64) - torch.tensor(scores_after, dtype=torch.float64))
        .abs()
        .max()
    )


def scores_of(loaded: Loaded, split: Split) -> list[float]:
    """The scores of all options of a split by a network, as its predictions file has them."""
    with TemporaryDirectory() as folder:
        predicting.predict(loaded, split, Path(folder), predicting.How(blind=False))
        return [score for row in read_predictions(Path(folder) / FORWARD) for score in row.scores]

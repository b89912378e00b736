"""The texts of another data set that an anchor reads at each step (`method.anchor=kl` and `vectors`)."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from figlang.config import MethodConfig, PromptConfig, ScoringConfig, TrainConfig
from figlang.config.composing import data_presets
from figlang.errors import FiglangError
from figlang.scoring.wording import Wording
from figlang.tasks import registry
from figlang.text.amounts import counted


def texts(config: TrainConfig) -> tuple[list[str], list[str]]:
    """The texts of `method.anchor_data`: its training items with their right answers.

    Returns:
        The texts, and a note that names them; both empty for other anchors.

    Raises:
        FiglangError: The preset is unknown, has no such texts, or its files are not there.
    """
    method = config.method
    if not method.reads_texts:
        return [], []
    try:
        (preset,) = data_presets([method.anchor_data])
    except FiglangError as error:
        raise FiglangError(f"method.anchor_data={method.anchor_data}: {error}") from error
    if registry.task(preset.dataset).classified(preset):
        raise FiglangError(
            f"method.anchor_data={method.anchor_data} has premises with hypotheses and no texts; take "
            f"{MethodConfig.anchor_data}"
        )
    split = registry.load("train", replace(preset, root=preset.root or config.data.root), config.paths)
    known = [item for item in split.items if item.gold is not None]
    if not known:
        raise FiglangError(
            f"{split.source}: every label is hidden, so method.anchor_data={method.anchor_data} has no "
            f"texts; take {MethodConfig.anchor_data}"
        )
    wording = Wording(ScoringConfig(), PromptConfig(), known[0].cut)
    found = list(dict.fromkeys(wording.of(item).example(item) for item in known))
    reads = f"method.anchor={method.anchor} reads {counted(len(found), 'text')}"
    return found, [f"{reads} of {method.anchor_data} @{split.sha256[:8]}"]


class Turns:
    """Which texts are read at a step. Every text comes once before one comes again.

    The order depends only on the seed, so a training that is resumed goes on with the next texts.

    Args:
        total: Number of texts.
        at_once: Number of texts of a step.
        seed: Seed of the order.
    """

    def __init__(self, total: int, at_once: int, seed: int) -> None:
        self._total, self._at_once, self._seed = total, at_once, seed

    def of(self, step: int, rank: int = 0, world: int = 1) -> Sequence[int]:
        """The texts of a step that one of several processes reads, one at least."""
        first = step * self._at_once
        places = [divmod(place, self._total) for place in range(first, first + self._at_once)]
        orders = {turn: self._order(turn) for turn in {turn for turn, _ in places}}
        chosen = [int(orders[turn][within]) for turn, within in places]
        return chosen[rank::world] or chosen[:1]

    def _order(self, turn: int) -> Tensor:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + turn)
        return torch.randperm(self._total, generator=generator)

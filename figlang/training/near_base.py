"""Contrastive training that keeps a causal model's language near that of its base, on other texts.

The second term of the loss is the divergence (Kullback-Leibler) of the trained network from its base in the
next token, on some texts of another data set at each step. Preference training has it on texts that the
network writes (Ziegler et al. 2019, arXiv 1909.08593, equation 2). Given texts need no writing.

Shape letters: S scored tokens, V vocabulary.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from lightning_fabric.utilities import move_data_to_device
from peft import PeftModel
from torch import Tensor, nn

from figlang.config import MethodConfig, PromptConfig, ScoringConfig, TrainConfig
from figlang.config.composing import data_presets
from figlang.cpu.hasten import hasten, release
from figlang.errors import FiglangError
from figlang.scoring.tree.branching import EncodedStrings, StringBatch, StringScorer
from figlang.scoring.wording import Wording
from figlang.tasks import registry
from figlang.text.amounts import counted
from figlang.training.cross_entropy import CrossEntropyModule


def texts(config: TrainConfig) -> tuple[list[str], list[str]]:
    """The texts of `method.anchor_data`: its training items with their right answers.

    Returns:
        The texts, and a note that names them; both empty for other anchors.

    Raises:
        FiglangError: The preset is unknown, has no such texts, or its files are not there.
    """
    method = config.method
    if method.anchor != "kl":
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
    note = f"method.anchor=kl reads {counted(len(found), 'text')} of {method.anchor_data} @{split.sha256[:8]}"
    return found, [note]


def divergence(base_SV: Tensor, own_SV: Tensor) -> Tensor:
    """The divergence of the second distributions from the first, KL(base || own), a token, in nats.

    Args:
        base_SV: Logits of the base.
        own_SV: Logits of the trained network.
    """
    base_SV, own_SV = base_SV.log_softmax(-1), own_SV.log_softmax(-1)
    return (base_SV.exp() * (base_SV - own_SV)).sum(-1).mean()


class NearBaseModule(CrossEntropyModule):
    """Trains by cross-entropy over the options, and keeps the network near its base.

    The texts are read without dropout, so the term is 0 before the first step and draws no random number.
    The base is the network with its adapters off. If all weights train, or if that network is not where the
    training begins, it is a frozen copy, which is not saved. The loss by which an epoch is
    selected is without the term.

    Args:
        network: As for the other ways of training.
        method: As there.
        score: As there.
        steps: As there.
        seed: As there; of the order of the texts too.
        ratio: As there.
        examples: The texts in tokens.
        collate: Makes a batch of them.
        remade: Whether the network without its adapters is not the one with which the training begins.
    """

    def __init__(
        self,
        network: nn.Module,
        method: MethodConfig,
        score: StringScorer,
        steps: int,
        seed: int,
        ratio: float = 1.0,
        *,
        examples: Sequence[EncodedStrings],
        collate: Callable[[Sequence[EncodedStrings]], StringBatch],
        remade: bool,
    ) -> None:
        super().__init__(network=network, method=method, score=score, steps=steps, seed=seed, ratio=ratio)
        self._strings, self._examples, self._collate = score, examples, collate
        # In a list, a network is not a part of the module: it is neither saved nor trained.
        whole = remade or not isinstance(network, PeftModel)
        self._copies = [copy.deepcopy(network).requires_grad_(False).eval()] if whole else []

    def on_fit_start(self) -> None:
        super().on_fit_start()
        for copied in self._copies:
            copied.to(self.device)
            if self.device.type == "cpu":
                hasten(copied)

    def on_fit_end(self) -> None:
        for copied in self._copies:
            release(copied)
        super().on_fit_end()

    def loss(self, batch: Any) -> dict[str, Tensor]:
        if not self.training:
            return super().loss(batch)
        read = self._texts()
        # First, before there is a graph through the adapters: switching them off changes which weights need
        # a gradient.
        base_SV = self._base(read)
        result = super().loss(batch)
        self.network.eval()
        own_SV = self._strings.logits(self.network, read)
        self.network.train()
        return result | {"loss": result["loss"] + self.method.anchor_weight * divergence(base_SV, own_SV)}

    def _base(self, read: StringBatch) -> Tensor:
        # With gradients allowed, although none is needed and nothing is kept for one: in bf16, attention
        # without them rounds at other places, and the difference would count as divergence.
        if self._copies:
            return self._strings.logits(self._copies[0], read).detach()
        assert isinstance(self.network, PeftModel)
        self.network.eval()
        with self.network.disable_adapter():
            base_SV = self._strings.logits(self.network, read).detach()
        self.network.train()
        return base_SV

    def _texts(self) -> StringBatch:
        """The texts of this step: the next ones of an order that depends only on the seed.

        Each process reads its share of them.
        """
        count, total = self.method.anchor_texts, len(self._examples)
        first = self.global_step * count
        chosen = []
        for place in range(first, first + count):
            turn, within = divmod(place, total)
            chosen.append(int(self._order(turn)[within]))
        rank, world = (self.global_rank, self.trainer.world_size) if self._trainer else (0, 1)
        mine = chosen[rank::world] or chosen[:1]
        batch = self._collate([self._examples[number] for number in mine])
        return move_data_to_device(batch, self.device)  # type: ignore[no-any-return]

    def _order(self, turn: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + turn)
        return torch.randperm(len(self._examples), generator=generator)

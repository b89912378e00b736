"""Training that keeps what a network makes of other texts near what its base makes of them.

The loss has a second term, on some texts of another data set at each step. For a causal model it is the
divergence (Kullback-Leibler) of the trained network from its base in the next token. Preference training has
it on texts that the network writes (Ziegler et al. 2019, arXiv 1909.08593, equation 2). Given texts need no
writing. For an encoder that compares vectors of sentences it is how far these have turned. That is half the
squared distance of vectors of length one, which Reimers and Gurevych (2020, arXiv 2004.09813, equation 1)
distil.

Shape letters: S scored tokens, V vocabulary, N texts, H hidden.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from lightning_fabric.utilities import move_data_to_device
from peft import PeftModel
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from figlang.cpu.hasten import hasten, release
from figlang.training.anchor_texts import Turns


def divergence(base_SV: Tensor, own_SV: Tensor) -> Tensor:
    """The divergence of the second distributions from the first, KL(base || own), a token, in nats.

    Args:
        base_SV: Logits of the base.
        own_SV: Logits of the trained network.
    """
    base_SV, own_SV = base_SV.log_softmax(-1), own_SV.log_softmax(-1)
    return (base_SV.exp() * (base_SV - own_SV)).sum(-1).mean()


def turned(base_NH: Tensor, own_NH: Tensor) -> Tensor:
    """How far vectors have turned: 1 less the cosine of both vectors of a text, the mean over the texts.

    Args:
        base_NH: Vectors by the base.
        own_NH: Vectors by the trained network.
    """
    return 1 - cosine_similarity(base_NH, own_NH).mean()


class NearBase:
    """How far a network has moved from its base on the texts of a step.

    The texts are read without dropout, so the distance is 0 before the first step and draws no random number.
    The base is the network with its adapters off. If all weights train, or if that network is not where the
    training begins, it is a frozen copy, which is not saved.

    Args:
        network: The network that is trained, as the training begins.
        seed: Seed of the order of the texts.
        examples: The texts in tokens.
        at_once: Number of texts that are read at each step.
        collate: Makes a batch of them.
        read: What a network makes of a batch.
        apart: The distance of what the base and what the trained network make of it.
        remade: Whether the network without its adapters is not the one with which the training begins.
    """

    def __init__(
        self,
        network: nn.Module,
        seed: int,
        *,
        examples: Sequence[Any],
        at_once: int,
        collate: Callable[[Sequence[Any]], Any],
        read: Callable[[nn.Module, Any], Tensor],
        apart: Callable[[Tensor, Tensor], Tensor],
        remade: bool,
    ) -> None:
        self._network, self._examples, self._turns = network, examples, Turns(len(examples), at_once, seed)
        self._collate, self._read, self._apart = collate, read, apart
        whole = remade or not isinstance(network, PeftModel)
        self._copy = copy.deepcopy(network).requires_grad_(False).eval() if whole else None

    def start(self, device: torch.device) -> None:
        """Make the base as fast as the network that is trained."""
        if self._copy is not None:
            self._copy.to(device)
            if device.type == "cpu":
                hasten(self._copy)

    def end(self) -> None:
        """Undo `start`."""
        if self._copy is not None:
            release(self._copy)

    def distance(self, step: int, rank: int, world: int, device: torch.device) -> Tensor:
        """The distance on the texts of a step.

        Call this before there is a graph through the adapters: switching them off changes which weights need
        a gradient.

        Args:
            step: Number of steps before this one.
            rank: Which of several processes this is. Each reads its share of the texts.
            world: Number of processes.
            device: Where the network is.
        """
        chosen = [self._examples[number] for number in self._turns.of(step, rank, world)]
        batch = move_data_to_device(self._collate(chosen), device)
        self._network.eval()
        base = self._by_base(batch)
        own = self._read(self._network, batch)
        self._network.train()
        return self._apart(base, own)

    def _by_base(self, batch: Any) -> Tensor:
        # With gradients allowed, although none is needed and nothing is kept for one: in bf16, attention
        # without them rounds at other places, and the difference would count as distance.
        if self._copy is not None:
            return self._read(self._copy, batch).detach()
        assert isinstance(self._network, PeftModel)
        with self._network.disable_adapter():
            return self._read(self._network, batch).detach()

"""Training that stays near the weights it began with (L2-SP, Li et al. 2018, arXiv 1802.01483).

The loss has a further term, `method.l2_sp` times the squared distance of the trained weights from where they
began. The distance of LoRA is that of its effect, the product s B A, which is what the network becomes: two
other matrices with the same product are the same network. The base stays where it is, so this is also the
distance of all weights. The effect is never written out: with rank R, the products are R x R.

Only the gradient of the term is computed, and added to that of the loss before it is clipped. So it serves
every way of training, and the losses in the log are those without the term.

Shape letters: O outputs, I inputs, R rank.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from peft.tuners.lora import LoraLayer
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.optim import Optimizer

from figlang.config import MethodConfig


@dataclass
class Whole:
    """Weights that are trained themselves, and where they began."""

    weight: nn.Parameter
    start: Tensor

    def moved_to(self, device: torch.device) -> None:
        self.start = self.start.to(device)

    def pull(self, strength: float) -> None:
        """Add the gradient of `strength` times the squared distance."""
        if self.weight.grad is not None:
            self.weight.grad.add_(self.weight - self.start, alpha=2 * strength)


@dataclass
class Product:
    """The effect s B A of an adapter, and the matrices with which it began: A is (R, I), B is (O, R)."""

    scale: float
    a: nn.Parameter
    b: nn.Parameter
    start_a: Tensor
    start_b: Tensor

    def moved_to(self, device: torch.device) -> None:
        self.start_a, self.start_b = self.start_a.to(device), self.start_b.to(device)

    def pull(self, strength: float) -> None:
        """Add the gradient of `strength` times the squared distance."""
        a_RI, b_OR, start_a_RI, start_b_OR = self.a, self.b, self.start_a, self.start_b
        if a_RI.grad is None or b_OR.grad is None:
            return
        factor = 2 * strength * self.scale**2
        # With E = B A - B0 A0, the gradient is E A' for B and B' E for A. No (O, I) matrix is made.
        b_OR.grad.add_(b_OR @ (a_RI @ a_RI.T) - start_b_OR @ (start_a_RI @ a_RI.T), alpha=factor)
        a_RI.grad.add_((b_OR.T @ b_OR) @ a_RI - (b_OR.T @ start_b_OR) @ start_a_RI, alpha=factor)


class NearStart(Callback):
    """Pulls weights towards where they are when this is made, which is before any state is loaded.

    Args:
        network: The network as its training begins.
        strength: `method.l2_sp`.
    """

    def __init__(self, network: nn.Module, strength: float) -> None:
        self._strength = strength
        products = list(_products(network))
        apart = {id(matrix) for each in products for matrix in (each.a, each.b)}
        self._parts: list[Whole | Product] = [
            *products,
            *(
                Whole(weight, weight.detach().clone())
                for weight in network.parameters()
                if weight.requires_grad and id(weight) not in apart
            ),
        ]

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        for part in self._parts:
            part.moved_to(module.device)

    @torch.no_grad()
    def on_before_optimizer_step(
        self, trainer: Trainer, module: LightningModule, optimizer: Optimizer
    ) -> None:
        for part in self._parts:
            part.pull(self._strength)


def _products(network: nn.Module) -> Iterator[Product]:
    layers: list[Any] = [layer for layer in network.modules() if isinstance(layer, LoraLayer)]
    for layer in layers:
        for name in set(layer.active_adapters) & set(layer.lora_A):
            a, b = layer.lora_A[name].weight, layer.lora_B[name].weight
            yield Product(layer.scaling[name], a, b, a.detach().clone(), b.detach().clone())


def callbacks(method: MethodConfig, network: nn.Module) -> list[Callback]:
    """The callback that a method needs, for a network as its training begins."""
    return [NearStart(network, method.l2_sp)] if method.l2_sp else []

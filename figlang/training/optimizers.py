"""The optimizer of a training: which weights it moves, at which rates, by which rule.

AdamW is torch's, with one fused step. Lion (arXiv 2302.06675), Muon (2502.16982), schedule-free AdamW
(2405.15682) and AdamW in 8 bits (2110.02861) are those of their libraries.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from figlang.config import MethodConfig
from figlang.config.packages import OPTIMIZERS
from figlang.errors import FiglangError, one_line
from figlang.training.layers import BELOW, NUMBERED, groups

Group = dict[str, Any]
Named = tuple[str, nn.Parameter]


def optimizer(method: MethodConfig, parameters: Iterable[Named], steps: int, ratio: float = 1.0) -> Optimizer:
    """The optimizer for the trained parameters of a network.

    Args:
        method: Settings of the training.
        parameters: Names and parameters. Frozen ones are left out.
        steps: Number of steps of the whole training.
        ratio: Factor on the rate of the second matrix (B) of adapters, as in LoRA+ (arXiv 2402.12354).

    Raises:
        FiglangError: If its library is not installed or cannot be used, or if the network has no weights of
            the kind that it is for.
    """
    named = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    if method.optimizer == "muon":
        return _muon(method, named, ratio)
    wanted = _grouped(method, named, ratio)
    return _of_name(method, wanted, steps)


def _of_name(method: MethodConfig, wanted: list[Group], steps: int) -> Optimizer:
    common: dict[str, Any] = {"lr": method.lr, "weight_decay": method.weight_decay}
    if method.optimizer == "lion":
        return _made(method, "lion_pytorch", "Lion", wanted, common)
    if method.optimizer == "schedule_free":
        warmup = {"warmup_steps": int(steps * method.warmup)}
        return _made(method, "schedulefree", "AdamWScheduleFree", wanted, common | warmup)
    if method.optimizer.startswith("adamw_8bit"):
        name = "PagedAdamW8bit" if method.optimizer.endswith("paged") else "AdamW8bit"
        return _made(method, "bitsandbytes.optim", name, wanted, common)
    return torch.optim.AdamW(wanted, fused=True, **common)


def _made(
    method: MethodConfig, module: str, name: str, wanted: list[Group], arguments: Mapping[str, Any]
) -> Optimizer:
    library, extra = OPTIMIZERS[method.optimizer]
    try:
        kind: Callable[..., Optimizer] = getattr(import_module(module), name)
    except ImportError as error:
        raise FiglangError(
            f"method.optimizer={method.optimizer} needs {library} ({one_line(error)}); install it with "
            f"`pip install 'figlang[{extra}]'`"
        ) from error
    return kind(wanted, **arguments)


def _grouped(method: MethodConfig, named: list[Named], ratio: float) -> list[Group]:
    """Groups of parameters, each with its rate: by depth, and with second matrices of adapters apart."""
    if method.layer_decay < 1:
        wanted = groups(named, method.lr, method.layer_decay)
    else:
        wanted = [{"params": [parameter for _, parameter in named], "lr": method.lr}]
    if ratio == 1:
        return wanted
    second = {id(parameter) for name, parameter in named if ".lora_B." in name}
    return _split(wanted, lambda parameter: id(parameter) in second, ratio)


def _split(wanted: list[Group], apart: Callable[[Tensor], bool], factor: float) -> list[Group]:
    """Each group as two: the parameters that are `apart`, whose rate gets a factor, and the others."""
    made: list[Group] = []
    for group in wanted:
        for moved, rate in ((False, 1.0), (True, factor)):
            members = [parameter for parameter in group["params"] if apart(parameter) == moved]
            if members:
                made.append({"params": members, "lr": group["lr"] * rate})
    return made


def of_muon(named: Iterable[Named]) -> set[int]:
    """The ids of the parameters that Muon moves: the matrices of numbered layers."""
    return {
        id(parameter)
        for name, parameter in named
        if parameter.ndim == 2 and NUMBERED.search(name) and not BELOW.search(name)
    }


def _muon(method: MethodConfig, named: list[Named], ratio: float) -> Optimizer:
    """Muon for matrices of numbered layers, AdamW for embeddings, heads, norms and biases.

    The length of Muon's steps is set to that of AdamW's, so that both learn at one rate.
    """
    matrices = of_muon(named)
    if not matrices:
        raise FiglangError(
            "method.optimizer=muon is for the matrices of numbered layers, but none is trained; take adamw"
        )
    wanted = _split(_grouped(method, named, ratio), lambda parameter: id(parameter) in matrices, 1.0)
    hidden = [group for group in wanted if id(group["params"][0]) in matrices]
    others = [group for group in wanted if id(group["params"][0]) not in matrices]
    common: dict[str, Any] = {"lr": method.lr, "weight_decay": method.weight_decay}
    parts: list[Optimizer] = [torch.optim.Muon(hidden, adjust_lr_fn="match_rms_adamw", **common)]
    if others:
        parts.append(torch.optim.AdamW(others, fused=True, **common))
    return Together(parts)


class Together(Optimizer):
    """Several optimizers that step as one. Its groups are theirs, so a schedule sets the rates of all."""

    def __init__(self, parts: list[Optimizer]) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})
        # The same objects, so that a rate that is set here is set there.
        self.param_groups = [group for part in parts for group in part.param_groups]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]

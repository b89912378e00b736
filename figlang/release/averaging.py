"""The mean of networks: seeds of one recipe (model soups, arXiv 2203.05482), a network and what it began from
(WiSE-FT, arXiv 2109.01903). Of whole weights, or of what adapters add to them.

The mean of adapters is that of their products: A of one seed belongs to its own B, so that neither may be
averaged alone. Side by side in one adapter of the sum of their ranks the mean is exact; a lower `rank` keeps
the largest singular values of it.
"""

import logging
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import torch
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME
from pydantic_core import from_json
from safetensors.torch import load_file
from torch import Tensor

from figlang.errors import FiglangError

log = logging.getLogger("figlang")

WHOLE = "model.safetensors"
Weights = Mapping[str, Tensor]


def weights_file(model: Path) -> str:
    """Name of the file of weights in an exported folder. Raises FiglangError for a network of several
    files."""
    for name in (SAFETENSORS_WEIGHTS_NAME, WHOLE):
        if (model / name).is_file():
            return name
    raise FiglangError(
        f"{model} holds neither {SAFETENSORS_WEIGHTS_NAME} nor {WHOLE}; average runs of a network of one file"
    )


def mean(
    models: Sequence[Path], rank: int | None, shares: Sequence[float] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any] | None]:
    """The mean weights of exported folders and, of adapters, their adapter_config.json.

    `shares` weigh the folders and sum to one; equal ones if None.

    Raises FiglangError for folders that do not hold the same weights, and for adapters whose mean is no
    adapter.
    """
    shares = shares or [1 / len(models)] * len(models)
    names = {weights_file(model) for model in models}
    found: list[Weights] = [load_file(model / weights_file(model)) for model in models]
    if (
        len(names) > 1
        or len({tuple(sorted((key, value.shape) for key, value in one.items())) for one in found}) > 1
    ):
        raise FiglangError(
            f"{models[0]} and {models[-1]} hold different weights, or adapters of different ranks; average "
            "seeds of one recipe, and adapters with those that they began from (peft.stack=continue)"
        )
    if names == {WHOLE}:
        if rank is not None:
            raise FiglangError(
                f"rank={rank} is for adapters, and {models[0]} holds a whole network; leave it out"
            )
        return _mean(found, shares), None
    settings = from_json((models[0] / CONFIG_NAME).read_text(encoding="utf-8"))
    if settings["use_dora"] or settings["rank_pattern"] or settings["alpha_pattern"]:
        raise FiglangError(
            f"{models[0]}: DoRA's adapters, or those of several ranks, have no mean of their kind; take "
            "peft=lora"
        )
    return _adapters(found, shares, settings, rank)


def _adapters(
    found: Sequence[Weights], shares: Sequence[float], settings: dict[str, Any], rank: int | None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    before, own, kept = settings["r"], len(found) * settings["r"], []
    if rank is not None and rank > own:
        raise FiglangError(f"rank={rank} is more than the {own} of all runs together; leave it out")
    ends = sqrt if settings["use_rslora"] else float
    after = {
        **settings,
        "r": rank or own,
        "lora_alpha": max(1, settings["lora_alpha"] * (rank or own) // before),
    }
    scaled = (settings["lora_alpha"] / ends(before)) / (after["lora_alpha"] / ends(after["r"]))
    averaged = _mean(
        [{name: value for name, value in one.items() if ".lora_" not in name} for one in found], shares
    )
    for name in (name for name in found[0] if ".lora_A." in name):
        twin = name.replace(".lora_A.", ".lora_B.")
        down = torch.cat([one[name].float() for one in found])
        up = torch.cat(
            [share * scaled * one[twin].float() for share, one in zip(shares, found, strict=True)], 1
        )
        if rank is not None:
            down, up, part = _truncated(down, up, rank)
            kept.append(part)
        averaged |= {name: down.contiguous(), twin: up.contiguous()}
    if kept:
        parts = 100 * sum(kept) / len(kept), 100 * min(kept)
        log.info(
            "rank %s of %d keeps %.1f %% of the squared length of what the adapters add, %.1f %% at least",
            rank,
            own,
            *parts,
        )
    return averaged, after


def _truncated(down: Tensor, up: Tensor, rank: int) -> tuple[Tensor, Tensor, float]:
    """The nearest product of a lower rank, and its share of the squared length; the product itself is never
    formed."""
    (left, inner), (right, other) = torch.linalg.qr(up), torch.linalg.qr(down.T)
    U, S, Vh = torch.linalg.svd(inner @ other.T, full_matrices=False)
    root = S[:rank].sqrt()
    share = float(S[:rank].square().sum() / S.square().sum().clamp(min=torch.finfo(S.dtype).tiny))
    return root[:, None] * (Vh[:rank] @ right.T), (left @ U[:, :rank]) * root, share


def _mean(found: Sequence[Weights], shares: Sequence[float]) -> dict[str, Tensor]:
    return {
        name: torch.stack([share * one[name].float() for share, one in zip(shares, found, strict=True)]).sum(
            0
        )
        if value.is_floating_point()
        else value
        for name, value in found[0].items()
    }

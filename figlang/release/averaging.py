"""The mean of networks: of several seeds of a recipe, or of a network and the one that it started from.

The first is a model soup (arXiv 2203.05482), the second is WiSE-FT (arXiv 2109.01903). The mean is of whole
weights, or of what adapters add to them.

The mean of adapters is the mean of their products. A of one seed belongs to its own B, so neither may be
averaged alone. All adapters side by side in one adapter, whose rank is the sum of their ranks, are the exact
mean. A lower `rank` keeps its largest singular values.

TIES (arXiv 2306.01708) and DARE (2311.03099) merge what adapters add after they have dropped a part of it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import torch
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME
from peft.utils.merge_utils import dare_linear, dare_ties, ties
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import pad

from figlang.errors import FiglangError
from figlang.files import stored

log = logging.getLogger("figlang")

WHOLE = "model.safetensors"
Weights = Mapping[str, Tensor]
Merge = Callable[[list[Tensor]], Tensor]


def weights_file(model: Path) -> str:
    """The name of the file of weights in an exported folder.

    Raises:
        FiglangError: If the network has several files, or none.
    """
    for name in (SAFETENSORS_WEIGHTS_NAME, WHOLE):
        if (model / name).is_file():
            return name
    raise FiglangError(
        f"{model} holds neither {SAFETENSORS_WEIGHTS_NAME} nor {WHOLE}; average runs whose network is "
        "one file"
    )


def adds_only(model: Path) -> bool:
    """Whether an exported folder holds LoRA adapters of linear layers alone, without a head of its own.

    Before their training such adapters add nothing, so a share of the start only makes them smaller.

    Args:
        model: The folder.
    """
    if weights_file(model) == WHOLE:
        return False
    with safe_open(model / SAFETENSORS_WEIGHTS_NAME, "pt") as file:
        return all(map(_of_linear, file.keys()))


def _of_linear(name: str) -> bool:
    return ".lora_A." in name or ".lora_B." in name


def mean(
    models: Sequence[Path],
    rank: int | None,
    shares: Sequence[float] | None = None,
    way: str = "mean",
    density: float = 1.0,
) -> tuple[dict[str, Tensor], dict[str, Any] | None]:
    """The mean weights of exported folders.

    Args:
        models: The folders.
        rank: Rank of the mean of adapters; None for the exact mean. Whole networks are not cut here (see
            figlang/release/narrowing.py).
        shares: Weights of the folders; None for equal ones. Their sum is one, or less if the rest is the
            network below adapters (see `adds_only`).
        way: mean, ties, dare or dare_ties.
        density: Share of the values that ties and dare keep of each adapter.

    Returns:
        The weights and, for adapters, their adapter_config.json.

    Raises:
        FiglangError: If the folders do not hold the same kinds of weights, or if the mean of the adapters is
            not an adapter.
    """
    shares = shares or [1 / len(models)] * len(models)
    names = {weights_file(model) for model in models}
    weights: list[Weights] = [load_file(model / weights_file(model)) for model in models]
    if (
        len(names) > 1
        or len({tuple(sorted((key, value.shape) for key, value in part.items())) for part in weights}) > 1
    ):
        raise FiglangError(
            f"{models[0]} and {models[-1]} hold different weights, or adapters of different ranks; average "
            "seeds of one recipe, and adapters with those that they began from (peft.stack=continue)"
        )
    if names == {WHOLE} and way != "mean":
        raise FiglangError(
            f"way={way} merges what adapters add, but {models[0]} holds a whole network; take way=mean"
        )
    if names == {WHOLE}:
        return _mean(weights, shares), None
    settings = [stored.plain(model / CONFIG_NAME, "put the file of the run back") for model in models]
    for model, its, part in zip(models, settings, weights, strict=True):
        _check_kind(model, its, part)
    return _adapters(weights, shares, settings, rank, _way(way, density, shares))


def _check_kind(model: Path, settings: Mapping[str, Any], weights: Weights) -> None:
    """Check that adapters have a mean of their own kind.

    Raises:
        FiglangError: If they have none.
    """
    if (kind := settings.get("peft_type", "LORA")) != "LORA":
        raise FiglangError(
            f"{model} holds adapters of peft={str(kind).lower()}, which have no mean of the same kind; "
            "take peft=lora"
        )
    if any(settings.get(name) for name in ("use_dora", "rank_pattern", "alpha_pattern")):
        raise FiglangError(
            f"{model}: DoRA's adapters, or those with several ranks, do not have a mean of the same "
            "kind; take peft=lora"
        )
    others = [name for name in weights if ".lora_" in name and not _of_linear(name)]
    if others:
        raise FiglangError(
            f"{model} has adapters of another kind than those of linear layers ({others[0]}), which have "
            "no mean of the same kind; leave the embedding out of peft.target_modules"
        )


def _way(way: str, density: float, shares: Sequence[float]) -> Merge | None:
    """The function of peft that merges what adapters add; None for the mean, which needs none."""
    if way == "dare":
        return lambda parts: dare_linear(parts, torch.tensor(shares), density)
    if way == "mean":
        return None
    # These two divide by the number of the adapters that agree in a place.
    factors = len(shares) * torch.tensor(shares)
    merge = ties if way == "ties" else dare_ties
    return lambda parts: merge(parts, factors, density)


def _adapters(
    adapters: Sequence[Weights],
    shares: Sequence[float],
    settings: Sequence[dict[str, Any]],
    rank: int | None,
    merge: Merge | None,
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    first, shares_kept = settings[0], []
    exact_rank = len(adapters) * first["r"]
    if rank is not None and rank > exact_rank:
        raise FiglangError(f"rank={rank} is more than the {exact_rank} of all runs together; leave it out")
    settings_of_mean = {
        **first,
        "r": rank or exact_rank,
        "lora_alpha": max(1, first["lora_alpha"] * (rank or exact_rank) // first["r"]),
    }
    # Runs of several recipes may have another alpha each.
    scales = [_scale(each) / _scale(settings_of_mean) for each in settings]
    averaged = _mean(
        [{name: value for name, value in weights.items() if ".lora_" not in name} for weights in adapters],
        shares,
    )
    for name in (name for name in adapters[0] if ".lora_A." in name):
        twin = name.replace(".lora_A.", ".lora_B.")
        down = torch.cat([weights[name].float() for weights in adapters])
        up = torch.cat(
            [
                share * scale * weights[twin].float()
                for share, scale, weights in zip(shares, scales, adapters, strict=True)
            ],
            1,
        )
        if merge is not None:
            up = merge(
                [
                    scale * weights[twin].float() @ weights[name].float()
                    for scale, weights in zip(scales, adapters, strict=True)
                ]
            )
            down = torch.eye(up.shape[1])
        if rank is not None or merge is not None:
            down, up, part = _truncated(down, up, rank or exact_rank)
            shares_kept.append(part)
        averaged |= {name: down.contiguous(), twin: up.contiguous()}
    if shares_kept:
        parts = 100 * sum(shares_kept) / len(shares_kept), 100 * min(shares_kept)
        log.info(
            "rank %s of %d keeps %.1f %% of the squared length of what the adapters add, at least %.1f %%",
            rank or exact_rank,
            exact_rank,
            *parts,
        )
    return averaged, settings_of_mean


def _scale(settings: Mapping[str, Any]) -> float:
    """The factor by which peft multiplies the product of an adapter."""
    root = sqrt(settings["r"]) if settings["use_rslora"] else settings["r"]
    return float(settings["lora_alpha"] / root)


def _truncated(down: Tensor, up: Tensor, rank: int) -> tuple[Tensor, Tensor, float]:
    """The nearest product of a lower rank, and its share of the squared length.

    The product itself is never computed.
    """
    (left, inner), (right, other) = torch.linalg.qr(up), torch.linalg.qr(down.T)
    U, S, Vh = torch.linalg.svd(inner @ other.T, full_matrices=False)
    root = S[:rank].sqrt()
    share = float(S[:rank].square().sum() / S.square().sum().clamp(min=torch.finfo(S.dtype).tiny))
    less = max(0, rank - len(S))  # a small layer has fewer singular values than the rank
    down, up = root[:, None] * (Vh[:rank] @ right.T), (left @ U[:, :rank]) * root
    return pad(down, (0, 0, 0, less)), pad(up, (0, less)), share


def _mean(networks: Sequence[Weights], shares: Sequence[float]) -> dict[str, Tensor]:
    return {
        name: torch.stack(
            [share * weights[name].float() for share, weights in zip(shares, networks, strict=True)]
        ).sum(0)
        if value.is_floating_point()
        else value
        for name, value in networks[0].items()
    }

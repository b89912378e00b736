"""Adapters that stand for whole networks: what a training changed in each linear layer, at a low rank.

The change of a matrix is cut to its largest singular values, which is the nearest matrix of that rank. Other
weights that were trained (embeddings, biases, norms) stay as they were. How much that costs is what the
evaluation of the result measures.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.models import checkpoint, layout, lora, networks, weights
from figlang.models.below import weights_sha256
from figlang.models.manifest import Manifest

log = logging.getLogger("figlang")


def export(
    whole: Mapping[str, Tensor], model: ModelConfig, manifest: Manifest, rank: int, folder: Path, cache: str
) -> None:
    """Write adapters of low rank over the network that a training began from.

    Args:
        whole: The weights of the trained network.
        model: The settings of the network below, as the training began from it.
        manifest: That of the trained network.
        rank: The rank.
        folder: The folder to write.
        cache: Folder for converted files.

    Raises:
        FiglangError: The network has a head, or its weights are not those of this network.
    """
    if not manifest.input_format.bare or model.init == "tiny":
        read = "random" if model.init == "tiny" else f"read as {manifest.format}"
        raise FiglangError(
            f"rank={rank} makes adapters of whole networks without a head (method.format=dual) over one that "
            f"can be loaded, and these are {read}; leave it out"
        )
    network, tokenizer, _ = networks.begin(model, manifest.format, [], manifest.options, cache=cache)
    base = weights.address(model.name_or_path)
    manifest = replace(
        manifest, base_precision=layout.precision(network), base_sha256=weights_sha256(network, [])
    )
    changes = _changes(network.state_dict(), whole)
    if changes is None:
        raise FiglangError(f"{base} has other weights than the network that was trained from it; put it back")
    settings = PeftConfig(name="lora", r=rank, alpha=rank, dropout=0.0)
    adapted = lora.adapt(network, settings, [], base, model.revision)
    kept = sum(
        _cut(module, changes[f"{name}.weight"])
        for name, module in adapted.get_base_model().named_modules()
        if hasattr(module, "lora_A")
    )
    changed = sum(float(change.square().sum()) for change in changes.values())
    text = "rank %d keeps %.1f %% of the squared length of what the training changed"
    log.info(text, rank, 100 * kept / changed if changed else 100)
    checkpoint.export(adapted, tokenizer, manifest, folder)


def _changes(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
    """What a training added to each weight; None if the two have different weights."""
    changes = {}
    for name, value in before.items():
        if value.is_floating_point():
            if name not in after or after[name].shape != value.shape:
                return None
            changes[name] = after[name].float() - value.float()
    return changes


@torch.no_grad()
def _cut(module: nn.Module, difference: Tensor) -> float:
    """Give a layer the nearest adapter to a difference. Returns the squared length of what it adds."""
    down, up = (getattr(module, name)["default"].weight for name in ("lora_A", "lora_B"))
    left, values, right = torch.linalg.svd(difference, full_matrices=False)
    rank = min(len(down), len(values))
    root = values[:rank].sqrt()
    down.zero_()
    up.zero_()
    down[:rank], up[:, :rank] = root[:, None] * right[:rank], left[:, :rank] * root
    return float(values[:rank].square().sum())

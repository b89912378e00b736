"""Plain LoRA (arXiv 2106.09685) merged without peft, which takes more time to import than small adapters to
merge.

What is not plain, or not as it should be, is left to peft, which merges it or says what is wrong. The merged
weights are those of peft, bit for bit.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedModel
from typing_extensions import TypedDict

from figlang.errors import FiglangError
from figlang.models import layout
from figlang.models.adapters import SETTINGS, file_of
from figlang.models.soundness import finite

WEIGHTS = "adapter_model.safetensors"
# Entries that do not change what is merged.
SILENT = {
    *("auto_mapping", "inference_mode", "lora_dropout", "megatron_core", "peft_version", "qalora_group_size"),
}
EXACT = {torch.float32, torch.bfloat16, torch.float16}  # formats that float32 holds


class _Settings(TypedDict):
    """The entries of an adapter_config.json that plain LoRA needs. All others are empty or silent."""

    peft_type: Literal["LORA"]
    base_model_name_or_path: Annotated[str, Field(min_length=1)]
    revision: str | None
    task_type: str | None
    r: Annotated[int, Field(gt=0)]
    lora_alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    target_modules: Annotated[list[str], Field(min_length=1)]
    exclude_modules: list[str] | None
    bias: Literal["none"]
    init_lora_weights: Literal[True]


_SETTINGS = TypeAdapter(_Settings)


@dataclass(frozen=True)
class LowRank:
    """The settings of plain LoRA, under the names that peft gives them.

    Attributes:
        base_model_name_or_path: The source of the network below.
        revision: Its revision on the hub.
        task_type: The task of the adapters, in peft's words.
        target_modules: Layers with adapters: whole names, or their ends.
        exclude_modules: Layers without, in the same way.
        rank: The rank of each product.
        scaling: The factor of the product that is added.
        modules_to_save: Modules that are stored whole. Plain LoRA has none.
    """

    base_model_name_or_path: str
    revision: str | None
    task_type: str | None
    target_modules: tuple[str, ...]
    exclude_modules: tuple[str, ...]
    rank: int
    scaling: float
    modules_to_save: None = None


def settings(source: str, revision: str | None) -> LowRank | None:
    """The settings of the adapters in a folder or hub repository.

    Args:
        source: The folder or hub id.
        revision: Its revision on the hub.

    Returns:
        None if there are no adapters, or if they may be more than plain LoRA.
    """
    path = file_of(source, SETTINGS, revision)
    if path is None:
        return None
    try:
        content = from_json(Path(path).read_bytes())
        known = _SETTINGS.validate_python(content, strict=True)
    except (OSError, ValueError, ValidationError):
        return None
    if any(value for name, value in content.items() if name not in SILENT | _Settings.__annotations__.keys()):
        return None
    return LowRank(
        known["base_model_name_or_path"],
        known["revision"],
        known["task_type"],
        tuple(known["target_modules"]),
        tuple(known["exclude_modules"] or ()),
        known["r"],
        known["lora_alpha"] / known["r"],
    )


def merge(
    network: PreTrainedModel, adapters: LowRank, source: str, revision: str | None, dtype: torch.dtype
) -> bool:
    """Add the adapters to the weights of the network, each layer in float32, and round them to `dtype`.

    Args:
        network: The network below. It is changed if the adapters can be merged.
        adapters: Their settings.
        source: The folder or hub id of the adapters.
        revision: Its revision on the hub.
        dtype: Number format of the merged network.

    Returns:
        Whether they were merged. If not, peft has to see them.

    Raises:
        FiglangError: If a merged weight is not a finite number.
    """
    layers = {
        name: module
        for name, module in network.named_modules()
        if _named(name, adapters.target_modules) and not _named(name, adapters.exclude_modules)
    }
    pairs = _pairs(layers, adapters.rank, source, revision)
    if pairs is None or network.get_output_embeddings() in layers.values():
        return False
    for name, layer in layers.items():
        a, b = pairs[name]
        merged = (b.float() @ a.float()).mul_(adapters.scaling).add_(layer.weight.data)
        if not finite(merged):
            raise FiglangError(f"the adapters cannot be merged: {name} would not be all finite numbers")
        layer.weight.data = merged.to(dtype)
    layout.cast(network, dtype)
    network.requires_grad_(False)  # as peft leaves it
    return True


def _named(name: str, ends: tuple[str, ...]) -> bool:
    return any(f".{name}".endswith(f".{end}") for end in ends)


def _pairs(
    layers: dict[str, nn.Module], rank: int, source: str, revision: str | None
) -> dict[str, tuple[Tensor, Tensor]] | None:
    """The matrices A (rank, inputs) and B (outputs, rank) of each layer.

    None if they are not exactly those of the layers and finite, or if a layer is not an ordinary one.
    """
    path = file_of(source, WEIGHTS, revision)
    if path is None or not layers:
        return None
    try:
        weights = load_file(path)
    except (OSError, SafetensorError):
        return None
    names = {name: [f"base_model.model.{name}.lora_{side}.weight" for side in "AB"] for name in layers}
    if weights.keys() != {name for both in names.values() for name in both}:
        return None
    pairs = {name: (weights[a], weights[b]) for name, (a, b) in names.items()}
    return pairs if all(_fits(layer, rank, *pairs[name]) for name, layer in layers.items()) else None


def _fits(layer: nn.Module, rank: int, a: Tensor, b: Tensor) -> bool:
    return (
        type(layer) is nn.Linear
        and layer.weight.device.type == "cpu"
        and a.dtype == b.dtype in EXACT
        and a.ndim == b.ndim == 2
        and a.shape[0] == b.shape[1] == rank
        and layer.weight.shape == (b.shape[0], a.shape[1])
        and finite(a)
        and finite(b)
    )

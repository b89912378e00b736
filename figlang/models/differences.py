"""Adapters that begin with a part of the weights, written as what training added to the network.

PiSSA (arXiv 2404.02948), OLoRA (2406.01775) and CorDA (2406.05223) take the product of the first adapters,
B0 A0, away from the weights below. The exported adapters are for the network as it was: their product is
B A - B0 A0, which is the product of [B, -B0] and [A; A0]. So their rank is twice that of the training. A head
is exported as it is.
"""

import json
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model_state_dict
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

# Ways to begin that change the weights below.
MUTATING = ("pissa", "olora", "corda")


def remember(adapted: PeftModel) -> None:
    """Keep the first adapters of a network that was just made."""
    state = get_peft_model_state_dict(adapted, save_embedding_layers=False)
    first = {name: value.detach().clone() for name, value in state.items() if _axis(name) is not None}
    vars(adapted)["first_adapters"] = first


def whole_state(network: nn.Module) -> dict[str, Tensor]:
    """A copy of all weights, for a network that no source has as it was."""
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def write(adapted: PeftModel, folder: Path) -> None:
    """Write the adapters of a folder again as a difference, if they began with a part of the weights."""
    first: dict[str, Tensor] = vars(adapted).get("first_adapters", {})
    if not first:
        return
    weights = load_file(folder / SAFETENSORS_WEIGHTS_NAME)
    for name, begun in first.items():
        axis = _axis(name)
        assert axis is not None, "only matrices of adapters are kept"
        begun = begun.to(weights[name].device, weights[name].dtype)
        weights[name] = torch.cat([weights[name], begun if axis == 0 else -begun], axis).contiguous()
    save_file(weights, folder / SAFETENSORS_WEIGHTS_NAME, {"format": "pt"})
    path = folder / CONFIG_NAME
    settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name in ("r", "lora_alpha"):  # their quotient, the factor on the product, stays
        settings[name] *= 2
    for name in ("rank_pattern", "alpha_pattern"):
        settings[name] = {layer: 2 * value for layer, value in (settings.get(name) or {}).items()}
    settings["init_lora_weights"] = True
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _axis(name: str) -> int | None:
    """The axis of the rank in a matrix of an adapter; None for other weights."""
    return 0 if ".lora_A." in name else 1 if ".lora_B." in name else None

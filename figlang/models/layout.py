"""Where the weights of a large network are stored, and in how many bits."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import distributed
from transformers import BitsAndBytesConfig, PreTrainedConfig, PreTrainedModel

from figlang.config import ModelConfig
from figlang.errors import FiglangError

BITS = ("8bit", "4bit")
NOTE = "stored_in_few_bits"  # the attribute of a network that says how its files held the weights
# What transformers needs to read weights in few bits, by the method that config.json names. For other methods
# transformers says what it needs.
PACKAGES = {
    "gptq": ("optimum", "gptqmodel", "accelerate"),
    "awq": ("gptqmodel", "accelerate"),
    "compressed-tensors": ("compressed-tensors", "accelerate"),
    "fp8": ("accelerate",),
    "mxfp4": ("accelerate",),
}


def arguments(model: ModelConfig) -> dict[str, Any]:
    """Arguments of `from_pretrained` for `model.device_map` and `model.quantization`.

    `auto` distributes the weights over all devices. 8bit is LLM.int8 (arXiv 2208.07339). 4bit is NF4 with
    products in the network's own precision (QLoRA, arXiv 2305.14314). bitsandbytes converts the weights while
    they are loaded.

    Raises:
        FiglangError: If a package for this is not installed, or if several processes would share the devices.
    """
    if model.device_map and distributed.is_available() and distributed.is_initialized():
        raise FiglangError(
            f"model.device_map={model.device_map} takes all devices for one process; start it without "
            "torchrun"
        )
    asked = {f"model.device_map={model.device_map}": ["accelerate"]} if model.device_map else {}
    if model.quantization != "none":
        asked[f"model.quantization={model.quantization}"] = ["accelerate", "bitsandbytes"]
    for setting, packages in asked.items():
        absent = [name for name in packages if importlib.util.find_spec(name) is None]
        if absent:
            raise FiglangError(
                f"{setting} needs {' and '.join(absent)}; install with `pip install 'figlang[large]'`"
            )
    given: dict[str, Any] = {"device_map": model.device_map}
    if model.quantization == "8bit":
        given["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    elif model.quantization == "4bit":
        given["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=getattr(torch, model.dtype)
        )
    return given


def lowered(trained: ModelConfig, asked: ModelConfig) -> ModelConfig:
    """The network below adapters that stay apart: in the precision of the training, or in a lower one.

    Args:
        trained: The network as it was in the training.
        asked: The settings of the evaluation. `model.device_map` counts; `model.dtype` and
            `model.quantization` count if they ask for less memory.
    """
    quantization = trained.quantization if asked.quantization == "none" else asked.quantization
    return replace(
        trained,
        dtype="bfloat16" if "bfloat16" in (trained.dtype, asked.dtype) else trained.dtype,
        quantization=quantization,
        device_map=asked.device_map,
        family="causal" if quantization != "none" or asked.device_map else trained.family,
    )


def stored(source: str, config: PreTrainedConfig) -> str | None:
    """How the files of a network hold its weights in few bits, for example gptq; None if they do not.

    Args:
        source: What is read, for the error message.
        config: Its config.json.

    Raises:
        FiglangError: If a package that reads such files is not installed.
    """
    settings = getattr(config, "quantization_config", None)
    method = settings.get("quant_method") if isinstance(settings, dict) else None
    if method is None:
        return None
    absent = [
        name
        for name in PACKAGES.get(str(method), ())
        if importlib.util.find_spec(name.replace("-", "_")) is None
    ]
    if absent:
        raise FiglangError(
            f"{source} holds its weights in few bits ({method}), which needs {' and '.join(absent)}; "
            f"install: pip install {' '.join(absent)}"
        )
    return str(method)


def settle(network: PreTrainedModel, method: str | None, dtype: torch.dtype) -> None:
    """Note how the files held the weights (see `stored`).

    If transformers made other numbers than those of `dtype` of them, they are rounded to it.
    """
    if method is not None:
        setattr(network, NOTE, method)
        if not getattr(network, "is_quantized", False):
            cast(network, dtype)


def note(network: PreTrainedModel) -> str | None:
    """How the files of a network held its weights in few bits; None if they did not."""
    return getattr(network, NOTE, None)


def cast(network: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    """Round the stored weights of a network, as `from_pretrained` does.

    What a network computes when it is built stays as it is: frequencies of rotary positions are float32.
    """
    stored = network.state_dict().keys()
    for module_name, module in network.named_modules():
        for name, weight in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if weight.is_floating_point() and f"{module_name}.{name}".lstrip(".") in stored:
                weight.data = weight.data.to(dtype)
    return network


def place(network: PreTrainedModel, device: torch.device) -> PreTrainedModel:
    """Move the network to the device, unless its weights were distributed when they were loaded."""
    # bitsandbytes puts its weights on a GPU while they are loaded.
    laid_out = hasattr(network, "hf_device_map") or any(map(_is_loaded_in(network), BITS))
    return network if laid_out else network.to(device)


def bear_gradients(network: PreTrainedModel) -> None:
    """Let gradients pass through weights in 4 bits. Call it before the network is used.

    On CPUs with products of bf16, bitsandbytes gives such weights another layout when they are first used in
    an evaluation. Its products in that layout have no gradients, and its way back to the usual layout gives
    other weights (0.50).
    """
    for module in network.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def precision(network: PreTrainedModel) -> str:
    """The network's number format, for signatures.

    If its linear layers are stored in fewer bits, their number is added, or the method of its files.
    """
    dtype = str(network.dtype).removeprefix("torch.")
    bits = list(filter(_is_loaded_in(network), BITS))
    if not bits and getattr(network, "is_quantized", False) and (method := note(network)):
        bits = [method]
    return "+".join([dtype, *bits])


def _is_loaded_in(network: PreTrainedModel) -> Callable[[str], bool]:
    return lambda bits: bool(getattr(network, f"is_loaded_in_{bits}", False))

"""Packages that a command will need are looked for before anything else is done."""

import importlib.util
from typing import Any

from figlang.config.groups import ModelConfig
from figlang.errors import FiglangError
from figlang.files.sources import PACKAGE, package_path

# The package and the extra of each interface of servers.
SPOKEN = {
    "openai": ("openai", "served"),
    "anthropic": ("anthropic", "anthropic"),
    "google": ("google.genai", "google"),
}


def check_packages(config: Any) -> None:
    """Check that the packages which a model needs are installed.

    Args:
        config: The options of any verb.

    Raises:
        FiglangError: One is not. It says what to type.
    """
    model = getattr(config, "model", None)
    if isinstance(model, ModelConfig) and model.engine == "vllm" and importlib.util.find_spec("vllm") is None:
        raise FiglangError(
            "model.engine=vllm needs the package vllm; install it: pip install 'figlang[vllm]'"
        )
    if not isinstance(model, ModelConfig) or getattr(config, "checkpoint", None) is not None:
        return
    if not getattr(config, "opens_model", True):
        return
    if model.init == "pretrained" and model.name_or_path.startswith(PACKAGE):
        package_path(model.name_or_path)
    # Training refuses quantized weights without QLoRA, whatever is installed.
    peft = getattr(config, "peft", None)
    quantized = model.quantization != "none" and (peft is None or peft.name == "qlora")
    for wanted, module, extra, what in (
        (quantized, "bitsandbytes", "large", f"model.quantization={model.quantization}"),
        (model.served, *SPOKEN[model.api], f"model.api={model.api}"),
    ):
        if wanted and not _installed(module):
            raise FiglangError(
                f"{what} needs the package {module}; install it: pip install 'figlang[{extra}]'"
            )


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a part of a package that is missing
        return False

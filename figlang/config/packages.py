"""Packages that a command will need are looked for before anything else is done."""

import importlib.util
from importlib import import_module
from typing import Any

from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError
from figlang.files.sources import PACKAGE, package_path

# The package and the extra of each interface of servers.
SPOKEN = {
    "openai": ("openai", "served"),
    "anthropic": ("anthropic", "anthropic"),
    "google": ("google.genai", "google"),
}
# The package and the extra of each optimizer that torch does not have.
OPTIMIZERS = {
    "adamw_8bit": ("bitsandbytes", "large"),
    "adamw_8bit_paged": ("bitsandbytes", "large"),
    "lion": ("lion_pytorch", "optimizers"),
    "schedule_free": ("schedulefree", "optimizers"),
}


def check_packages(config: Any) -> None:
    """Check that the packages which a model and its training need are installed.

    Args:
        config: The options of any verb.

    Raises:
        FiglangError: One is not. It says what to type. If the device that was asked for is not on this
            machine, it says that, since no package would help.
    """
    try:
        _check(config)
    except FiglangError:
        trainer, model = getattr(config, "trainer", None), getattr(config, "model", None)
        asked = getattr(trainer, "accelerator", "auto") not in ("auto", "cpu")
        if asked and not getattr(model, "served", False):
            # Only torch knows the devices. It is not imported where nothing is missing.
            import_module("figlang.evaluation.runtime").device(trainer)
        raise


def _check(config: Any) -> None:
    model = getattr(config, "model", None)
    if isinstance(config, TrainConfig):
        _check_training(config)
    if isinstance(config, EvaluateConfig):
        _check_engine(config)
    if not isinstance(model, ModelConfig) or getattr(config, "checkpoint", None) is not None:
        return
    if not getattr(config, "opens_model", True):
        return
    if model.init == "pretrained" and model.name_or_path.startswith(PACKAGE):
        package_path(model.name_or_path)
    # Training refuses quantized weights without QLoRA, whatever is installed.
    peft = getattr(config, "peft", None)
    rounds = model.quantization != "none" and model.init != "tiny"  # tiny networks keep all their bits
    quantized = rounds and (peft is None or peft.name == "qlora")
    for wanted, module, extra, what in (
        (quantized, "bitsandbytes", "large", f"model.quantization={model.quantization}"),
        (model.served, *SPOKEN[model.api], f"model.api={model.api}"),
    ):
        if wanted and not _installed(module):
            raise FiglangError(_missing(what, module, extra))


def _check_engine(config: EvaluateConfig) -> None:
    model = config.model
    if model.engine != "vllm":
        return
    if config.checkpoint is None and not model.causal:
        raise FiglangError(
            f"model.engine={model.engine} is for causal models, but {model.name} is an encoder; leave "
            "model.engine out"
        )
    if not _installed("vllm"):
        raise FiglangError(_missing("model.engine=vllm", "vllm", "vllm"))


def _check_training(config: TrainConfig) -> None:
    method, strategy = config.method, config.trainer.strategy
    package, extra = OPTIMIZERS.get(method.optimizer, ("", ""))
    if package and not _installed(package):
        # Some presets of trainer= ask for one, which their users may not know.
        raise FiglangError(
            f"{_missing(f'method.optimizer={method.optimizer}', package, extra)}, or add "
            f"method.optimizer={MethodConfig.optimizer}"
        )
    if strategy.startswith("deepspeed") and not _installed("deepspeed"):
        raise FiglangError(_missing(f"trainer.strategy={strategy}", "deepspeed", "deepspeed"))


def _missing(what: str, package: str, extra: str) -> str:
    return f"{what} needs the package {package}; install it: pip install 'figlang[{extra}]'"


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a part of a package that is missing
        return False

"""Whether an evaluation merges adapters into the weights below them or leaves them apart."""

from dataclasses import replace

from figlang.config import ModelConfig
from figlang.models import manifest as manifests
from figlang.models import weights


def settled(model: ModelConfig) -> ModelConfig:
    """The model with `adapters` decided.

    Adapters stay apart over weights in few bits or over several devices, and if they were trained over few
    bits. So an evaluation of QLoRA takes no more memory than its training: 8 billion weights in 4 bits are
    6 GB, and merged in float32 they would be 32 GB.

    Args:
        model: The settings of an evaluation.
    """
    if model.adapters != "auto":
        return model
    large = model.quantization != "none" or bool(model.device_map)
    apart = weights.has_adapters(model) and (large or _over_few_bits(model))
    return replace(model, adapters="apart" if apart else "merge")


def _over_few_bits(model: ModelConfig) -> bool:
    manifest = manifests.stored(weights.locate(model.name_or_path), model.revision)
    return manifest is not None and "+" in (manifest.base_precision or "")

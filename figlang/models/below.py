"""The network below adapters: which it is, its hash, and the error if it cannot be found."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.files.sources import local_path
from figlang.models import adapters, gguf
from figlang.models.carried import here
from figlang.models.manifest import Manifest

if TYPE_CHECKING:
    from peft import PeftConfig

    from figlang.models.low_rank import LowRank


def within(name: str, modules: Iterable[str]) -> bool:
    """Whether a parameter or module belongs to one of these modules, with any prefix."""
    return any(f".{module}." in f".{name}." for module in modules)


def weights_sha256(network: nn.Module, kept: Iterable[str]) -> str:
    """The sha256 of all weights outside the modules `kept`, in their own number format.

    Weights in few bits are left out, because they depend on the device that rounded them. Embeddings and
    norms stay.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(network.named_parameters()):
        if parameter.is_floating_point() and not within(name, kept):
            digest.update(name.encode())
            digest.update(parameter.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def network_below(
    model: ModelConfig, source: str, settings: "PeftConfig | LowRank", manifest: Manifest | None
) -> ModelConfig:
    """The network on which adapters were trained.

    Args:
        model: The settings with which the adapters are opened. `model.base` is another place of the network.
        source: The folder or hub id of the adapters.
        settings: Their adapter_config.json.
        manifest: Their figlang.json; None for adapters of other tools.
    """
    reference = model.base or settings.base_model_name_or_path
    if manifest is not None and not model.base:
        reference = here(reference, manifest.base)
    dtype, _, bits = ((manifest and manifest.base_precision) or "float32").partition("+")
    return replace(
        model,
        name_or_path=str(Path(source) / adapters.OWN) if reference == adapters.OWN else reference,
        revision=None if model.base else settings.revision,
        base=None,
        family="causal" if bits else model.family,
        dtype=dtype,
        quantization=bits or "none",
        device_map=None,
        adapters="merge",
    )


def identity(source: str) -> str:
    """A name of a source that is the same however its folder is written."""
    return str(Path(source).resolve()) if Path(source).is_dir() else source


@contextmanager
def reached(
    model: ModelConfig, source: str, base: ModelConfig, locate: Callable[[str], str]
) -> Iterator[None]:
    """While the block opens the network below adapters, an error about missing files says how to give a
    copy of them.

    Args:
        model: The settings with which the adapters are opened.
        source: The folder or hub id of the adapters.
        base: The network below them.
        locate: Finds the folder or hub id of a source.
    """
    try:
        yield
    except FiglangError as error:
        if model.base or _is_there(base, locate):
            raise
        raise FiglangError(adapters.absent(source, base.name_or_path, str(error))) from error


def _is_there(base: ModelConfig, locate: Callable[[str], str]) -> bool:
    try:
        if gguf.is_gguf(base.name_or_path):
            return local_path(base.name_or_path).is_file()
        source = locate(base.name_or_path)
    except FiglangError:
        return False
    return any(adapters.file_of(source, name, base.revision) for name in ("config.json", adapters.SETTINGS))

"""Change the class of a network, as if transformers had loaded its files with that class."""

import copy
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from figlang.errors import FiglangError
from figlang.models import layout, opening


def recast(
    network: PreTrainedModel, kind: Any, dtype: torch.dtype, more: dict[str, Any], trust: bool
) -> tuple[PreTrainedModel, list[str]]:
    """Turn the network into another class.

    Args:
        network: The network.
        kind: A class of transformers, plain or Auto.
        dtype: Number format of the result.
        more: Further arguments of `from_pretrained`. Only `config` and `num_labels` are used.
        trust: Whether code that comes with the model may run.

    Returns:
        The network, and the weights that it then lacks.
    """
    config, wanted = _wanted(network, kind, more, trust)
    if _is(network, wanted, config):
        return layout.cast(network, dtype), []
    converted, loading_info = opening.read_network(
        wanted,
        None,
        trust=trust,
        config=config,
        state_dict=network.state_dict(),
        dtype=dtype,
        ignore_mismatched_sizes=True,
    )
    return converted, missing(loading_info)


def check(source: str, network: PreTrainedModel, kind: Any, more: dict[str, Any], trust: bool) -> None:
    """Check that a network with adapters in its layers is of the class that is needed.

    Args:
        source: What was read, for the error message.
        network: The network.
        kind: A class of transformers, plain or Auto.
        more: As for `recast`.
        trust: As for `recast`.

    Raises:
        FiglangError: If it is not.
    """
    config, wanted = _wanted(network, kind, more, trust)
    if not _is(network, wanted, config):
        raise FiglangError(
            f"{source} holds adapters of a {type(network).__name__}, but {wanted.__name__} is needed; take "
            "model.adapters=merge"
        )


def missing(loading_info: dict[str, Any]) -> list[str]:
    """Names of weights that the files lack or hold in another shape.

    Args:
        loading_info: What transformers reports about loading a network.
    """
    return sorted({*loading_info["missing_keys"], *(name for name, *_ in loading_info["mismatched_keys"])})


def _wanted(
    network: PreTrainedModel, kind: Any, more: dict[str, Any], trust: bool
) -> tuple[PreTrainedConfig, Any]:
    config = copy.deepcopy(more.get("config", network.config))
    if "num_labels" in more:
        config.num_labels = more["num_labels"]
    if issubclass(kind, PreTrainedModel):
        return config, kind
    # An Auto class builds a network to show which class it means. It is built without quantization.
    bare = copy.deepcopy(config)
    if hasattr(bare, "quantization_config"):
        del bare.quantization_config
    with torch.device("meta"):
        return config, type(opening.build(kind, bare, trust))


def _is(network: PreTrainedModel, wanted: Any, config: PreTrainedConfig) -> bool:
    return type(network) is wanted and config.num_labels == network.config.num_labels

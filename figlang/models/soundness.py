"""Whether model files are plausible.

They must not claim more layers than their weights can fill, and weights must be numbers.
"""

import re
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from torch import Tensor, nn
from transformers import PreTrainedConfig

from figlang.errors import FiglangError

DEPTH = re.compile(r"(^|_)(n_)?layers?$")
# Each unit of such a size has at least one weight. Positions may have none.
SIZE = re.compile(r"(^|_)(size|dim|n_embd|n_inner|n_head|heads|d_model|d_ff)$")
# Networks of up to this many layers are built in a second, whatever their files hold.
MODEST = 1000
# A matrix of up to this many weights is built too.
LARGE = 10**8


def check_depth(source: str, config: PreTrainedConfig, adapters: bool = False) -> None:
    """Check a config.json against the safetensors files of its folder.

    Building a billion layers would take for ever, and every layer has at least one tensor. Rows of a billion
    numbers would fill the memory.

    Args:
        source: The folder.
        config: Its config.json.
        adapters: Whether its files are adapters. They hold no matrix of the network: those are in the folder
            of the network below, which is checked when it is opened.

    Raises:
        FiglangError: If it has more layers than the files hold tensors, or sizes that the files cannot fill.
    """
    counts = {
        name: value for name, value in _numbers(config.to_dict()) if DEPTH.search(name) and value > MODEST
    }
    files = sorted(Path(source).glob("*.safetensors")) if Path(source).is_dir() else []
    if not files:
        return
    if not adapters:
        _check_sizes(source, config, sum(path.stat().st_size for path in files))
    if not counts:
        return
    held = sum(map(_tensors, files))
    for name, value in counts.items():
        if value > held:
            raise FiglangError(
                f"{source}: its config.json has {name}={value}, but its files hold {held} tensors; download "
                "it again"
            )


def _check_sizes(source: str, config: PreTrainedConfig, held: int) -> None:
    """Check that files of so many bytes can hold the matrices of a config.json.

    Raises:
        FiglangError: If they cannot.
    """
    room = 2 * held  # the most weights: with 4 bits each, a byte holds two
    for name, value in _numbers(config.to_dict()):
        if SIZE.search(name) and value > max(room, MODEST):
            raise FiglangError(
                f"{source}: its config.json has {name}={value}, but its files hold {held} bytes; download it "
                "again"
            )
    for name, weights in _matrices(config).items():
        if weights > max(room, LARGE):
            raise FiglangError(
                f"{source}: its config.json has {name}={getattr(config, name)}, a matrix of {weights} "
                f"weights, but its files hold {held} bytes; download it again"
            )


def check_weights(source: str, network: nn.Module) -> None:
    """Check that all weights are finite numbers.

    Raises:
        FiglangError: If a weight is not.
    """
    for name, parameter in network.named_parameters():
        if not parameter.is_floating_point() or parameter.is_meta:
            continue
        weight = parameter.detach()
        if weight.element_size() == 1:  # torch does not look into numbers of 8 bits
            weight = weight.float()
        if not finite(weight):
            raise FiglangError(
                f"{source}: its weights {name} are not all finite numbers; download or train it again"
            )


def finite(weight: Tensor) -> bool:
    """Whether all numbers of a tensor are finite.

    One that is not is the least or the largest, and NaN is both. So to look at these takes a thirtieth of the
    time of asking each number.
    """
    return not weight.numel() or bool(torch.stack(torch.aminmax(weight)).isfinite().all())


def check_complete(source: str, network: nn.Module, missing: Collection[str]) -> None:
    """Check that a causal language model got all weights from its files.

    Args:
        source: What was read, for the error message.
        network: The network as it was read. A weight that two layers share (a tied one) counts once.
        missing: Names of weights that the files do not have.

    Raises:
        FiglangError: If transformers made random weights for some.
    """
    random = [name for name, _ in network.named_parameters() if name in missing]
    if random:
        others = f" and {len(random) - 1} more" if random[1:] else ""
        raise FiglangError(
            f"{source} has no weights for {random[0]}{others}, which would be random; download it again, or "
            "take a causal language model"
        )


def validate(schema: TypeAdapter[Any], content: Any) -> None:
    """Check content against a schema, strictly.

    Raises:
        ValueError: If a type is wrong. It names the first wrong entry and its value.
    """
    try:
        schema.validate_python(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(
            f"{'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg'].lower()}"
        ) from error


def _numbers(content: dict[str, Any]) -> list[tuple[str, int]]:
    own = [(name, value) for name, value in content.items() if type(value) is int]
    return own + [pair for value in content.values() if isinstance(value, dict) for pair in _numbers(value)]


def _matrices(config: PreTrainedConfig) -> dict[str, int]:
    """Sizes of two matrices that every network has: one by its hidden size, one by its vocabulary."""
    hidden, words = getattr(config, "hidden_size", 0), getattr(config, "vocab_size", 0)
    width = getattr(config, "embedding_size", hidden)
    if not all(type(number) is int for number in (hidden, words, width)):
        return {}
    return {"hidden_size": hidden * hidden, "vocab_size": words * min(hidden, width)}


def _tensors(path: Path) -> int:
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            return len(from_json(file.read(min(length, path.stat().st_size))))
    except (ValueError, struct.error):
        return 0  # the error that follows on loading says what is wrong

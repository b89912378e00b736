"""Whether model files are what they say: as many layers as their weights can fill, and weights that are numbers."""

import json
import re
import struct
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from torch import nn
from transformers import PreTrainedConfig

from figlang.errors import FiglangError

DEPTH = re.compile(r"(^|_)(n_)?layers?$")
# Networks of so many layers are built in a second, whatever their files are.
MODEST = 1000


def check_depth(source: str, config: PreTrainedConfig) -> None:
    """Raises FiglangError for a config.json of more layers than a folder's safetensors files hold tensors.

    Building a billion layers would take for ever, and every layer has a tensor at least.
    """
    counts = {name: value for name, value in _numbers(config.to_dict()) if DEPTH.search(name) and value > MODEST}
    files = sorted(Path(source).glob("*.safetensors")) if Path(source).is_dir() else []
    if not counts or not files:
        return
    held = sum(map(_tensors, files))
    for name, value in counts.items():
        if value > held:
            raise FiglangError(
                f"{source}: its config.json has {name}={value}, and its files hold {held} tensors; download it again"
            )


def check_weights(source: str, network: nn.Module) -> None:
    """Raises FiglangError if a weight is not a finite number."""
    for name, parameter in network.named_parameters():
        if not parameter.is_floating_point() or parameter.is_meta:
            continue
        if not bool(parameter.detach().isfinite().all()):
            raise FiglangError(f"{source}: its weights {name} are not all finite numbers; download or train it again")


def validate(schema: TypeAdapter[Any], content: Any) -> None:
    """Raises ValueError, which names the first wrong entry and its value, for content that is not of the schema's types."""
    try:
        schema.validate_python(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg'].lower()}") from error


def _numbers(content: dict[str, Any]) -> list[tuple[str, int]]:
    found = [(name, value) for name, value in content.items() if type(value) is int]
    return found + [pair for value in content.values() if isinstance(value, dict) for pair in _numbers(value)]


def _tensors(path: Path) -> int:
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            return len(json.loads(file.read(min(length, path.stat().st_size))))
    except (ValueError, struct.error):
        return 0  # loading it says what is wrong

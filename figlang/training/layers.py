"""Learning rates by depth: lower layers, which know more that is general, take smaller steps (ELECTRA, arXiv
2003.10555)."""

import re
from collections.abc import Iterable
from typing import Any

from torch import nn

from figlang.errors import FiglangError

# A layer's number in the name of its weights: bert.encoder.layer.3, model.layers.3, transformer.h.3.
NUMBERED = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")
BELOW = re.compile(r"embed|(?:^|\.)w[tp]e\.")


def groups(parameters: Iterable[tuple[str, nn.Parameter]], lr: float, decay: float) -> list[dict[str, Any]]:
    """Groups for an optimizer, the highest rate first, of the parameters that are trained.

    The uppermost layer, and whatever has no number and is no embedding, has `lr`, each layer below `decay`
    times the rate of the one above it, and embeddings are one layer below the lowest.

    Raises FiglangError for a network without numbered layers.
    """
    trained = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    numbers = {name: int(found[1]) for name, _ in trained if (found := NUMBERED.search(name))}
    if not numbers:
        raise FiglangError(
            f"method.layer_decay={decay:g} needs numbered layers, and none of the trained weights is in one; "
            "leave it out"
        )
    top = max(numbers.values())
    depths: dict[int, list[nn.Parameter]] = {}
    for name, parameter in trained:
        below = top + 1 if BELOW.search(name) else 0
        depths.setdefault(top - numbers[name] if name in numbers else below, []).append(parameter)
    return [{"params": depths[depth], "lr": lr * decay**depth} for depth in sorted(depths)]

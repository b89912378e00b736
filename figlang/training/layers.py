"""Learning rates by depth (ELECTRA, arXiv 2003.10555).

Lower layers hold more general knowledge and take smaller steps.
"""

import re
from collections.abc import Iterable
from typing import Any

from torch import nn

from figlang.errors import FiglangError

# A layer's number in the name of its weights, for example bert.encoder.layer.3, model.layers.3 or
# transformer.h.3.
NUMBERED = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")
BELOW = re.compile(r"embed|(?:^|\.)w[tp]e\.")


def groups(parameters: Iterable[tuple[str, nn.Parameter]], lr: float, decay: float) -> list[dict[str, Any]]:
    """Groups of trained parameters for an optimizer, highest rate first.

    The top layer has the rate `lr`, and so have parameters that belong to no numbered layer and are not
    embeddings. Each layer below has `decay` times the rate of the layer above it. Embeddings count as one
    layer below the lowest.

    Args:
        parameters: Names and parameters.
        lr: The highest rate.
        decay: Factor from layer to layer.

    Raises:
        FiglangError: If the network has no numbered layers.
    """
    trained = [(name, parameter) for name, parameter in parameters if parameter.requires_grad]
    numbers = {name: int(layer[1]) for name, _ in trained if (layer := NUMBERED.search(name))}
    if not numbers:
        raise FiglangError(
            f"method.layer_decay={decay:g} needs numbered layers, but none of the trained weights is in "
            "one; leave it out"
        )
    top = max(numbers.values())
    depths: dict[int, list[nn.Parameter]] = {}
    for name, parameter in trained:
        below = top + 1 if BELOW.search(name) else 0
        depths.setdefault(top - numbers[name] if name in numbers else below, []).append(parameter)
    return [{"params": depths[depth], "lr": lr * decay**depth} for depth in sorted(depths)]

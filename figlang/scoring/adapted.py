"""Whether a network has adapters, laid over it or in its layers."""

import sys
from typing import Any


def adapted(network: Any) -> bool:
    """Whether a network is one of peft's, with adapters laid over another one.

    peft takes a second to import. Whoever has such a network has imported it.
    """
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(network, peft.PeftModel)


def has_layers(network: Any) -> bool:
    """Whether some layers of a network are those of adapters, which compute beside the weights below them."""
    tuners = sys.modules.get("peft.tuners.tuners_utils")
    return tuners is not None and any(
        isinstance(module, tuners.BaseTunerLayer) for module in network.modules()
    )

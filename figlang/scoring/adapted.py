"""Whether a network has adapters: around it, in its layers, or as a prompt before its inputs."""

import sys
from typing import Any

# The module of a network that holds a learnt prompt.
PROMPT = "learnt_prompt"


def adapted(network: Any) -> bool:
    """Whether a network is one of peft's, with adapters laid over another one.

    peft takes a second to import, so it is not imported here. For a network of peft's it is imported already.
    """
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(network, peft.PeftModel)


def has_prompt(network: Any) -> bool:
    """Whether a network reads a learnt prompt before every input."""
    return hasattr(network, PROMPT)


def has_layers(network: Any) -> bool:
    """Whether adapters compute beside the weights of a network: some of its layers, or a learnt prompt."""
    tuners = sys.modules.get("peft.tuners.tuners_utils")
    return has_prompt(network) or (
        tuners is not None and any(isinstance(module, tuners.BaseTunerLayer) for module in network.modules())
    )

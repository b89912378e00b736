"""Whether a network has adapters laid over it."""

import sys
from typing import Any


def adapted(network: Any) -> bool:
    """Whether a network is one of peft's, with adapters laid over another one.

    peft takes a second to import. Whoever has such a network has imported it.
    """
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(network, peft.PeftModel)

"""How much a network reads at once."""

from typing import Any

from torch import nn


def positions(config: Any) -> int | None:
    """How many tokens a text may have by the configuration of a network.

    Args:
        config: A configuration of transformers. If it is of several networks, the one that reads text counts.

    Returns:
        The number of tokens; None if there is no limit.
    """
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return None if limit is None or limit < 1 else int(limit)  # XLNet says -1


def window(network: nn.Module) -> int | None:
    """How many tokens a network has positions for, special ones included.

    Args:
        network: A network of transformers, with its configuration.

    Returns:
        The number of tokens; None if its positions need no table.
    """
    limit = positions(network.config)
    if limit is None:
        return None
    names = (name for name, _ in network.named_modules())
    table = next((name for name in names if name.endswith("position_embeddings")), None)
    padding = getattr(network.get_submodule(table), "padding_idx", None) if table else None
    # The first position of RoBERTa and its relatives is the id of the padding token plus 1.
    return limit if padding is None else limit - padding - 1

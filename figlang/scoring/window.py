"""How much a network reads at once."""

from torch import nn


def window(network: nn.Module) -> int | None:
    """How many tokens a network has positions for, special ones included.

    Args:
        network: A network of transformers, with its configuration.

    Returns:
        The number of tokens; None if its positions need no table.
    """
    limit = getattr(network.config, "max_position_embeddings", None)
    if limit is None or limit < 1:  # XLNet says -1
        return None
    names = (name for name, _ in network.named_modules())
    table = next((name for name in names if name.endswith("position_embeddings")), None)
    padding = getattr(network.get_submodule(table), "padding_idx", None) if table else None
    # The first position of RoBERTa and its relatives is the id of the padding token plus 1.
    return int(limit) if padding is None else int(limit) - padding - 1

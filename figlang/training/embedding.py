"""Train only the rows of the embedding matrix that the data use."""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from transformers import PreTrainedModel


class TrimmedEmbedding(nn.Module):
    """The rows of an embedding matrix that occur in the data. Other token ids raise IndexError.

    A row that no batch uses has gradient zero, and AdamW without weight decay does not change it. So it is
    exact to leave such rows out of the optimizer. This saves the dense update of the whole vocabulary, which
    is half of a small encoder's weights.
    """

    def __init__(self, whole: nn.Embedding, used: Tensor) -> None:
        super().__init__()
        index = torch.full((whole.num_embeddings,), whole.num_embeddings)
        index[used] = torch.arange(len(used))
        self.padding_idx = None if whole.padding_idx is None else int(index[whole.padding_idx])
        self.weight = nn.Parameter(whole.weight.detach()[used].clone())
        self.register_buffer("used", used, persistent=False)
        self.register_buffer("index", index, persistent=False)
        self.used: Tensor
        self.index: Tensor

    def forward(self, ids: Tensor) -> Tensor:
        return embedding(self.index[ids], self.weight, self.padding_idx)


def trim(network: PreTrainedModel, used: set[int]) -> nn.Embedding | None:
    """Replace the input embedding by its used rows.

    Args:
        network: The network, which is changed.
        used: Token ids that occur.

    Returns:
        The whole embedding, for `restore`. None if nothing was changed, because it would not be exact or
            possible: frozen or shared weights, or an embedding of another class.
    """
    try:
        whole = network.get_input_embeddings()
    except NotImplementedError:  # CANINE hashes characters
        return None
    shared = [parameter for parameter in network.parameters() if parameter is getattr(whole, "weight", None)]
    tied = bool(getattr(network, "_tied_weights_keys", None)) and network.get_output_embeddings() is not None
    if type(whole) is not nn.Embedding or len(shared) != 1 or tied or not whole.weight.requires_grad:
        return None
    rows = used if whole.padding_idx is None else used | {whole.padding_idx}
    network.set_input_embeddings(TrimmedEmbedding(whole, torch.tensor(sorted(rows))))
    return whole


@torch.no_grad()
def restore(network: PreTrainedModel, whole: nn.Embedding) -> None:
    """Write the trained rows of a trimmed network into the whole embedding, and put it back."""
    trimmed = network.get_input_embeddings()
    whole.weight[trimmed.used] = trimmed.weight.to(whole.weight.device)
    network.set_input_embeddings(whole)

"""Scores of a fine-tuned network: choice head, joint head, or similarity of two encodings."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from figlang.scoring.encode import Batch
from figlang.types import COSINE_OF_MEANS, SentenceVectors

HeadScorer = Callable[[nn.Module, Batch], Tensor]


def pair(network: nn.Module, batch: Batch) -> Tensor:
    """One logit per (context, option) sequence of a multiple-choice network."""
    # The multiple-choice networks take (items, options, T) and flatten it; one "item" with N options serves
    # any mixture.
    logits_N: Tensor = network(**{name: tensor[None] for name, tensor in batch.inputs.items()}).logits[0]
    return _arrange(logits_N.float(), batch)


def joint(network: nn.Module, batch: Batch) -> Tensor:
    """One logit per place in the sequence that holds all options."""
    logits_BC: Tensor = network(**batch.inputs).logits.float()
    return logits_BC.gather(1, batch.option_rows.clamp(min=0)).masked_fill(batch.option_rows < 0, -torch.inf)


class Dual:
    """The similarity of the vectors of context and option, times `scale`.

    By default, it is the cosine of their mean token states.
    """

    def __init__(self, scale: float, vectors: SentenceVectors = COSINE_OF_MEANS) -> None:
        self.scale = scale
        self._vectors = vectors

    def __call__(self, network: nn.Module, batch: Batch) -> Tensor:
        return self.scores(self.vectors(network, batch), batch)

    def vectors(self, network: nn.Module, batch: Batch) -> Tensor:
        """The vector of each sequence of a batch, (N, H), whose products are the similarities."""
        states_NTH = network(**batch.inputs).last_hidden_state.float()
        parts = [pool(states_NTH, batch.inputs["attention_mask"], mode) for mode in self._vectors.pooling]
        vectors_NH = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
        return normalize(vectors_NH, dim=-1) if self._vectors.similarity == "cosine" else vectors_NH

    def scores(self, vectors_NH: Tensor, batch: Batch) -> Tensor:
        """The scores of the options of each item, (B, C), from the vectors of all sequences."""
        assert batch.context_rows is not None, "the encoder's format and the scorer's differ"
        contexts_BH = vectors_NH[batch.context_rows]
        options_BCH = vectors_NH[batch.option_rows.clamp(min=0)]
        similarity_BC = (options_BCH * contexts_BH[:, None]).sum(-1)
        return (self.scale * similarity_BC).masked_fill(batch.option_rows < 0, -torch.inf)


def pool(states_NTH: Tensor, mask_NT: Tensor, mode: str) -> Tensor:
    """Make one vector of the token states of each sequence, (N, H). `mode` is a name of POOLINGS."""
    mask_NT1 = mask_NT[..., None]
    if mode == "cls":
        return states_NTH[:, 0]
    if mode == "lasttoken":
        return states_NTH[torch.arange(len(states_NTH), device=states_NTH.device), mask_NT.sum(1) - 1]
    if mode == "max":
        return states_NTH.masked_fill(mask_NT1 == 0, -torch.inf).amax(1)
    if mode == "weightedmean":
        mask_NT1 = mask_NT1 * torch.arange(1, mask_NT.shape[1] + 1, device=mask_NT.device)[:, None]
    sums_NH, weights_N1 = (states_NTH * mask_NT1).sum(1), mask_NT1.sum(1)
    return sums_NH / (weights_N1.sqrt() if mode == "mean_sqrt_len_tokens" else weights_N1)


def scorer(format: str, scale: float, vectors: SentenceVectors = COSINE_OF_MEANS) -> HeadScorer:
    """The scorer of an input format of Encoder. Only `dual` uses `vectors`."""
    scorers: dict[str, HeadScorer] = {"pair": pair, "joint": joint, "dual": Dual(scale, vectors)}
    return scorers[format]


def _arrange(logits_N: Tensor, batch: Batch) -> Tensor:
    return logits_N[batch.option_rows.clamp(min=0)].masked_fill(batch.option_rows < 0, -torch.inf)

"""Scores of a fine-tuned network: choice head, joint head, or similarity of two encodings."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from figlang.encode import Batch

Scorer = Callable[[nn.Module, Batch], Tensor]


def pair(network: nn.Module, batch: Batch) -> Tensor:
    """One logit per (context, option) sequence of a multiple-choice network."""
    # The multiple-choice networks take (items, options, T) and flatten it; one "item" with N options serves any mixture.
    logits_N: Tensor = network(**{name: tensor[None] for name, tensor in batch.inputs.items()}).logits[0]
    return _arrange(logits_N.float(), batch)


def joint(network: nn.Module, batch: Batch) -> Tensor:
    """One logit per place in the sequence that holds all options."""
    logits_BC: Tensor = network(**batch.inputs).logits.float()
    return logits_BC.gather(1, batch.option_rows.clamp(min=0)).masked_fill(batch.option_rows < 0, -torch.inf)


def dual(scale: float) -> Scorer:
    """Cosine similarity of the mean token states of context and option, times `scale`."""

    def score(network: nn.Module, batch: Batch) -> Tensor:
        states_NTH = network(**batch.inputs).last_hidden_state.float()
        mask_NT1 = batch.inputs["attention_mask"][..., None]
        vectors_NH = normalize((states_NTH * mask_NT1).sum(1) / mask_NT1.sum(1), dim=-1)
        assert batch.context_rows is not None, "the encoder's format and the scorer's differ"
        contexts_BH = vectors_NH[batch.context_rows]
        options_BCH = vectors_NH[batch.option_rows.clamp(min=0)]
        similarity_BC = (options_BCH * contexts_BH[:, None]).sum(-1)
        return (scale * similarity_BC).masked_fill(batch.option_rows < 0, -torch.inf)

    return score


def scorer(format: str, scale: float) -> Scorer:
    """The scorer of an input format of `figlang.encode.Encoder`."""
    return {"pair": pair, "joint": joint, "dual": dual(scale)}[format]


def _arrange(logits_N: Tensor, batch: Batch) -> Tensor:
    return logits_N[batch.option_rows.clamp(min=0)].masked_fill(batch.option_rows < 0, -torch.inf)

"""What a causal network is made of and what it can do, found out once by comparing it with itself on a few
tokens."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from peft import PeftModel
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel

from figlang.cpu.blocks import takes_blocks
from figlang.cpu.hasten import hastened
from figlang.cpu.packed import PackedLinear
from figlang.cpu.sliced import sliced
from figlang.errors import FiglangError, one_line
from figlang.machine.faults import explain
from figlang.scoring.requests import Tokens
from figlang.scoring.tree.rounding import Reference, reference
from figlang.scoring.tree.states import padded, tree_reads, tree_states
from figlang.scoring.tree.trie import Trie, grow
from figlang.scoring.tree.vocabulary import Head

# Packages whose layers do what they are called, and which of them may run twice at the same time: those of
# bitsandbytes change.
KNOWN = ("torch", "transformers", "peft", "figlang", "bitsandbytes")
STATELESS = KNOWN[:-1]
# Of the change at a token that is changed: causal networks have none before it, but for rounding where
# experts choose.
LEAK = 0.02


@dataclass(frozen=True)
class Anatomy:
    """A network, its parts, and why it has to take a slower way (None where it need not).

    `not_split`: its logits are not what `head` makes of `body`'s states. `not_tree`: its attention does not
    take a mask of its own. `window`: how far attention reaches back, None if everywhere. `keys`: the most
    keys that attention code with a built-in mask by place can hold, None if any number. `by_length`: rotary
    frequencies that depend on the longest input of a batch once it is longer than this. `steady`: in bf16 it
    can add up in float32 (see figlang.cpu.residual).
    """

    network: PreTrainedModel
    body: PreTrainedModel
    window: int | None
    keys: int | None
    by_length: int | None
    not_split: str | None = None
    not_tree: str | None = None
    steady: bool = False

    def head(self, states_RH: Tensor) -> Tensor:
        """Logits (R, vocabulary) of states (R, hidden), with the scaling and capping that the network's own
        forward does."""
        return self._through(self.network.get_output_embeddings(), states_RH)

    def matrix(self) -> nn.ModuleList:
        """The vocabulary matrix, in slices where that is faster; none if it is not told apart."""
        return nn.ModuleList() if self.not_split else sliced(self.network.get_output_embeddings())

    def heads(self, matrix: Iterable[nn.Module]) -> list[Head]:
        """`head`, as one for each of the matrix's slices."""
        return [partial(self._through, layer) for layer in matrix]

    def exact(self, states_RH: Tensor, tokens_R: Tensor) -> Tensor:
        """One logit per row (R,), that of its token, in float32 where `head` would round it to the network's
        precision."""
        matrix = self.network.get_output_embeddings()
        states_RH, tokens_R = states_RH.to(matrix.weight.device), tokens_R.to(matrix.weight.device)
        logits_R = (states_RH.float() * matrix.weight[tokens_R].float()).sum(-1)
        return self._finished(logits_R if matrix.bias is None else logits_R + matrix.bias[tokens_R].float())

    def unrounded(self) -> Head:
        """Like `head`, in float32 where that rounds to the network's precision, so that no tokens are tied by
        rounding."""
        if not self.rounds:
            return lambda states_RH: self.head(states_RH).float()
        matrix = self.network.get_output_embeddings()
        weight_VH, bias_V = matrix.weight.float(), None if matrix.bias is None else matrix.bias.float()
        return lambda states_RH: self._finished(linear(states_RH.float(), weight_VH, bias_V))

    @property
    def rounds(self) -> bool:
        """Whether `head` rounds its logits, and `exact` can give a few that are not rounded."""
        matrix = self.network.get_output_embeddings()
        # accelerate brings weights from disk for a product only
        at_hand = type(matrix) in (nn.Linear, PackedLinear) and not matrix.weight.is_meta
        return self.network.dtype != torch.float32 and at_hand

    def _through(self, layer: nn.Module, states_RH: Tensor) -> Tensor:
        return self._finished(layer(states_RH.to(self.network.dtype) if self.steady else states_RH))

    def _finished(self, logits: Tensor) -> Tensor:
        config = self.network.config.get_text_config()
        if (scale := getattr(config, "logit_scale", None)) is not None:  # Cohere
            logits = logits * scale
        if (scaling := getattr(config, "logits_scaling", None)) is not None:  # Granite
            logits = logits / scaling
        if (cap := getattr(config, "final_logit_softcapping", None)) is not None:  # Gemma
            logits = torch.tanh(logits / cap) * cap
        return logits

    def reason(self, longest: int) -> str | None:
        """Why inputs of up to `longest` tokens cannot share their beginnings, or None if they can."""
        if self.not_split or self.not_tree:
            return self.not_split or self.not_tree
        limits = {
            "attention window": self.window,
            "built-in mask": self.keys,
            "first rotary range": self.by_length,
        }
        for name, limit in limits.items():
            if limit is not None and longest > limit:
                return f"its {name} of {limit} tokens is shorter than the longest input, {longest}"
        return None


@torch.inference_mode()
def dissect(network: PreTrainedModel) -> Anatomy:
    """Find body and head, and check on a probe of two dozen tokens that they and tree attention equal the
    plain network.

    Raises FiglangError for a network that is not causal, unless it is quantised.
    """
    if isinstance(network, PeftModel):
        if network.active_peft_config.is_prompt_learning:
            raise FiglangError("causal scoring takes LoRA-like adapters, not learnt prompts")
        network = network.get_base_model()  # the adapter's layers are inside
    config = network.config.get_text_config()
    keys = min((_reach(buffer) for _, buffer in network.named_buffers() if _is_mask(buffer)), default=None)
    anatomy = Anatomy(network, network.base_model, _window(config), keys, _by_length(config))
    branches = _probe(network)
    trie, late = (grow([Tokens(branch, start) for branch in branches]) for start in (1, 4))
    try:
        expected = reference(network, lambda: _plain(network, trie))
    except Exception as error:  # networks of a hundred families raise what they please
        if explain(error, training=False):
            raise
        raise FiglangError(
            f"{type(network).__name__} cannot read plain text from left to right ({one_line(error)}); take "
            "another causal model"
        ) from error
    if _looks_ahead(network, trie):
        raise FiglangError(
            f"{type(network).__name__} as loaded is no causal language model: its tokens see those after "
            "them, so what it makes of "
            "a text is no probability; an encoder is scored by model=encoder scoring=pll"
        )
    not_split = _not_split(anatomy, trie, expected)
    with hastened(network):
        not_tree = None if not_split else _unknown(network) or _not_tree(anatomy, trie, late, expected)
        steady = not (not_split or not_tree) and _steady(anatomy, late, expected)
    return replace(anatomy, not_split=not_split, not_tree=not_tree, steady=steady)


def _probe(network: PreTrainedModel) -> list[list[int]]:
    vocabulary = network.get_input_embeddings().weight.shape[0]
    # Spread over the middle of the vocabulary, clear of special and image tokens at its ends.
    ids = [vocabulary // 4 + place * max(vocabulary // 50, 1) for place in range(25)]
    ids = [number % vocabulary for number in ids]
    return [ids[:8], ids[:4] + ids[8:12], ids[:2] + ids[12:18], ids[:1] + ids[18:]]


def _plain(network: PreTrainedModel, trie: Trie) -> Tensor:
    """Logits (N, vocabulary) of the read nodes, one plain sequence at a time."""
    logits: dict[int, Tensor] = {}
    for nodes, _ in trie.paths():
        output = padded(network, [trie.tokens[nodes]])
        logits.update(zip(nodes.tolist(), output.logits[0], strict=True))
    return torch.stack([logits[node] for node in trie.read.tolist()])


def _looks_ahead(network: PreTrainedModel, trie: Trie) -> bool:
    """Whether most logits before a sequence's last token change with it; not asked of a quantised network,
    whose roundings may hang on outliers of any token."""
    if getattr(network, "is_quantized", False):
        return False
    ids = trie.tokens[next(trie.paths())[0]]
    other = torch.cat([ids[:-1], ids[:1]])
    # By themselves: rows of a batch are not rounded alike.
    one, two = (padded(network, [row]).logits[0].float() for row in (ids, other))
    moved_T = (one - two).abs().amax(-1)
    # Most, since an expert may be chosen by a near tie, which rounding turns.
    return bool(moved_T[:-1].median() > LEAK * moved_T[-1])


def _not_split(anatomy: Anatomy, trie: Trie, expected: Reference) -> str | None:
    if anatomy.body is anatomy.network or anatomy.network.get_output_embeddings() is None:
        return "its body and its vocabulary matrix cannot be told apart"
    nodes, _ = next(trie.paths())
    try:
        logits_RV = anatomy.head(padded(anatomy.body, [trie.tokens[nodes]])[0][0])
    except Exception as error:  # the body of an encoder and decoder asks for inputs of both
        return f"its vocabulary matrix does not fit its body ({one_line(error)})"
    found = expected.at(torch.searchsorted(trie.read, nodes)).differs(logits_RV)
    return (
        f"its output is more than its vocabulary matrix makes of its body's states ({found})"
        if found
        else None
    )


def _not_tree(anatomy: Anatomy, trie: Trie, late: Trie, expected: Reference) -> str | None:
    if "position_ids" not in inspect.signature(anatomy.body.forward).parameters:
        return "it takes no position ids"
    # In one pack, whose mask alone hides what is not on a node's path; and in small ones, in blocks that
    # leave keys out, which hand on keys and values, with beginnings that nothing is asked of.
    for tree, pack, blocks in ((trie, len(trie.read), ()), (late, 5, (2,))):
        try:
            found = _difference(anatomy, tree, expected, pack, blocks)
        except Exception as error:  # networks refuse a mask or cache they do not know with a dozen types
            return f"it does not take a tree-shaped mask ({type(error).__name__}: {one_line(error)})"
        if found:
            return f"its attention does not follow a tree-shaped mask ({found})"
    return None


def _steady(anatomy: Anatomy, late: Trie, expected: Reference) -> bool:
    if anatomy.network.dtype != torch.bfloat16 or not takes_blocks(anatomy.body):
        return False
    try:
        return _difference(replace(anatomy, steady=True), late, expected, 5, (2,)) is None
    except Exception:  # as in _not_tree: a network of unlike parts refuses in its own words
        return False


def _difference(
    anatomy: Anatomy, trie: Trie, expected: Reference, pack: int, blocks: Sequence[int]
) -> str | None:
    """How logits of the read nodes that predict a scored token differ from those expected of all read nodes,
    if they do."""
    states = tree_states(tree_reads(anatomy.body, trie, pack, anatomy.keys, anatomy.steady, blocks))
    asked = trie.counts[trie.read] > 0
    logits_RV = anatomy.head(torch.cat([states_RH for _, states_RH, _ in states])[asked])
    return expected.at(asked.nonzero()[:, 0]).differs(logits_RV)


def others(parts: Iterable[nn.Module], known: Sequence[str]) -> list[str]:
    """Names of the classes of parts that are of no known package."""
    kinds = {type(part) for part in parts if type(part).__module__.partition(".")[0] not in known}
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


def _unknown(network: PreTrainedModel) -> str | None:
    # It may take the mask of the probe, and yet look back no further than some number of tokens.
    names = others(network.modules(), KNOWN)
    return f"it has code that is not transformers' own ({names[0]})" if names else None


def _window(config: Any) -> int | None:
    kinds = getattr(config, "layer_types", None)
    if kinds is not None and set(kinds) <= {"full_attention"}:
        return None
    names = ("sliding_window", "attention_chunk_size", "attention_window_size")
    return min(
        (value for name in names if isinstance(value := getattr(config, name, None), int) and value > 0),
        default=None,
    )


def _by_length(config: Any) -> int | None:
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [kind for kind in rope.values() if isinstance(kind, dict)] or [
        rope
    ]  # of layers that differ, each has its own
    limits = [
        kind.get("original_max_position_embeddings") or getattr(config, "max_position_embeddings", None)
        for kind in kinds
        if kind.get("rope_type") in ("dynamic", "longrope")
    ]
    return min((limit for limit in limits if limit), default=None)


def _is_mask(buffer: Tensor) -> bool:
    return buffer.dim() == 4 and buffer.dtype in (torch.bool, torch.uint8)


def _reach(mask: Tensor) -> int:
    """Keys that the last query of a built-in mask (1, 1, T, T) sees: all, or those of a local window
    (GPT-Neo)."""
    return int(mask[0, 0, -1].sum())

"""The parts and the abilities of a causal network, found by comparing it with itself on a few tokens."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel

from figlang.cpu.blocks import takes_blocks
from figlang.cpu.hasten import hastened
from figlang.cpu.packed import PackedLinear
from figlang.cpu.sliced import sliced
from figlang.errors import FiglangError, one_line
from figlang.machine.faults import explain
from figlang.scoring.adapted import adapted, has_prompt
from figlang.scoring.flat import Tokens
from figlang.scoring.tree.rounding import Reference, reference
from figlang.scoring.tree.states import padded, tree_reads, tree_states
from figlang.scoring.tree.trie import Trie, grow
from figlang.scoring.tree.vocabulary import Head
from figlang.scoring.window import positions

# Packages whose layers are known. Layers of STATELESS packages may run twice at the same time; those of
# bitsandbytes have a state.
KNOWN = ("torch", "transformers", "peft", "figlang", "bitsandbytes")
STATELESS = KNOWN[:-1]
# If a token is changed, logits before it may change by at most this share of the change at the token. The
# logits of a causal network do not change there, except by rounding if experts are chosen.
LEAK = 0.02


@dataclass(frozen=True)
class Anatomy:
    """A network, its parts, and the reasons why it cannot be run in the faster way.

    Attributes:
        network: The whole network.
        body: The network without its vocabulary matrix.
        window: How many tokens attention reaches back; None if it reaches everywhere.
        keys: The most keys that attention code with a built-in mask can hold; None if there is no limit.
        by_length: If an input is longer than this, rotary frequencies depend on the longest input of the
            batch.
        not_split: Why `head` and `body` together do not give the network's logits; None if they do.
        not_tree: Why its attention does not accept a tree-shaped mask; None if it does.
        steady: Whether a network in bf16 can keep its residual sums in float32 (see figlang.cpu.residual).
    """

    network: PreTrainedModel
    body: PreTrainedModel
    window: int | None
    keys: int | None
    by_length: int | None
    not_split: str | None = None
    not_tree: str | None = None
    steady: bool = False

    def of(self, network: nn.Module) -> "Anatomy":
        """The same findings about another network of the same layers, for example a copy of this one."""
        whole: Any = network
        inside = whole.get_base_model() if adapted(network) else network
        assert isinstance(inside, PreTrainedModel)
        return replace(self, network=inside, body=inside.base_model)

    def head(self, states_RH: Tensor) -> Tensor:
        """Logits (R, V) of states (R, H), with the scaling and capping of the network's own forward."""
        return self._through(self.network.get_output_embeddings(), states_RH)

    def matrix(self) -> nn.ModuleList:
        """The vocabulary matrix, in slices if that is faster; empty if the network cannot be split."""
        return nn.ModuleList() if self.not_split else sliced(self.network.get_output_embeddings())

    def heads(self, matrix: Iterable[nn.Module]) -> list[Head]:
        """`head`, as one function for each slice of the matrix."""
        return [partial(self._through, layer) for layer in matrix]

    def exact(self, states_RH: Tensor, tokens_R: Tensor) -> Tensor:
        """The logit of each row's token, (R,), in float32 also if `head` would round it."""
        matrix = self.network.get_output_embeddings()
        states_RH, tokens_R = states_RH.to(matrix.weight.device), tokens_R.to(matrix.weight.device)
        logits_R = (states_RH.float() * matrix.weight[tokens_R].float()).sum(-1)
        return self._finished(logits_R if matrix.bias is None else logits_R + matrix.bias[tokens_R].float())

    def unrounded(self) -> Head:
        """Like `head`, but in float32, so that tokens are not tied by rounding."""
        if not self.rounds:
            return lambda states_RH: self.head(states_RH).float()
        matrix = self.network.get_output_embeddings()
        weight_VH, bias_V = matrix.weight.float(), None if matrix.bias is None else matrix.bias.float()
        return lambda states_RH: self._finished(linear(states_RH.float(), weight_VH, bias_V))

    @property
    def rounds(self) -> bool:
        """Whether `head` rounds its logits and `exact` can avoid that."""
        matrix = self.network.get_output_embeddings()
        # accelerate may keep the weights on the disk (meta) until a layer needs them
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
        """Why inputs of up to `longest` tokens cannot share their beginnings; None if they can."""
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
    """Find the body and the head of a network, and check them.

    On a probe of two dozen tokens, body, head and tree attention are compared with the plain network.

    Raises:
        FiglangError: If the network is not causal. A quantised network is not checked for that.
    """
    if adapted(network):
        if network.active_peft_config.is_prompt_learning:
            raise FiglangError("a learnt prompt has no weights to merge; evaluate its folder as it is")
        network = network.get_base_model()  # the layers of the adapter are inside it
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
            f"{type(network).__name__} as loaded is not a causal language model: its tokens see those "
            "after them, so its scores of a text are not probabilities; an encoder is scored by "
            "model=encoder scoring=pll"
        )
    not_split = (
        "its learnt prompt stands before every input"
        if has_prompt(network)
        else _not_split(anatomy, trie, expected)
    )
    with hastened(network):
        not_tree = None if not_split else _unknown(network) or _not_tree(anatomy, trie, late, expected)
        steady = not (not_split or not_tree) and _steady(anatomy, late, expected)
    return replace(anatomy, not_split=not_split, not_tree=not_tree, steady=steady)


def _probe(network: PreTrainedModel) -> list[list[int]]:
    vocabulary = network.get_input_embeddings().weight.shape[0]
    # Spread over the middle of the vocabulary, away from special and image tokens at its ends.
    ids = [vocabulary // 4 + place * max(vocabulary // 50, 1) for place in range(25)]
    ids = [number % vocabulary for number in ids]
    return [ids[:8], ids[:4] + ids[8:12], ids[:2] + ids[12:18], ids[:1] + ids[18:]]


def _plain(network: PreTrainedModel, trie: Trie) -> Tensor:
    """Logits (N, V) of the read nodes, one plain sequence at a time."""
    logits: dict[int, Tensor] = {}
    for nodes, _ in trie.paths():
        output = padded(network, [trie.tokens[nodes]])
        logits.update(zip(nodes.tolist(), output.logits[0], strict=True))
    return torch.stack([logits[node] for node in trie.read.tolist()])


def _looks_ahead(network: PreTrainedModel, trie: Trie) -> bool:
    """Whether most logits before a sequence's last token change with that token.

    A quantised network is not checked, because its rounding may depend on outliers of any token.
    """
    if getattr(network, "is_quantized", False):
        return False
    ids = trie.tokens[next(trie.paths())[0]]
    other = torch.cat([ids[:-1], ids[:1]])
    # One at a time: rows of a batch are not rounded alike.
    logits, other_logits = (padded(network, [row]).logits[0].float() for row in (ids, other))
    moved_T = (logits - other_logits).abs().amax(-1)
    # Not all: rounding may decide between two experts, and the logits of that token then differ.
    return bool(moved_T[:-1].median() > LEAK * moved_T[-1])


def _not_split(anatomy: Anatomy, trie: Trie, expected: Reference) -> str | None:
    if anatomy.body is anatomy.network or anatomy.network.get_output_embeddings() is None:
        return "its body and its vocabulary matrix cannot be told apart"
    nodes, _ = next(trie.paths())
    try:
        logits_RV = anatomy.head(padded(anatomy.body, [trie.tokens[nodes]])[0][0])
    except Exception as error:  # an encoder-decoder body needs inputs of both parts
        return f"its vocabulary matrix does not fit its body ({one_line(error)})"
    difference = expected.at(torch.searchsorted(trie.read.long(), nodes)).differs(logits_RV)
    return (
        f"its logits are not what its vocabulary matrix makes of its body's states ({difference})"
        if difference
        else None
    )


def _not_tree(anatomy: Anatomy, trie: Trie, late: Trie, expected: Reference) -> str | None:
    if "position_ids" not in inspect.signature(anatomy.body.forward).parameters:
        return "it takes no position ids"
    # First one pack: only the mask hides the tokens that are not on the path of a node. Then small packs,
    # which take over keys and values from earlier packs, in blocks that leave keys out. The small packs
    # do not score the beginnings.
    for tree, pack, blocks in ((trie, len(trie.read), ()), (late, 5, (2,))):
        try:
            difference = _difference(anatomy, tree, expected, pack, blocks)
        except Exception as error:  # networks refuse an unknown mask or cache with a dozen types of errors
            return f"it does not take a tree-shaped mask ({type(error).__name__}: {one_line(error)})"
        if difference:
            return f"its attention does not follow a tree-shaped mask ({difference})"
    return None


def _steady(anatomy: Anatomy, late: Trie, expected: Reference) -> bool:
    if anatomy.network.dtype != torch.bfloat16 or not takes_blocks(anatomy.body):
        return False
    try:
        return _difference(replace(anatomy, steady=True), late, expected, 5, (2,)) is None
    except Exception:  # as in _not_tree
        return False


def _difference(
    anatomy: Anatomy, trie: Trie, expected: Reference, pack: int, blocks: Sequence[int]
) -> str | None:
    """Say how logits differ from the expected ones; None if they do not.

    Only the logits from which a scored token is predicted are compared.
    """
    states = tree_states(tree_reads(anatomy.body, trie, pack, anatomy.keys, anatomy.steady, blocks))
    asked = trie.counts[trie.read] > 0
    logits_RV = anatomy.head(torch.cat([states_RH for _, states_RH, _ in states])[asked])
    return expected.at(asked.nonzero()[:, 0]).differs(logits_RV)


def others(parts: Iterable[nn.Module], known: Sequence[str]) -> list[str]:
    """Names of the classes of parts that are not from a known package."""
    kinds = {type(part) for part in parts if type(part).__module__.partition(".")[0] not in known}
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


def _unknown(network: PreTrainedModel) -> str | None:
    # Unknown code may accept the mask of the probe and still look back over a limited number of tokens.
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
    # If there are several kinds of layers, each kind has its own parameters.
    kinds = [kind for kind in rope.values() if isinstance(kind, dict)] or [rope]
    limits = [
        kind.get("original_max_position_embeddings") or positions(config)
        for kind in kinds
        if kind.get("rope_type") in ("dynamic", "longrope")
    ]
    return min((limit for limit in limits if limit), default=None)


def _is_mask(buffer: Tensor) -> bool:
    return buffer.dim() == 4 and buffer.dtype in (torch.bool, torch.uint8)


def _reach(mask: Tensor) -> int:
    """How many keys the last query of a built-in mask (1, 1, T, T) sees.

    It sees all, or those of a local window (GPT-Neo).
    """
    return int(mask[0, 0, -1].sum())

"""Run a network's body over a trie, in packs that compute common beginnings once, or sequence by sequence.

Shape letters: N sequences in a batch, T tokens, P nodes of a pack, K keys, R rows, H hidden size.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

from figlang.cpu.blocks import Blocks, attending, in_blocks, takes_blocks
from figlang.cpu.feed_forward import asked
from figlang.cpu.residual import adding_in_float32
from figlang.scoring.tree.trie import Pack, Section, Trie

BLOCKS = (
    16,
    32,
)  # nodes that attend together: small blocks copy more keys, large ones compute more masked scores


class States(NamedTuple):
    """States of the nodes that predict a scored token.

    Attributes:
        nodes: The nodes, (R,).
        states: Their states, (R, H).
        read: Number of tokens that were read for them.
    """

    nodes: Tensor
    states: Tensor
    read: int


class Read(NamedTuple):
    """A pack that was read.

    The states (P, H) are final for nodes that predict a scored token. For other nodes, the last layer may be
    missing. A caller that reads on from here may append to the cache: the next pack takes over only what
    is held.

    Attributes:
        pack: The pack.
        held: Nodes whose keys and values the cache has, past first, (K + P,).
        states: States of the pack's nodes.
        cache: Keys and values.
    """

    pack: Pack
    held: Tensor
    states: Tensor
    cache: DynamicCache


def tree_reads(
    body: PreTrainedModel,
    trie: Trie,
    size: int,
    keys: int | None = None,
    steady: bool = False,
    blocks: Sequence[int] = BLOCKS,
    section: Section | None = None,
) -> Iterator[Read]:
    """Read all nodes of a trie, or those of a section, pack by pack (see Trie.packs). Each is computed once.

    The keys and values on the path to the first node of a pack come from the pack before it. The beginning
    that all sequences share is such a path. A subtree that is larger than a pack has one too.

    Args:
        body: The network's body.
        trie: The trie.
        size: The most nodes of a pack.
        keys: The most nodes of a pack with its past; None for no limit.
        steady: As in read_tree.
        blocks: Numbers of nodes that may attend together; the cheapest is taken. If empty, all nodes attend
            together, with the mask alone.
        section: The part of the trie to read.
    """
    cache, held = DynamicCache(), torch.empty(0, dtype=torch.long)
    for pack in trie.packs(size, keys, section):
        cache = _hand_on(cache, torch.searchsorted(held, pack.past))
        held = torch.cat(pack)
        visible_PK = trie.visible(pack)
        cut = trie.blocks(pack, visible_PK, blocks) if blocks and takes_blocks(body) else []
        with asked(trie.counts[pack.nodes] > 0):
            states_PH = read_tree(
                body, trie.tokens[pack.nodes], trie.depths[pack.nodes], visible_PK, cache, cut, steady
            )
        yield Read(pack, held, states_PH, cache)


def tree_states(reads: Iterator[Read]) -> Iterator[States]:
    """The states of all nodes that tree_reads reads."""
    for read in reads:
        nodes, states_PH = read.pack.nodes, read.states
        del read  # otherwise a second cache would exist while the next pack is read
        yield States(nodes, states_PH, len(nodes))


def read_tree(
    body: PreTrainedModel,
    tokens: Tensor,
    depths: Tensor,
    visible_PK: Tensor,
    cache: DynamicCache,
    blocks: Sequence[Blocks] = (),
    steady: bool = False,
) -> Tensor:
    """States (P, H) of tokens; their keys and values are appended to the cache.

    Args:
        body: The network's body.
        tokens: Token ids, (P,).
        depths: Their positions, (P,).
        visible_PK: What each token attends to, itself last, as bool.
        cache: Keys and values of the past.
        blocks: Blocks of these tokens that may attend by themselves.
        steady: Add up in float32.
    """
    # Additive, in the network's own precision: every attention code that takes a mask takes this kind.
    mask_PK = torch.zeros(visible_PK.shape, dtype=body.dtype).masked_fill_(
        ~visible_PK, torch.finfo(body.dtype).min
    )
    with in_blocks(blocks, len(tokens), cast=steady), adding_in_float32(body) if steady else nullcontext():
        states_NTH: Tensor = body(
            input_ids=tokens[None].to(body.device, torch.long),
            attention_mask=mask_PK[None, None].to(body.device),
            position_ids=depths[None].to(body.device, torch.long),
            past_key_values=cache,
            use_cache=True,
        )[0]
    return states_NTH[0]


@contextmanager
def for_threads(body: PreTrainedModel, steady: bool) -> Iterator[None]:
    """While the block runs, several threads may read sections of a trie at the same time.

    The changes to the network that each pack would make are made once.
    """
    with attending(), adding_in_float32(body) if steady else nullcontext():
        yield


def whole_states(network: PreTrainedModel, trie: Trie, tokens: int) -> Iterator[States]:
    """The first output of `network` at all read nodes, from plain padded batches.

    It is the states of a body or the logits of a whole network. A batch has at most `tokens` tokens with its
    padding, or one sequence. Sequences of similar length share a batch.
    """
    paths = sorted(trie.paths(), key=lambda path: -len(path[0]))
    start = 0
    while start < len(paths):
        width = len(paths[start][0])
        batch = paths[start : start + max(tokens // width, 1)]
        start += len(batch)
        outputs_NTH = padded(network, [trie.tokens[nodes] for nodes, _ in batch])[0]
        new_NT = torch.stack([pad(new, (0, width - len(new))) for _, new in batch])
        yield States(
            torch.cat([nodes[new] for nodes, new in batch]),
            outputs_NTH[new_NT.to(outputs_NTH.device)],
            sum(len(nodes) for nodes, _ in batch),
        )


def padded(network: PreTrainedModel, rows: list[Tensor]) -> Any:
    """The network's plain output for token sequences of any lengths.

    They are padded on the right, where causal networks do not look.
    """
    width = max(map(len, rows))
    lengths = torch.tensor([len(row) for row in rows])
    inputs = {
        "input_ids": torch.stack([pad(row, (0, width - len(row))) for row in rows]).to(
            network.device, torch.long
        ),
        "attention_mask": (torch.arange(width) < lengths[:, None]).long().to(network.device),
        "use_cache": False,
    }
    taken = inspect.signature(network.forward).parameters
    return network(**{name: value for name, value in inputs.items() if name in taken})


def _hand_on(cache: DynamicCache, keep: Tensor) -> DynamicCache:
    """A cache with the kept places, in their order."""
    if not len(keep):
        return DynamicCache()
    # Without the config, so that no layer forgets what lies behind a sliding window: the mask decides what is
    # seen.
    return DynamicCache(
        [
            (layer.keys[:, :, keep.to(layer.keys.device)], layer.values[:, :, keep.to(layer.values.device)])
            for layer in cache.layers
        ]
    )

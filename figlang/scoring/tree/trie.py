"""The trie of all token sequences. A prefix that sequences share is computed once.

Shape letters: V nodes, N nodes that are read, S scored nodes, K keys, P nodes of a pack.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from sys import byteorder
from typing import NamedTuple

import torch
from torch import Tensor

from figlang.cpu.blocks import Blocks
from figlang.scoring.flat import Slices, Tokens, from_array

# The number of keys of a block is a multiple of this, or all keys. With other numbers, a product takes up to
# half as long again on a CPU.
WIDTH = 16
COPY = 8  # Copying a key into a block takes as long as this number of queries that use the key.
LITTLE = 0.01  # Halves share at most this part of all nodes, and are cut at most so far from the middle.
SORTED = 4096  # Sequences that are sorted at a time, since sort keys take more memory than the sequences.


class Pack(NamedTuple):
    """Nodes that the network reads together.

    All indices are ascending. Every ancestor of a node is in the past or in the pack.

    Attributes:
        past: Nodes on the path to the first node of the pack, (K,).
        nodes: The nodes, (P,).
    """

    past: Tensor
    nodes: Tensor


class Section(NamedTuple):
    """The read nodes from place `start` up to, but not including, `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Trie:
    """Every distinct prefix of the sequences as one node, in an order in which parents come before children.

    All numbers have 4 bytes, since many sequences have millions of nodes. Nodes of a pack have 8, as torch
    wants them.

    Attributes:
        tokens: Token of each node, (V,).
        parents: Parent of each node, -1 at the top, (V,).
        depths: Depth of each node, from 0, (V,).
        ends: The descendants of a node are the nodes after it, up to but not including its end, (V,).
        read: Nodes that have a child, (N,). Other nodes are predicted but not read.
        scored: Nodes whose log-probability is needed, ordered by parent, (S,).
        firsts: Place in `scored` of the first child of each node, (V,).
        counts: Number of scored children of each node, (V,).
        spans: Nodes of the scored tokens of every sequence, in its order.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    ends: Tensor
    read: Tensor
    scored: Tensor
    firsts: Tensor
    counts: Tensor
    spans: Slices

    @property
    def positions(self) -> int:
        """Number of nodes that predict a scored token: the rows of the vocabulary product."""
        return int((self.counts > 0).sum())

    @property
    def longest(self) -> int:
        """The most tokens that the network reads for one sequence."""
        return int(self.depths[self.read].max()) + 1

    def packs(self, size: int, keys: int | None = None, section: Section | None = None) -> Iterator[Pack]:
        """Cut the read nodes, each once, into packs.

        The past of a pack is made of the past and the nodes of the pack before it. Cuts are made where the
        next past is short.

        Args:
            size: The most nodes of a pack.
            keys: The most nodes of a pack with its past. It must be at least `longest`, or the deepest nodes
                would not fit.
            section: The part of the trie. Its first pack has no pack before it, so it begins with the path to
                its first node.
        """
        first, end = section or Section(0, len(self.read))
        nodes = self.read[first:end]
        if first:
            nodes = torch.cat([self._above(int(nodes[0])), nodes])
        start = 0
        while start < len(nodes):
            past = self._above(int(nodes[start]))
            most = size if keys is None else min(size, keys - len(past))
            stop = self._cut(nodes, start, most, most // 4)
            yield Pack(past, nodes[start:stop].long())
            start = stop

    def halves(self, least: int) -> list[Section]:
        """Two sections of about equal size that share few nodes, or the whole trie.

        It is cut only if each half has about `least` read nodes or more.
        """
        count = len(self.read)
        little = int(LITTLE * count)
        if count < 2 * least:
            return [Section(0, count)]
        half = count // 2
        depths = self.depths[self.read[half - little : half + little + 1]]
        shallowest = (depths == depths.min()).nonzero()[:, 0] + half - little
        middle = int(shallowest[(shallowest - half).abs().argmin()])
        shared = int(self.depths[self.read[middle]])
        return [Section(0, middle), Section(middle, count)] if shared <= little else [Section(0, count)]

    def visible(self, pack: Pack) -> Tensor:
        """Whether a node attends to a key, (P, K + P) of bool: if it is on its path. The past comes first."""
        keys = torch.cat(pack)
        nodes = pack.nodes[:, None]
        return (keys <= nodes) & (nodes < self.ends[keys])

    def blocks(self, pack: Pack, visible_PK: Tensor, sizes: Sequence[int]) -> list[Blocks]:
        """The pack's nodes with the keys that they see, in blocks.

        The number of nodes of a block is the cheapest of `sizes`. Blocks with equally many keys are one
        batch.
        """
        cuts = []
        for size in sizes:
            queries_BQ = (
                torch.arange(-(-len(pack.nodes) // size) * size).clamp(max=len(pack.nodes) - 1).view(-1, size)
            )
            seen_BK = visible_PK[queries_BQ].any(1)
            cuts.append((int(seen_BK.sum()) * (size + COPY), queries_BQ, seen_BK))
        _, queries_BQ, seen_BK = min(cuts, key=itemgetter(0))
        widths = (-(-seen_BK.sum(1) // WIDTH) * WIDTH).clamp(max=seen_BK.shape[1])
        batches = []
        for width in torch.unique(widths).tolist():
            chosen = widths == width
            keys_BK = seen_BK[chosen].int().argsort(descending=True, stable=True)[:, :width]
            batches.append(
                Blocks(
                    queries_BQ[chosen],
                    keys_BK,
                    visible_PK[queries_BQ[chosen]].take_along_dim(keys_BK[:, None], 2),
                )
            )
        return batches

    def paths(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Plain sequences that cover all read nodes.

        Yields:
            The nodes of a sequence, and which of them no earlier sequence had (bool).
        """
        covered = torch.zeros(len(self.tokens), dtype=torch.bool)
        is_read = torch.zeros(len(self.tokens), dtype=torch.bool)
        is_read[self.read] = True
        # A path ends at its last read node: none of its children is read.
        inner = self.parents[self.read]
        last = is_read.clone()
        last[inner[inner >= 0]] = False
        for node in last.nonzero()[:, 0].tolist():
            nodes = torch.cat([self._above(node), torch.tensor([node])])
            yield nodes, ~covered[nodes]
            covered[nodes] = True

    def _cut(self, nodes: Tensor, start: int, most: int, room: int) -> int:
        """The place in `nodes` where a pack ends.

        It is one of the last `room` places up to `start` + `most`: the shallowest of them. If several are
        equally shallow, it is the last.
        """
        stop = start + most
        if stop >= len(nodes):
            return len(nodes)
        earliest = stop - room
        depths = self.depths[nodes[earliest : stop + 1]]
        return earliest + int((depths == depths.min()).nonzero()[-1])

    def _above(self, node: int) -> Tensor:
        path = []
        while (node := int(self.parents[node])) >= 0:
            path.append(node)
        return torch.tensor(path[::-1], dtype=torch.long)


def grow(sequences: Sequence[Tokens]) -> Trie:
    """Build the trie of at least one sequence.

    Sequences may be equal, or one may be the beginning of another.
    """
    tokens, parents, depths, ends, path = (array("i") for _ in range(5))
    bounds = array("q", [0])
    for ids, start in sequences:
        bounds.append(bounds[-1] + len(ids) - start)
    spans = array("i", bytes(4 * bounds[-1]))
    before: list[int] = []
    for index in _sorted(sequences):
        ids, start = sequences[index]
        shared = _shared(before, ids)
        count = len(tokens)
        for node in path[shared:]:
            ends[node] = count
        del path[shared:]
        if fresh := ids[shared:]:
            nodes = range(count, count + len(fresh))
            parents.append(path[-1] if path else -1)
            parents.extend(nodes[:-1])
            depths.extend(range(shared, len(ids)))
            path.extend(nodes)
            tokens.extend(fresh)
            ends.extend(nodes)  # until the last descendant of each is known
        spans[bounds[index] : bounds[index + 1]] = path[start:]
        before = ids
    for node in path:
        ends[node] = len(tokens)
    above, places = from_array(parents), from_array(spans)
    is_scored = torch.zeros(len(tokens), dtype=torch.bool)
    is_scored[places] = True
    asked = is_scored.nonzero()[:, 0]
    asked = asked[above[asked].argsort(stable=True)]
    counts = torch.bincount(above[asked], minlength=len(tokens)).int()
    return Trie(
        tokens=from_array(tokens),
        parents=above,
        depths=from_array(depths),
        ends=from_array(ends),
        read=torch.unique(above[above >= 0]),
        scored=asked.int(),
        firsts=counts.cumsum(0, dtype=torch.int32) - counts,
        counts=counts,
        spans=Slices(places, bounds[1:]),
    )


def _sorted(sequences: Sequence[Tokens]) -> Iterator[int]:
    """The places of the sequences by their token ids. Equal ones stay in their order."""

    def key(place: int) -> bytes:
        return _key(sequences[place].ids)

    places = range(len(sequences))
    parts = [places[start : start + SORTED] for start in places[::SORTED]]
    return merge(*(array("i", sorted(part, key=key)) for part in parts), key=key)


def _key(ids: list[int]) -> bytes:
    """Bytes that sort as the ids do, and take less room."""
    numbers = array("I", ids)
    if byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes()


def _shared(first: list[int], second: list[int]) -> int:
    """How many tokens two sequences have in common at the beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(first), len(second)))

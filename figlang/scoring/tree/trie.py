"""The trie of all token sequences, so that a prefix that sequences share is computed once.

Shape letters: V nodes, N nodes that are read, S scored nodes, K keys, P nodes of a pack.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import torch
from torch import Tensor

from figlang.cpu.blocks import Blocks
from figlang.scoring.requests import Tokens

# Keys of a block are a multiple of this, or all: products with other numbers take up to half as long again on
# a CPU.
WIDTH = 16
COPY = 8  # a key that a block copies costs as much as so many of its queries that look at it
LITTLE = 0.01  # of all nodes: what halves may share, and how far from the middle they may be cut


class Pack(NamedTuple):
    """Nodes that the network reads together: `nodes` (P,) after the `past` (K,) nodes on the path to the
    first of them.

    All indices are ascending, and every ancestor of a node is in the past or in the pack.
    """

    past: Tensor
    nodes: Tensor


class Section(NamedTuple):
    """The read nodes from place `start` up to `end`, which is not in it."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Trie:
    """Every distinct prefix of the sequences as one node, in the order of a walk that visits children after
    parents.

    `tokens`, `parents` (-1 at the top), `depths` and `ends` are (V,); a node's descendants are the nodes from
    the next one up to `ends`. `read` (N,) are the nodes that have a child: the others are predicted, never
    read. `scored` (S,) are the nodes whose log-probability is asked for, ordered by parent; those of parent p
    stand at `firsts[p]` and the `counts[p]` places from there. `spans` are, for every sequence in its order,
    the nodes of its scored tokens.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    ends: Tensor
    read: Tensor
    scored: Tensor
    firsts: Tensor
    counts: Tensor
    spans: list[Tensor]

    @property
    def positions(self) -> int:
        """How many nodes predict a scored token: the rows of the vocabulary product."""
        return int((self.counts > 0).sum())

    @property
    def longest(self) -> int:
        """The most tokens that one sequence makes the network read."""
        return int(self.depths[self.read].max()) + 1

    def packs(self, size: int, keys: int | None = None, section: Section | None = None) -> Iterator[Pack]:
        """The read nodes, each once, cut into packs of at most `size` whose past and nodes are at most `keys`
        together.

        A pack's past is made of the past and the nodes of the pack before it. Cuts are made where the next
        past is short; `keys` must be at least `longest`, or the deepest nodes would have no room. The first
        pack of a `section`, which has none before it, begins with the path to its first node.
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
            yield Pack(past, nodes[start:stop])
            start = stop

    def halves(self, least: int) -> list[Section]:
        """Two sections of about as many read nodes, about `least` or more, that share few; or the whole, if
        there are none."""
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
        """(P, K + P) of bool: what each node attends to, its own path; the past comes first."""
        keys = torch.cat(pack)
        nodes = pack.nodes[:, None]
        return (keys <= nodes) & (nodes < self.ends[keys])

    def blocks(self, pack: Pack, visible_PK: Tensor, sizes: Sequence[int]) -> list[Blocks]:
        """The pack's nodes with the keys that they see, as many nodes to a block as costs least of these
        sizes; blocks of equally many keys are one batch."""
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
            some = widths == width
            keys_BK = seen_BK[some].int().argsort(descending=True, stable=True)[:, :width]
            batches.append(
                Blocks(
                    queries_BQ[some],
                    keys_BK,
                    visible_PK[queries_BQ[some]].take_along_dim(keys_BK[:, None], 2),
                )
            )
        return batches

    def paths(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Plain sequences that cover all read nodes: the nodes of each, and which of them no earlier one had
        (bool)."""
        covered = torch.zeros(len(self.tokens), dtype=torch.bool)
        is_read = torch.zeros(len(self.tokens), dtype=torch.bool)
        is_read[self.read] = True
        # A path is run to its last read node, the one none of whose children is read.
        inner = self.parents[self.read]
        last = is_read.clone()
        last[inner[inner >= 0]] = False
        for node in last.nonzero()[:, 0].tolist():
            nodes = torch.cat([self._above(node), torch.tensor([node])])
            yield nodes, ~covered[nodes]
            covered[nodes] = True

    def _cut(self, nodes: Tensor, start: int, most: int, room: int) -> int:
        """Where to stop within `nodes` after at most `most` of them: at the shallowest of the last `room`
        places, the last such."""
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
    """The trie of at least one sequence; sequences may be equal, or one the beginning of another."""
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    scored: set[int] = set()
    spans: list[Tensor] = [torch.empty(0, dtype=torch.long)] * len(sequences)
    path: list[int] = []
    before: list[int] = []
    for index in sorted(range(len(sequences)), key=lambda index: sequences[index].ids):
        ids, start = sequences[index].ids, sequences[index].start
        shared = _shared(before, ids)
        del path[shared:]
        for token in ids[shared:]:
            parents.append(path[-1] if path else -1)
            depths.append(len(path))
            path.append(len(tokens))
            tokens.append(token)
        spans[index] = torch.tensor(path[start:])
        scored.update(path[start:])
        before = ids
    sizes = [1] * len(tokens)
    for node in range(len(tokens) - 1, -1, -1):
        if parents[node] >= 0:
            sizes[parents[node]] += sizes[node]
    above = torch.tensor(parents)
    asked = torch.tensor(sorted(scored, key=lambda node: (parents[node], node)))
    counts = torch.bincount(above[asked], minlength=len(tokens))
    return Trie(
        tokens=torch.tensor(tokens),
        parents=above,
        depths=torch.tensor(depths),
        ends=torch.arange(len(tokens)) + torch.tensor(sizes),
        read=torch.unique(above[above >= 0]),
        scored=asked,
        firsts=counts.cumsum(0) - counts,
        counts=counts,
        spans=spans,
    )


def _shared(one: list[int], other: list[int]) -> int:
    """How many tokens two sequences have in common at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))

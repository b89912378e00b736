"""Laws of the trie: every prefix is one node, and a packed node sees its own path and nothing else."""

import pytest
import torch

from figlang.scoring.flat import Tokens
from figlang.scoring.tree.trie import Section, grow


def drawn(seed: int) -> list[Tokens]:
    """Sequences over three tokens, so that many share a beginning and some are equal."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 12, (30,), generator=generator).tolist()
    return [Tokens(torch.randint(0, 3, (length,), generator=generator).tolist(), 1) for length in lengths]


@pytest.mark.parametrize(("size", "keys"), [(1, None), (4, None), (7, 12), (100, None)])
@pytest.mark.parametrize("half", [None, 0, 1])
def test_a_packed_node_sees_its_own_path_and_nothing_else(
    size: int, keys: int | None, half: int | None
) -> None:
    for seed in range(20):
        sequences = drawn(seed)
        trie = grow(sequences)
        middle, count = len(trie.read) // 2, len(trie.read)
        section = None if half is None else (Section(0, middle), Section(middle, count))[half]
        seen: list[int] = []
        held: set[int] = set()
        for pack in trie.packs(size, keys, section):
            assert set(pack.past.tolist()) <= held
            held = {*pack.past.tolist(), *pack.nodes.tolist()}
            assert len(pack.nodes) <= size
            assert keys is None or len(held) <= keys
            for node, row in zip(pack.nodes.tolist(), trie.visible(pack), strict=True):
                path = [node]
                while (above := int(trie.parents[path[-1]])) >= 0:
                    path.append(above)
                assert torch.cat(pack)[row].tolist() == path[::-1]
            seen += pack.nodes.tolist()
        start, end = section or (0, count)
        # The nodes that a section begins with are not in it.
        above = int(trie.depths[trie.read[start]])
        assert seen[above:] == trie.read[start:end].tolist()
        assert [int(trie.parents[node]) for node in seen[: above + 1]] == [-1, *seen[:above]]
        for tokens, span in zip(sequences, trie.spans, strict=True):
            assert trie.tokens[span].tolist() == tokens.ids[tokens.start :]


@pytest.mark.parametrize("width", [4, 64])
@pytest.mark.parametrize("size", [1, 5, 16, 200])
def test_a_block_has_every_key_that_one_of_its_nodes_sees(
    size: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figlang.scoring.tree.trie.WIDTH", width)
    for seed in range(20):
        trie = grow(drawn(seed))
        for pack in trie.packs(40):
            visible = trie.visible(pack)
            found = torch.zeros_like(visible)
            seen = []
            for queries, keys, sees in trie.blocks(pack, visible, [size]):
                assert queries.shape[1] == size
                assert sees.shape == (len(queries), size, keys.shape[1])
                most = visible.shape[1]
                assert all(
                    min(-(-seen // width) * width, most) == keys.shape[1]
                    for seen in sees.any(1).sum(1).tolist()
                )
                assert all(len(row.unique()) == len(row) for row in keys)
                found[queries[:, :, None], keys[:, None]] |= sees
                seen += queries.flatten().tolist()
            assert torch.equal(found, visible)
            assert sorted(set(seen)) == list(range(len(pack.nodes)))
            assert len(seen) < len(pack.nodes) + size


def test_blocks_are_small_where_each_node_sees_little_and_large_where_many_see_the_same() -> None:
    for shared, sizes in ((0, {4}), (40, {16})):
        trie = grow([Tokens([*range(shared), first, 1, 2, 3, 4], 1) for first in range(100, 130)])
        (pack,) = trie.packs(200)
        assert {blocks.queries.shape[1] for blocks in trie.blocks(pack, trie.visible(pack), [4, 16])} == sizes


@pytest.mark.parametrize("seed", range(5))
def test_plain_paths_cover_every_read_node_once(seed: int) -> None:
    trie = grow(drawn(seed))
    new = torch.cat([nodes[fresh] for nodes, fresh in trie.paths()])
    assert sorted(new.tolist()) == trie.read.tolist()
    for nodes, _ in trie.paths():
        assert trie.parents[nodes].tolist() == [-1, *nodes[:-1].tolist()]


def test_scored_children_are_found_by_their_parent() -> None:
    trie = grow([Tokens([1, 2, 3], 1), Tokens([1, 2, 4], 2), Tokens([1, 5], 1), Tokens([6, 1], 1)])
    for parent in range(len(trie.tokens)):
        first, count = int(trie.firsts[parent]), int(trie.counts[parent])
        assert (trie.parents[trie.scored[first : first + count]] == parent).all()
    assert trie.positions == 3
    assert trie.longest == 2


def test_equal_sequences_and_beginnings_of_others_add_no_node() -> None:
    trie = grow([Tokens([1, 2, 3], 1), Tokens([1, 2], 1), Tokens([1, 2, 3], 2)])
    assert trie.tokens.tolist() == [1, 2, 3]
    assert [span.tolist() for span in trie.spans] == [[1, 2], [1], [2]]


def test_halves_are_about_equal_and_share_little_or_there_are_none() -> None:
    branches = [Tokens([first, *range(10, 30 + first % 3)], 1) for first in range(100, 130)]
    trie = grow(branches)
    (zero, middle), (also, count) = trie.halves(100)
    assert (zero, also, count) == (0, middle, len(trie.read))
    assert abs(middle - count / 2) <= count / 50 + 1
    # Of several beginnings near the middle, the nearest.
    many = grow([Tokens([first, 1, 2], 1) for first in range(100, 1100)])
    (_, middle), _ = many.halves(100)
    assert middle == len(many.read) / 2
    # Where the cut may lie there is no beginning of a branch: what is above it is read twice, and so it is
    # the whole.
    long = grow([Tokens([first, *range(10, 300)], 1) for first in (1, 2, 3)])
    assert long.halves(100) == [Section(0, len(long.read))]
    assert trie.halves(len(trie.read) // 2 + 1) == [Section(0, len(trie.read))]
    # A beginning that all share counts by its length.
    for length, parts in ((5, 2), (40, 1)):
        below = grow([Tokens([*range(1000, 1000 + length), *each.ids], length) for each in branches])
        assert len(below.halves(100)) == parts

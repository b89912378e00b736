"""The next tokens that a causal network expects after prompts, and after tokens that may follow them.

Prompts are read once.

Shape letters: R prompts of a chunk, W nodes read together, K keys, V vocabulary.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

from figlang.cpu.hasten import hastened
from figlang.errors import FiglangError
from figlang.scoring.flat import Tokens
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.states import padded, read_tree, tree_reads
from figlang.scoring.tree.trie import grow
from figlang.scoring.window import positions

log = logging.getLogger("figlang")

Path = tuple[int, tuple[int, ...]]  # the place of a prompt in its chunk, and the tokens after it


class Chunk(Protocol):
    """Prompts that were read together.

    Attributes:
        prompts: Their numbers.
        logits: Logits (R, V) in float32 of the token after each.
    """

    prompts: list[int]
    logits: Tensor

    def after(self, paths: Sequence[Path]) -> Iterator[Tensor]:
        """Logits (W, V) in float32 of what follows each path, in their order, some at a time.

        A path is not empty.
        """


class Continuation:
    """A causal network that is asked what follows a text.

    Build it once for each network, because it probes the network. Prompts form a trie that is read in packs
    (see tree_reads). Paths are read on top of the keys and values of their pack, common beginnings once. If
    the network cannot do this, or an input is beyond its attention window, it is run plainly, with the same
    results.

    Args:
        network: A causal network.
        room: Number of tokens that must fit behind a prompt.
        pack: Tokens that are read together; None chooses a number.
        batch_tokens: The most tokens of a plain batch.
        logits: The most logits at a time, or those of one row.

    Attributes:
        read: Number of tokens that were read.
        tokens: Number of tokens that reading every prompt with every path by itself would take.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        room: int,
        pack: int | None = None,
        batch_tokens: int = 1024,
        logits: int = 2**23,
    ) -> None:
        self.anatomy = dissect(network.eval())
        self.head = self.anatomy.unrounded()
        self.room = room
        # Larger than for scored strings: paths of several prompts fill a product better.
        self.pack = pack or (512 if network.device.type == "cpu" else 2048)
        self.batch_tokens = batch_tokens
        self.read = self.tokens = 0
        self.rows = max(logits // network.get_input_embeddings().weight.shape[0], 1)

    @torch.inference_mode()
    def chunks(self, prompts: Sequence[Sequence[int]]) -> Iterator[Chunk]:
        """Read all prompts (token ids), each in one chunk, similar prompts together.

        Raises:
            FiglangError: If a prompt is empty, or leaves no `room` in the network's window.
        """
        window = positions(self.anatomy.network.config)
        for number, ids in enumerate(prompts):
            if not ids:
                raise FiglangError(f"prompt {number} has no token; give it a text or a bos")
            if window is not None and len(ids) + self.room > window:
                raise FiglangError(
                    f"prompt {number} has {len(ids)} tokens; with {self.room} for the answer, that is "
                    f"more than the {window} that the network reads; use a model with a longer window"
                )
        # A built-in mask has a limited number of keys: a quarter for prompts, the others for what is read
        # after them.
        keys = None if self.anatomy.keys is None else self.anatomy.keys // 4
        reasons = [
            self.anatomy.reason(len(ids) + self.room)
            or (f"longer than {keys} tokens" if keys and len(ids) > keys else None)
            for ids in prompts
        ]
        shared = [number for number, reason in enumerate(reasons) if reason is None]
        alone = [number for number, reason in enumerate(reasons) if reason is not None]
        if alone:
            log.info(
                "%d of %d prompts are read again for every token after them: %s",
                len(alone),
                len(prompts),
                reasons[alone[0]],
            )
        with hastened(self.anatomy.network):
            if shared:
                yield from self._shared(prompts, shared, keys)
            alone.sort(key=lambda number: len(prompts[number]))
            for start in range(0, len(alone), self.rows):
                yield PlainChunk(self, alone[start : start + self.rows], prompts)

    def _shared(
        self, prompts: Sequence[Sequence[int]], numbers: Sequence[int], keys: int | None
    ) -> Iterator[Chunk]:
        # One token is added to each prompt, so that the prompt's last token is read.
        trie = grow([Tokens([*prompts[number], 0], len(prompts[number])) for number in numbers])
        ends = torch.stack([trie.parents[span[0]] for span in trie.spans]).long()
        for read in tree_reads(self.anatomy.body, trie, self.pack, keys, self.anatomy.steady):
            self.read += len(read.pack.nodes)
            members = torch.isin(ends, read.pack.nodes).nonzero()[:, 0]
            if not len(members):
                continue
            places = torch.searchsorted(read.pack.nodes, ends[members])
            depths = trie.depths[ends[members]]
            self.tokens += int((depths + 1).sum())
            visible = trie.visible(read.pack)[places]
            chosen = [numbers[member] for member in members.tolist()]
            for start in range(0, len(chosen), self.rows):
                rows = slice(start, start + self.rows)
                logits_RV = self.head(read.states[places[rows].to(read.states.device)])
                yield TreeChunk(self, chosen[rows], logits_RV, visible[rows], depths[rows], read.cache)


class TreeChunk:
    """Prompts of one pack, whose keys and values are kept.

    `visible` (R, K) says which of them the last token of each prompt sees.
    """

    def __init__(
        self,
        owner: Continuation,
        prompts: list[int],
        logits: Tensor,
        visible: Tensor,
        depths: Tensor,
        cache: DynamicCache,
    ) -> None:
        self.prompts, self.logits = prompts, logits
        self._owner, self._visible, self._depths, self._cache = owner, visible, depths, cache

    @torch.inference_mode()
    def after(self, paths: Sequence[Path]) -> Iterator[Tensor]:
        limit = self._owner.pack
        if self._owner.anatomy.keys is not None:
            limit = min(limit, self._owner.anatomy.keys - self._visible.shape[1])
        part: list[Path] = []
        nodes: dict[Path, int] = {}
        for row, tokens in paths:
            new = [
                (row, tokens[: size + 1])
                for size in range(len(tokens))
                if (row, tokens[: size + 1]) not in nodes
            ]
            if part and (len(nodes) + len(new) > limit or len(part) == self._owner.rows):
                yield self._read(part, nodes)
                part, nodes = [], {}
                new = [(row, tokens[: size + 1]) for size in range(len(tokens))]
            for prefix in new:
                nodes[prefix] = len(nodes)
            part.append((row, tokens))
        if part:
            yield self._read(part, nodes)

    def _read(self, part: list[Path], nodes: dict[Path, int]) -> Tensor:
        held = self._visible.shape[1]
        rows = torch.tensor([row for row, _ in nodes])
        sizes = torch.tensor([len(tokens) for _, tokens in nodes])
        visible_WK = pad(self._visible[rows], (0, len(nodes)))
        pairs = [
            (place, nodes[row, path[: size + 1]])
            for (row, path), place in nodes.items()
            for size in range(len(path))
        ]
        places, above = torch.tensor(pairs).unbind(1)
        visible_WK[places, held + above] = True
        last = torch.tensor([tokens[-1] for _, tokens in nodes])
        anatomy = self._owner.anatomy
        depths = self._depths[rows] + sizes
        states_WH = read_tree(anatomy.body, last, depths, visible_WK, self._cache, steady=anatomy.steady)
        self._cache.crop(-len(nodes))
        self._owner.read += len(nodes)
        self._owner.tokens += sum(int(self._depths[row]) + 1 + len(path) for row, path in part)
        return self._owner.head(states_WH[[nodes[path] for path in part]])


class PlainChunk:
    """Prompts of a network that must read a prompt again for every token after it."""

    def __init__(self, owner: Continuation, prompts: list[int], ids: Sequence[Sequence[int]]) -> None:
        self.prompts = prompts
        self._owner = owner
        self._ids = [list(ids[number]) for number in prompts]
        self.logits = torch.cat(list(self._run(self._ids)))

    @torch.inference_mode()
    def after(self, paths: Sequence[Path]) -> Iterator[Tensor]:
        yield from self._run([[*self._ids[row], *tokens] for row, tokens in paths])

    def _run(self, rows: list[list[int]]) -> Iterator[Tensor]:
        anatomy = self._owner.anatomy
        self._owner.read += sum(map(len, rows))
        self._owner.tokens += sum(map(len, rows))
        width = max(map(len, rows))
        size = max(self._owner.batch_tokens // width, 1)
        if anatomy.not_split:  # the network gives logits of every place
            size = max(min(size, self._owner.rows // width), 1)
        if anatomy.by_length is not None and width > anatomy.by_length:
            size = 1  # alone, because longer neighbours in a batch would change its rotary frequencies
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            network = anatomy.network if anatomy.not_split else anatomy.body
            outputs_NTH = padded(network, [torch.tensor(row) for row in batch])[0]
            last = torch.tensor([len(row) - 1 for row in batch], device=outputs_NTH.device)
            states_NH = outputs_NTH[torch.arange(len(batch), device=outputs_NTH.device), last]
            yield states_NH.float() if anatomy.not_split else self._owner.head(states_NH)

"""The vocabulary matrix, applied only where a token is scored, slice by slice and within a budget.

Shape letters: R rows, H hidden size, V vocabulary, C tokens of a slice of it, B slices, S scored tokens.
"""

from collections.abc import Callable, Iterable, Sequence
from math import ceil, e, log2

import torch
from torch import Tensor

from figlang.errors import FiglangError
from figlang.scoring.tree.trie import Trie

Head = Callable[[Tensor], Tensor]
Exact = Callable[[Tensor, Tensor], Tensor]
LOG2_E = log2(e)
# Rows at a time. This is enough for any product. With slices of 8,192 tokens it is 16 MB of logits, which
# figlang.cpu.memory can keep.
ROWS = 512
WAITING = 16  # times as many rows wait, so that the last product of them has about as many as the others
CACHED = 2**19  # logits that a CPU turns into probabilities together: 2 MB, about what its caches hold


class Vocabulary:
    """Collects states of nodes and computes the log-probabilities of their scored children.

    At most `budget` logits exist at a time (or one row). States wait until they are enough for some products,
    or as many values, and those of one `add` more, or until `finish`: a product with few rows costs as much
    as one with many.

    Args:
        trie: The trie.
        heads: Functions from states (R, H) to logits (R, C), one for each slice of the vocabulary, in order.
            Without heads, `add` gets logits (R, V) instead of states.
        exact: Gives the logit (R,) of one token for each state in float32, because logits may be rounded: a
            bf16 logit of 20 is off by up to 0.06. It gets its states in parts of about `budget` values. None
            if logits are not rounded.
        budget: See above.

    Attributes:
        values: Log-probabilities (in nats) of the trie's nodes, in float32 on the CPU; nan where none is
            needed or known yet.

    Raises:
        FiglangError: From `add` and `finish`, if the heads do not know a token that is to be scored.
    """

    def __init__(self, trie: Trie, heads: Sequence[Head], exact: Exact | None, budget: int) -> None:
        self._trie = trie
        self._heads = heads
        self._exact = exact
        self._budget = budget
        self._rows = 0  # rows at a time; known with the first logits
        self._nodes: list[Tensor] = []
        self._states: list[Tensor] = []
        self.values = torch.full((len(trie.tokens),), torch.nan)

    def add(self, nodes: Tensor, states_RH: Tensor) -> None:
        """Take states of any nodes, each node once. Nodes that predict no scored token are ignored."""
        wanted = self._trie.counts[nodes] > 0
        if not wanted.any():
            return
        nodes, states_RH = nodes[wanted], states_RH[wanted.to(states_RH.device)]
        if not self._heads:
            self._write(nodes, None, [states_RH])
            return
        if not self._rows:
            self._rows = min(max(self._budget // self._heads[0](states_RH[:1]).shape[-1], 1), ROWS)
        self._nodes.append(nodes)
        self._states.append(states_RH)
        waiting = sum(map(len, self._nodes))
        if waiting >= WAITING * self._rows or waiting * states_RH.shape[-1] >= self._budget:
            self.finish()

    def finish(self) -> None:
        """Turn the states that still wait into values."""
        if not self._nodes:
            return
        nodes, states_RH = torch.cat(self._nodes), torch.cat(self._states)
        self._nodes, self._states = [], []
        parts = ceil(len(nodes) / self._rows)
        for members, states in zip(nodes.chunk(parts), states_RH.chunk(parts), strict=True):
            self._write(members, states, (head(states) for head in self._heads))

    def _write(self, nodes: Tensor, states_RH: Tensor | None, slices: Iterable[Tensor]) -> None:
        counts = self._trie.counts[nodes]
        rows_S = torch.arange(len(nodes)).repeat_interleave(counts)
        # The scored children of row r stand together, from firsts[node] on.
        places = torch.arange(len(rows_S)) - (counts.cumsum(0) - counts - self._trie.firsts[nodes])[rows_S]
        children = self._trie.scored[places]
        tokens_S = self._trie.tokens[children]
        chosen_S = torch.empty(len(rows_S))
        first, parts = 0, []
        for logits_RC in slices:
            width = logits_RC.shape[-1]
            here = ((tokens_S >= first) & (tokens_S < first + width)).nonzero()[:, 0]
            chosen_S[here] = logits_RC[rows_S[here], tokens_S[here] - first].float().cpu()
            likeliest_R, tops_R, sums_R = (values.cpu() for values in _powers(logits_RC))
            parts.append((likeliest_R + first, tops_R, sums_R))
            first += width
            del logits_RC  # before the next logits are made
        if len(tokens_S) and int(tokens_S.max()) >= first:
            wrong = f"token {int(tokens_S.max())} is none of the {first} that the network predicts"
            raise FiglangError(f"{wrong}; use the tokenizer that it was trained with")
        likeliest_RB, tops_RB, sums_RB = (torch.stack(values, 1) for values in zip(*parts, strict=True))
        tops_R, slices_R = tops_RB.max(-1)
        sums_R = (sums_RB * _power(tops_RB - tops_R[:, None])).sum(-1)
        if self._exact is not None and states_RH is not None:
            # The likeliest token too: if it has nearly all the probability, its rounding affects all the
            # others.
            likeliest_R = likeliest_RB.gather(1, slices_R[:, None])[:, 0]
            rows, tokens = torch.cat([rows_S, torch.arange(len(nodes))]), torch.cat([tokens_S, likeliest_R])
            exact, rounded = self._unrounded(states_RH, rows, tokens), torch.cat([chosen_S, tops_R])
            new, old = _power(exact - tops_R[rows]), _power(rounded - tops_R[rows])
            twice = len(rows_S) + rows_S[tokens_S == likeliest_R[rows_S]]
            new[twice] = old[twice] = 0
            # If logits are so large that a single rounded one is more than the whole sum, nothing would be
            # left of the others.
            least_R = torch.zeros_like(sums_R).index_add(0, rows, new)
            chosen_S, sums_R = (
                exact[: len(rows_S)],
                torch.maximum(sums_R.index_add(0, rows, new - old), least_R),
            )
        self.values[children] = chosen_S - tops_R[rows_S] - sums_R.log()[rows_S]

    def _unrounded(self, states_RH: Tensor, rows_S: Tensor, tokens_S: Tensor) -> Tensor:
        """Exact logits (S,) of tokens for some rows of the states."""
        assert self._exact is not None
        # A context may have as many continuations as there are tokens, so their states count for the budget.
        parts = ceil(len(rows_S) * states_RH.shape[-1] / self._budget)
        chunks = zip(rows_S.chunk(parts), tokens_S.chunk(parts), strict=True)
        return torch.cat([self._exact(states_RH[rows], tokens).cpu() for rows, tokens in chunks])


def _power(values: Tensor) -> Tensor:
    """e to the power of these values, in place."""
    # With exp, all of this takes twice as long on a CPU. log_softmax is as fast, but several times less
    # exact.
    return values.mul_(LOG2_E).exp2_()


def _powers(logits_RC: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The place (R,) of each row's largest logit, its value in float32, and the sum of e ** (logit - value).

    Float32 logits are overwritten, because another tensor of their size would cost as much as the arithmetic.
    """
    parts = []
    on_cpu = logits_RC.device.type == "cpu"
    for rows in torch.split(logits_RC, max(CACHED // logits_RC.shape[-1], 1) if on_cpu else len(logits_RC)):
        values = rows.float()
        places = largest(values)
        # Minus infinity minus itself is not a number, and a slice may hold only tokens that are never
        # generated.
        tops = values.gather(1, places[:, None]).clamp_(min=torch.finfo(values.dtype).min)
        parts.append((places, tops[:, 0], _power(values.sub_(tops)).sum(-1)))
    places_R, tops_R, sums_R = (torch.cat(values) for values in zip(*parts, strict=True))
    return places_R, tops_R, sums_R


def largest(values_RV: Tensor, width: int = 128) -> Tensor:
    """The place (R,) of each row's largest value, like argmax; of equal values any one.

    It searches only the block of `width` values whose maximum is the largest. On a CPU, argmax is five times
    as slow as amax.
    """
    size = values_RV.shape[-1]
    width = min(width, size)
    starts = [
        *range(0, size - width + 1, width),
        size - width,
    ]  # the last block may overlap with the one before it
    tops_RB = torch.cat(
        [values_RV.unfold(1, width, width).amax(-1), values_RV[:, -width:].amax(-1, keepdim=True)], 1
    )
    start_R = torch.tensor(starts, device=values_RV.device)[tops_RB.argmax(-1)]
    places_RW = start_R[:, None] + torch.arange(width, device=values_RV.device)
    return start_R + values_RV.gather(1, places_RW).argmax(-1)

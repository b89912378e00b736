"""The vocabulary matrix, applied only where a token is scored and never to more rows than a budget allows.

Shape letters: R rows, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from math import ceil, e, log2

import torch
from torch import Tensor

from figlang.scoring.trie import Trie

Head = Callable[[Tensor], Tensor]
Exact = Callable[[Tensor, Tensor], Tensor]
LOG2_E = log2(e)
CACHED = 32  # rows whose logits a CPU makes probabilities of together: as many as its caches hold


class Vocabulary:
    """Collects states of nodes and turns them into the log-probabilities of their scored children.

    `head` makes logits (R, V) of states (R, H); None means that what is added are logits already. At most `budget` logits
    exist at a time (or one row). States wait until they are as many values, and those of one `add` more, or for `finish`: a
    product with few rows costs as much as one with many, and one that all threads compute together reads the matrix once.
    `exact`, if given, makes the logit (R,) of one token per state anew in float32, for logits that are rounded: a bf16 logit
    of 20 is off by up to 0.06. It gets its states in parts of about as many values.

    `values` (nodes of the trie,) are the log-probabilities in float32 on the CPU; nan where none was asked for, or is known yet.
    """

    def __init__(self, trie: Trie, head: Head | None, exact: Exact | None, budget: int) -> None:
        self._trie = trie
        self._head = head
        self._exact = exact
        self._budget = budget
        self._rows = 0  # rows that fill the budget; known with the first logits
        self._nodes: list[Tensor] = []
        self._states: list[Tensor] = []
        self.values = torch.full((len(trie.tokens),), torch.nan)

    def add(self, nodes: Tensor, states_RH: Tensor) -> None:
        """States of any nodes, each node once; those that predict no scored token are dropped."""
        wanted = self._trie.counts[nodes] > 0
        if not wanted.any():
            return
        nodes, states_RH = nodes[wanted], states_RH[wanted.to(states_RH.device)]
        if self._head is None:
            self._write(nodes, None, states_RH)
            return
        if not self._rows:
            self._rows = max(self._budget // self._head(states_RH[:1]).shape[-1], 1)
        self._nodes.append(nodes)
        self._states.append(states_RH)
        if sum(map(Tensor.numel, self._states)) >= self._budget:
            self._empty(self._head)

    def finish(self) -> None:
        """Turn the states that still wait into values."""
        if self._head is not None and self._nodes:
            self._empty(self._head)

    def _empty(self, head: Head) -> None:
        nodes, states_RH = torch.cat(self._nodes), torch.cat(self._states)
        self._nodes, self._states = [], []
        parts = ceil(len(nodes) / self._rows)
        for some, states in zip(nodes.chunk(parts), states_RH.chunk(parts), strict=True):
            self._write(some, states, head(states))

    def _write(self, nodes: Tensor, states_RH: Tensor | None, logits_RV: Tensor) -> None:
        size = CACHED if logits_RV.device.type == "cpu" else len(nodes)
        for start in range(0, len(nodes), size):
            some = slice(start, start + size)
            self._write_part(nodes[some], None if states_RH is None else states_RH[some], logits_RV[some])

    def _write_part(self, nodes: Tensor, states_RH: Tensor | None, logits_RV: Tensor) -> None:
        logits_RV = logits_RV.float()
        counts = self._trie.counts[nodes]
        rows = torch.arange(len(nodes)).repeat_interleave(counts)
        # The scored children of row r stand in a row from firsts[node]: count up from there.
        places = torch.arange(len(rows)) - (counts.cumsum(0) - counts - self._trie.firsts[nodes])[rows]
        children = self._trie.scored[places]
        tokens = self._trie.tokens[children]
        if self._exact is None or states_RH is None:
            tops_R1 = logits_RV.amax(-1, keepdim=True)
        else:
            # The likeliest token too: where it has nearly all the probability, its rounding is everybody's.
            likeliest_R = largest(logits_RV)
            chosen_rows, chosen_tokens = torch.cat([torch.arange(len(nodes)), rows]), torch.cat([likeliest_R.cpu(), tokens])
            # A context may have as many continuations as there are tokens: their states are of the budget too.
            parts = ceil(len(chosen_rows) * states_RH.shape[-1] / self._budget)
            for some, these in zip(chosen_rows.chunk(parts), chosen_tokens.chunk(parts), strict=True):
                logits_RV[some, these] = self._exact(states_RH[some], these).to(logits_RV.device)
            tops_R1 = logits_RV.gather(1, likeliest_R[:, None])  # up to rounding, which is all that powers need
        # In place, since another tensor of this size costs as much as the arithmetic. By exp2: with exp all of this takes twice as
        # long on a CPU, and log_softmax, which does not, is several times as far off.
        logits_RV -= tops_R1
        chosen = logits_RV[rows, tokens]
        self.values[children] = (chosen - logits_RV.mul_(LOG2_E).exp2_().sum(-1).log()[rows]).cpu()


def largest(values_RV: Tensor, width: int = 128) -> Tensor:
    """Where (R,) each row is largest: argmax, and of equals any one.

    Searches only the block of `width` values whose maximum says that it is there: argmax is five times as slow as amax on a CPU.
    """
    size = values_RV.shape[-1]
    width = min(width, size)
    starts = [*range(0, size - width + 1, width), size - width]  # the last block may overlap the one before it
    tops_RB = torch.cat([values_RV.unfold(1, width, width).amax(-1), values_RV[:, -width:].amax(-1, keepdim=True)], 1)
    start_R = torch.tensor(starts, device=values_RV.device)[tops_RB.argmax(-1)]
    places_RW = start_R[:, None] + torch.arange(width, device=values_RV.device)
    return start_R + values_RV.gather(1, places_RW).argmax(-1)

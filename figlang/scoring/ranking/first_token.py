"""Ranks of human answers at a blank, by the rank of the token that the model begins them with (MUNCH: Tong et
al. 2024, §7.2).

The vocabulary is ranked at the blank; a token whose text begins an answer is completed greedily into a word;
a word that is an answer gives it the rank of its first token.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import torch
from rich.progress import Progress, TimeElapsedColumn
from torch import Tensor

from figlang.errors import NonFiniteError
from figlang.scoring.ranking.words import JOINERS, REPLACEMENT, Comparison, TokenTexts, leading_word
from figlang.scoring.tree.continuing import Chunk, Continuation

SHOWN = 5  # likeliest tokens that are kept for the reader; as many as the paper's API gave


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was found at one blank: the rank (from 1) of every answer in its order, None of those that no
    token led to; the word that the model itself writes; and what it ranks highest."""

    ranks: tuple[int | None, ...]
    written: str
    top: tuple[str, ...]


@dataclass
class _Completion:
    """A first token of this rank on its way to a word that might be one of `answers` (as they are
    compared)."""

    rank: int
    answers: frozenset[str]
    tokens: tuple[int, ...]
    wanted: bool = False  # whatever it becomes


@dataclass
class _Blank:
    """Where the search for the answers to one prompt is. `waiting` has the likeliest candidate last."""

    best: dict[str, float]
    waiting: list[_Completion]
    active: list[_Completion] = field(default_factory=list)
    written: str = ""

    def needs(self, one: _Completion) -> bool:
        return one.wanted or any(self.best[answer] > one.rank for answer in one.answers)

    def start(self, count: int) -> Iterator[_Completion]:
        """The next `count` candidates that could still better an answer's rank."""
        while self.waiting and count:
            if self.needs(one := self.waiting.pop()):
                yield one
                count -= 1


class FirstTokenRanker:
    """Ranks answers with a causal network.

    A token's rank is the number of tokens that are at least as likely, itself included: a tie does not help.
    Every token whose text begins an answer counts, up to `max_rank`; of several that lead to an answer the
    best one does. One first token becomes one word, so that answers with the same beginning are seldom all
    ranked. A completion takes `max_tokens` tokens at most and ends before white space, punctuation, a
    quotation mark or a special token (see leading_word).

    Candidates are completed in the order of their ranks, more in every round, and only while they could
    better a rank: the ranks are those of completing them all.
    """

    def __init__(
        self,
        continuation: Continuation,
        texts: TokenTexts,
        comparison: Comparison | None = None,
        max_rank: int | None = None,
        max_tokens: int = 8,
    ) -> None:
        self._continuation = continuation
        self._texts = texts
        self._comparison = comparison or Comparison()
        self._beginnings = texts.beginnings(self._comparison)
        self._max_rank = max_rank or inf
        self._max_tokens = max_tokens

    def rank(
        self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[str]], progress: bool = False
    ) -> list[Ranked]:
        """For every prompt (token ids that end where the answer begins) the ranks of its answers.

        Raises FiglangError for a prompt that the network cannot read, see Continuation.chunks, and
        NonFiniteError for one after which its scores are not numbers.
        """
        found: dict[int, Ranked] = {}
        with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), disable=not progress) as bar:
            task = bar.add_task("ranking", total=len(prompts))
            for chunk in self._continuation.chunks(prompts):
                found.update(self._search(chunk, [answers[number] for number in chunk.prompts]))
                bar.advance(task, len(chunk.prompts))
        return [found[number] for number in range(len(prompts))]

    def _search(self, chunk: Chunk, answers: Sequence[Sequence[str]]) -> Mapping[int, Ranked]:
        ascending_RV = chunk.logits.sort(-1).values
        # A network masks tokens by minus infinity; a diverged one has no numbers.
        if bad := [
            row
            for row, logits_V in enumerate(chunk.logits)
            if logits_V.isnan().any() or not logits_V.isfinite().any()
        ]:
            raise NonFiniteError("the network's next-token scores are not numbers", chunk.prompts[bad[0]])
        blanks = [
            self._blank(logits_V, ascending_V, some)
            for logits_V, ascending_V, some in zip(chunk.logits, ascending_RV, answers, strict=True)
        ]
        count = 1
        while True:
            for blank in blanks:
                for one in blank.start(count * len(blank.best)):
                    self._move(blank, one)
            moving = [(row, one) for row, blank in enumerate(blanks) for one in blank.active]
            if not moving:
                break
            paths = [(row, one.tokens) for row, one in moving]
            following = torch.cat([logits_WV.argmax(-1) for logits_WV in chunk.after(paths)]).tolist()
            for blank in blanks:
                blank.active = []
            for (row, one), token in zip(moving, following, strict=True):
                one.tokens = (*one.tokens, token)
                self._move(blanks[row], one)
            count *= 2
        tops = chunk.logits.topk(min(SHOWN, chunk.logits.shape[-1])).indices.tolist()
        return {
            number: Ranked(
                tuple(_rank(blank.best[self._comparison.key(answer)]) for answer in some),
                blank.written,
                tuple(self._texts.of([token]) for token in top),
            )
            for number, blank, some, top in zip(chunk.prompts, blanks, answers, tops, strict=True)
        }

    def _blank(self, logits_V: Tensor, ascending_V: Tensor, answers: Sequence[str]) -> _Blank:
        keys = list(dict.fromkeys(map(self._comparison.key, answers)))
        blank = _Blank(dict.fromkeys(keys, inf), [])
        begun: dict[int, set[str]] = {}
        for key in keys:
            for size in range(1, len(key) + 1):
                for token in self._beginnings.get(key[:size], ()):
                    begun.setdefault(token, set()).add(key)
        first = int(logits_V.argmax())
        tokens = torch.tensor([*begun, first], device=logits_V.device)
        below = torch.searchsorted(ascending_V, logits_V[tokens].contiguous())
        *ranks, highest = (len(ascending_V) - below).tolist()
        found = [
            _Completion(rank, frozenset(some), (token,))
            for (token, some), rank in zip(begun.items(), ranks, strict=True)
            if token != first and rank <= self._max_rank
        ]
        blank.waiting = sorted(found, key=lambda one: -one.rank)
        own = frozenset(begun.get(first, ())) if highest <= self._max_rank else frozenset()
        self._move(blank, _Completion(highest, own, (first,), wanted=True))
        return blank

    def _move(self, blank: _Blank, one: _Completion) -> None:
        """Settle what its tokens tell already, or have it read on."""
        text = self._texts.of(one.tokens)
        word, ended = leading_word(text)
        if ended or one.tokens[-1] in self._texts.special or len(one.tokens) == self._max_tokens:
            self._finish(blank, one, word)
            return
        # What a hyphen or part of a character at the end will turn out to be is not known yet.
        so_far = self._comparison.key(word.rstrip(JOINERS + REPLACEMENT))
        one.answers = frozenset(answer for answer in one.answers if answer.startswith(so_far))
        if blank.needs(one):
            blank.active.append(one)

    def _finish(self, blank: _Blank, one: _Completion, word: str) -> None:
        key = self._comparison.key(word)
        if key in one.answers:
            blank.best[key] = min(blank.best[key], one.rank)
        if one.wanted:
            blank.written = word


def _rank(found: float) -> int | None:
    return None if found == inf else int(found)

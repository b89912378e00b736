"""Ranks of human answers at a blank, by the rank of their first token (Tong et al. 2024, §7.2).

The vocabulary is ranked at the blank. A token whose text begins an answer is completed greedily into a word.
A word that is an answer gives it the rank of its first token.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import torch
from torch import Tensor

from figlang.errors import NonFiniteError
from figlang.machine import bars
from figlang.scoring.ranking.words import JOINERS, REPLACEMENT, Comparison, TokenTexts, leading_word
from figlang.scoring.tree.continuing import Chunk, Continuation

SHOWN = 5  # number of likeliest tokens that are kept to be shown; as many as the paper's API gave


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result at one blank.

    Attributes:
        ranks: Rank of every answer in its order, from 1; None if no token led to it.
        written: The word that the model itself writes.
        top: What the model ranks highest.
    """

    ranks: tuple[int | None, ...]
    written: str
    top: tuple[str, ...]


@dataclass
class _Completion:
    """A first token of this rank, and its completion so far. It might become one of `answers` (in compared
    form)."""

    rank: int
    answers: frozenset[str]
    tokens: tuple[int, ...]
    wanted: bool = False  # complete it even if it begins no answer


@dataclass
class _Blank:
    """The state of the search at one blank. The likeliest candidate is the last of `waiting`."""

    best: dict[str, float]
    waiting: list[_Completion]
    active: list[_Completion] = field(default_factory=list)
    written: str = ""

    def needs(self, completion: _Completion) -> bool:
        return completion.wanted or any(self.best[answer] > completion.rank for answer in completion.answers)

    def start(self, count: int) -> Iterator[_Completion]:
        """The next `count` candidates that could still improve the rank of an answer."""
        while self.waiting and count:
            if self.needs(completion := self.waiting.pop()):
                yield completion
                count -= 1


class FirstTokenRanker:
    """Ranks answers with a causal network.

    The rank of a token is the number of tokens that are at least as likely, itself included: a tie does not
    help. Every token whose text begins an answer counts, up to `max_rank`. If several lead to an answer, the
    best one counts. One first token becomes one word, so answers with the same beginning are seldom all
    ranked. A completion ends before white space, punctuation, a quotation mark or a special token (see
    leading_word).

    Candidates are completed in the order of their ranks, more in every round, and only while they could
    improve a rank. The ranks are those of completing all candidates.

    Args:
        continuation: The network.
        texts: The texts of its tokens.
        comparison: When a text is an answer.
        max_rank: Lower ranks do not count; None for no limit.
        max_tokens: The most tokens of a completion.
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
        """Rank the answers after every prompt.

        Args:
            prompts: Token ids that end where the answer begins.
            answers: The answers of each prompt.
            progress: Show a bar.

        Raises:
            FiglangError: If the network cannot read a prompt (see Continuation.chunks).
            NonFiniteError: If its scores after a prompt are not numbers.
        """
        ranked: dict[int, Ranked] = {}
        with bars.progress(progress) as bar:
            task = bar.add_task("ranking", total=len(prompts))
            for chunk in self._continuation.chunks(prompts):
                ranked.update(self._search(chunk, [answers[number] for number in chunk.prompts]))
                bar.advance(task, len(chunk.prompts))
        return [ranked[number] for number in range(len(prompts))]

    def _search(self, chunk: Chunk, answers: Sequence[Sequence[str]]) -> Mapping[int, Ranked]:
        ascending_RV = chunk.logits.sort(-1).values
        # A network masks tokens by minus infinity. A diverged network has no numbers.
        if bad := [
            row
            for row, logits_V in enumerate(chunk.logits)
            if logits_V.isnan().any() or not logits_V.isfinite().any()
        ]:
            raise NonFiniteError("the network's next-token scores are not numbers", chunk.prompts[bad[0]])
        blanks = [
            self._blank(logits_V, ascending_V, answers_of)
            for logits_V, ascending_V, answers_of in zip(chunk.logits, ascending_RV, answers, strict=True)
        ]
        count = 1
        while True:
            for blank in blanks:
                for completion in blank.start(count * len(blank.best)):
                    self._move(blank, completion)
            moving = [(row, completion) for row, blank in enumerate(blanks) for completion in blank.active]
            if not moving:
                break
            paths = [(row, completion.tokens) for row, completion in moving]
            following = torch.cat([logits_WV.argmax(-1) for logits_WV in chunk.after(paths)]).tolist()
            for blank in blanks:
                blank.active = []
            for (row, completion), token in zip(moving, following, strict=True):
                completion.tokens = (*completion.tokens, token)
                self._move(blanks[row], completion)
            count *= 2
        tops = chunk.logits.topk(min(SHOWN, chunk.logits.shape[-1])).indices.tolist()
        return {
            number: Ranked(
                tuple(_rank(blank.best[self._comparison.key(answer)]) for answer in answers_of),
                blank.written,
                tuple(self._texts.of([token]) for token in top),
            )
            for number, blank, answers_of, top in zip(chunk.prompts, blanks, answers, tops, strict=True)
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
        completions = [
            _Completion(rank, frozenset(begun_by_token), (token,))
            for (token, begun_by_token), rank in zip(begun.items(), ranks, strict=True)
            if token != first and rank <= self._max_rank
        ]
        blank.waiting = sorted(completions, key=lambda completion: -completion.rank)
        own = frozenset(begun.get(first, ())) if highest <= self._max_rank else frozenset()
        self._move(blank, _Completion(highest, own, (first,), wanted=True))
        return blank

    def _move(self, blank: _Blank, completion: _Completion) -> None:
        """Settle a completion if its tokens decide it, or let it be read on."""
        text = self._texts.of(completion.tokens)
        word, ended = leading_word(text)
        if (
            ended
            or completion.tokens[-1] in self._texts.special
            or len(completion.tokens) == self._max_tokens
        ):
            self._finish(blank, completion, word)
            return
        # It is not known yet what follows a hyphen or a part of a character at the end.
        so_far = self._comparison.key(word.rstrip(JOINERS + REPLACEMENT))
        completion.answers = frozenset(answer for answer in completion.answers if answer.startswith(so_far))
        if blank.needs(completion):
            blank.active.append(completion)

    def _finish(self, blank: _Blank, completion: _Completion, word: str) -> None:
        key = self._comparison.key(word)
        if key in completion.answers:
            blank.best[key] = min(blank.best[key], completion.rank)
        if completion.wanted:
            blank.written = word


def _rank(best: float) -> int | None:
    return None if best == inf else int(best)

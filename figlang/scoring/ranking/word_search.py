"""Ranks of human answers among candidate words at a blank, by the probability of the whole word.

A beginning of a word is at least as likely as the word. So beginnings that are less likely than the least
likely answer are not read on. The ranks are those of reading every candidate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Protocol

from figlang.errors import NonFiniteError
from figlang.machine import bars
from figlang.scoring.ranking.first_token import SHOWN, Ranked
from figlang.types import Blank


@dataclass(eq=False)
class Node:
    """A beginning of words.

    Attributes:
        tokens: Its tokens.
        length: Number of tokens of these words; 0 if that does not matter.
        children: Longer beginnings by their next token.
        words: Words that end here. The tokenizer does not tell them apart.
    """

    tokens: tuple[int, ...] = ()
    length: int = 0
    children: dict[int, "Node"] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


class Blanks(Protocol):
    """Blanks that are read together, by their numbers."""

    numbers: list[int]

    def log_probs(self, asked: Sequence[tuple[int, Node]]) -> list[list[float]]:
        """The log-probabilities of the tokens of all children.

        Args:
            asked: Places in `numbers`, each with a beginning of a word.
        """


class Reader(Protocol):
    """A language model that reads blanks. With `by_length`, it is told how many tokens a word has."""

    by_length: bool

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of every word at a blank; empty if the model has none for it.

        The token that ends a word is included if the model can go on after a word.
        """

    def blanks(self, blanks: Sequence[Blank]) -> Iterator[Blanks]:
        """Read all blanks, each once, as many at a time as fit."""


class WordRanker:
    """Ranks the answers at blanks among candidate words and the answers themselves.

    The rank of an answer is the number of words that are at least as likely, itself included: a tie does not
    help.

    Args:
        reader: The model.
        candidates: The candidate words.
        answers: The answers at each blank.
        max_rank: Answers beyond this have no rank, so that fewer words have to be read. None for no limit.

    Attributes:
        unknown: Words for which the tokenizer has no tokens, or too many. They are never ranked.
    """

    def __init__(
        self,
        reader: Reader,
        candidates: Sequence[str],
        answers: Sequence[Sequence[str]],
        max_rank: int | None = None,
    ) -> None:
        self._reader = reader
        self._answers = answers
        self._max_rank = max_rank
        listed = dict.fromkeys(candidates)
        words = list(dict.fromkeys([*listed, *(answer for answers_of in answers for answer in answers_of)]))
        self._roots: dict[int, Node] = {}
        self._ends: dict[str, list[Node]] = {}  # the nodes of each word, from its root to its last token
        for word, pieces in zip(words, reader.pieces(words), strict=True):
            if pieces:
                self._ends[word] = self._grow(word, pieces)
        self.unknown = [word for word in words if word not in self._ends]
        self._listed = {self._ends[word][-1] for word in listed if word in self._ends}

    def _grow(self, word: str, pieces: tuple[int, ...]) -> list[Node]:
        length = len(pieces) if self._reader.by_length else 0
        way = [self._roots.setdefault(length, Node(length=length))]
        for size, token in enumerate(pieces, 1):
            way.append(way[-1].children.setdefault(token, Node(pieces[:size], length)))
        way[-1].words.append(word)
        return way

    def rank(self, blanks: Sequence[Blank], progress: bool = False) -> list[Ranked]:
        """The ranks of the answers at every blank, in the order of the answers that the ranker was made with.

        Raises:
            NonFiniteError: If the network's log-probabilities at a blank are not numbers.
        """
        ranked: dict[int, Ranked] = {}
        with bars.progress(progress) as bar:
            task = bar.add_task("ranking", total=len(blanks))
            for together in self._reader.blanks(blanks):
                ranked.update(self._search(together))
                bar.advance(task, len(together.numbers))
        return [ranked[number] for number in range(len(blanks))]

    def _search(self, blanks: Blanks) -> Mapping[int, Ranked]:
        roots = list(self._roots.values())
        searches = []
        for number in blanks.numbers:
            ways = [self._ends.get(answer) for answer in self._answers[number]]
            searches.append(_Search(roots, ways, self._listed, self._max_rank))
        count = 4
        while asked := [
            (row, bound, node) for row, search in enumerate(searches) for bound, node in search.next(count)
        ]:
            values = blanks.log_probs([(row, node) for row, _, node in asked])
            for (row, bound, node), log_probs in zip(asked, values, strict=True):
                if any(map(isnan, log_probs)):
                    raise NonFiniteError(
                        "the network's log-probabilities are not numbers", blanks.numbers[row]
                    )
                searches[row].learn(bound, node, log_probs)
            count *= 2
        return {number: search.ranked() for number, search in zip(blanks.numbers, searches, strict=True)}


class _Search:
    """The words at one blank whose log-probability is known, and the beginnings that may be read next."""

    def __init__(
        self,
        roots: Sequence[Node],
        ways: Sequence[list[Node] | None],
        listed: set[Node],
        max_rank: int | None,
    ) -> None:
        self._answers = [None if way is None else way[-1] for way in ways]
        self._needed = {node for way in ways if way is not None for node in way[:-1]}
        self._counted = listed | {node for node in self._answers if node is not None}
        self._known: dict[Node, float] = {}
        self._open = [(0.0, root) for root in roots]
        self._max_rank = max_rank

    def next(self, count: int) -> list[tuple[float, Node]]:
        """The beginnings to read next.

        They are those of answers, and the likeliest `count` of the others that could matter.
        """
        least = self._least()
        self._open.sort(key=lambda pair: pair[0])
        chosen = [(bound, node) for bound, node in self._open if node in self._needed]
        others = [(bound, node) for bound, node in self._open if node not in self._needed and bound >= least]
        self._open = others[:-count]
        return chosen + others[-count:]

    def learn(self, bound: float, node: Node, log_probs: Sequence[float]) -> None:
        for child, value in zip(node.children.values(), log_probs, strict=True):
            if child in self._counted:
                self._known[child] = bound + value
            if child.children:
                self._open.append((bound + value, child))

    def _least(self) -> float:
        """The lowest log-probability that matters."""
        own = [self._known.get(node, -inf) for node in self._answers if node is not None]
        highest = sorted(self._known.values(), reverse=True)
        shown = highest[SHOWN - 1] if len(highest) >= SHOWN else -inf
        beyond = highest[self._max_rank - 1] if self._max_rank and len(highest) >= self._max_rank else -inf
        return min(shown, max(min(own, default=inf), beyond))

    def ranked(self) -> Ranked:
        ranks = tuple(None if node is None else self._rank(self._known[node]) for node in self._answers)
        top = sorted(self._known, key=lambda node: -self._known[node])[:SHOWN]
        return Ranked(ranks, top[0].words[0] if top else "", tuple(node.words[0] for node in top))

    def _rank(self, value: float) -> int | None:
        rank = sum(other >= value for other in self._known.values())
        return rank if self._max_rank is None or rank <= self._max_rank else None

"""Measurements of the strings of items, in flat arrays: an item takes a few hundred bytes."""

from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from figlang.config.groups.scoring import NORMS
from figlang.scoring.flat import Rows
from figlang.types import Item


class RefusedError(Exception):
    """A string that an endpoint's content filter refused to read has no score."""


class LogProb(NamedTuple):
    """The summed natural log-probability of a text, and how many tokens and UTF-8 bytes the text has.

    If an endpoint refused to read the text, `tokens` is 0.
    """

    total: float
    tokens: int
    bytes: int

    def normalised(self, norm: str) -> float:
        """The value by a norm of NORMS. Raises RefusedError if the text was refused."""
        if not self.tokens:
            raise RefusedError
        return self.total / NORMS[norm](self.tokens, self.bytes)


class LogProbs:
    """A LogProb for each request.

    Args:
        log_probs: The log-probabilities of the tokens of each request.
        sizes: The UTF-8 bytes of the continuation of each.
    """

    def __init__(self, log_probs: Sequence[Tensor], sizes: Sequence[int]) -> None:
        self._totals, self._tokens, self._bytes = array("d"), array("i"), array("i", sizes)
        for values in log_probs:
            self._totals.append(float(values.double().sum()))
            self._tokens.append(len(values))
        assert len(self._totals) == len(self._bytes), "every request was scored"

    def __getitem__(self, place: int) -> LogProb:
        return LogProb(self._totals[place], self._tokens[place], self._bytes[place])


class Worded(NamedTuple):
    """Places of a metaphor with an answer among all requests: as a whole string, and as the answer after all
    that stands before it."""

    whole: int
    answer: int

    def spanned(self, span: str) -> int:
        """The place of the request that `span`, whole or answer, scores."""
        return self.whole if span == "whole" else self.answer


@dataclass(frozen=True, slots=True)
class ItemStrings:
    """Places of an item's requests among all of them.

    Attributes:
        options: Those of its metaphor with each option.
        alone: Those of each option without the metaphor.
        blind: Those of each option with the metaphor hidden; empty if they are not wanted.
        metaphor: That of the metaphor without an option; None if it cannot stand alone.
        backward: Those of each metaphor of the pair with the right option; empty if there is no pair.
    """

    options: tuple[Worded, ...]
    alone: tuple[int, ...]
    blind: tuple[int, ...]
    metaphor: int | None
    backward: tuple[Worded, ...]


class Places:
    """The ItemStrings of all items, each made into an object only when it is asked for."""

    def __init__(self) -> None:
        self._numbers = array("i")
        self._begins = array("q")

    def append(self, strings: ItemStrings) -> None:
        """Add those of the next item."""
        numbers = self._numbers
        self._begins.append(len(numbers))
        numbers.extend((len(strings.options), len(strings.blind), len(strings.backward)))
        numbers.append(-1 if strings.metaphor is None else strings.metaphor)
        for part in (*strings.options, strings.alone, strings.blind, *strings.backward):
            numbers.extend(part)

    def __getitem__(self, place: int) -> ItemStrings:
        begin = self._begins[place]
        options, blind, backward, metaphor = self._numbers[begin : begin + 4]
        first = begin + 4
        alone = first + 2 * options
        last = alone + options + blind
        return ItemStrings(
            self._worded(first, options),
            tuple(self._numbers[alone : alone + options]),
            tuple(self._numbers[alone + options : last]),
            None if metaphor < 0 else metaphor,
            self._worded(last, backward),
        )

    def _worded(self, begin: int, count: int) -> tuple[Worded, ...]:
        numbers = self._numbers
        return tuple(Worded(*numbers[place : place + 2]) for place in range(begin, begin + 2 * count, 2))


def refusal(name: str) -> dict[str, Any]:
    """The row of log_probabilities.jsonl for an item, by its id, if a text of its choice was refused."""
    return {"id": name, "refused": True}


def read(log_probs: Iterable[LogProb]) -> bool:
    """Whether an endpoint refused none of some texts."""
    return all(one.tokens for one in log_probs)


def unseen(blind: Iterable[LogProb]) -> dict[str, Any]:
    """What a row says besides, if one of these texts with the context hidden was refused."""
    return {} if read(blind) else {"refused_blind": True}


class Record(Mapping[str, Any]):
    """A row of log_probabilities.jsonl: the log-probabilities (sum, tokens, bytes) behind an item's scores,
    or that they were refused.

    It reads them from the arrays of all items whenever it is asked. What no choice needs is left out if it
    was refused: the metaphor alone, and the answers alone where the choice does not subtract them.
    """

    __slots__ = ("_log_probs", "_minus_alone", "_name", "_place", "_places")

    def __init__(
        self, name: str, place: int, places: Places, log_probs: LogProbs, minus_alone: bool = False
    ) -> None:
        self._name, self._place, self._places, self._log_probs = name, place, places, log_probs
        self._minus_alone = minus_alone

    def __getitem__(self, name: str) -> Any:
        return self._content()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content())

    def __len__(self) -> int:
        return len(self._content())

    def items(self) -> ItemsView[str, Any]:
        return self._content().items()

    def _content(self) -> dict[str, Any]:
        strings, log_probs = self._places[self._place], self._log_probs
        kinds: dict[str, Any] = {
            "whole": [log_probs[option.whole] for option in strings.options],
            "answer": [log_probs[option.answer] for option in strings.options],
            "answer_alone": [log_probs[place] for place in strings.alone],
        }
        metaphor = None if strings.metaphor is None else log_probs[strings.metaphor]
        hidden = unseen(log_probs[place] for place in strings.blind)
        needed = ("whole", "answer", *(("answer_alone",) if self._minus_alone else ()))
        if not all(read(kinds[kind]) for kind in needed):
            return refusal(self._name) | hidden
        if not read(kinds["answer_alone"]):
            del kinds["answer_alone"]
        return {
            "id": self._name,
            **kinds,
            "metaphor_alone": metaphor if metaphor and metaphor.tokens else None,
            **hidden,
        }


class Records(Rows[Record]):
    """The Record of each item.

    Args:
        items: The items.
        places: The places of their strings.
        log_probs: The log-probabilities of all strings.
        minus_alone: As in Record.
    """

    def __init__(
        self, items: Sequence[Item], places: Places, log_probs: LogProbs, minus_alone: bool = False
    ) -> None:
        self._items, self._places, self._log_probs = items, places, log_probs
        self._minus_alone = minus_alone

    def __len__(self) -> int:
        return len(self._items)

    def row(self, place: int) -> Record:
        return Record(self._items[place].id, place, self._places, self._log_probs, self._minus_alone)

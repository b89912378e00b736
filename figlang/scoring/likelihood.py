"""Choices from log-probabilities, forward and backward: which answer fits the metaphor, which metaphor fits
the answer.

The two directions are those of Liu et al. 2022 (§4.1); the presets in conf/scoring follow their released
scripts, which differ between GPT-2 and GPT-3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from figlang.scoring.requests import Request, Scored, naming
from figlang.scoring.wording import Wording
from figlang.types import Item, Prediction


class RefusedError(Exception):
    """A string that an endpoint's content filter refused to read has no score."""


class LogProb(NamedTuple):
    """Summed natural log-probability, and of how many tokens and UTF-8 bytes; no tokens where an endpoint
    refused to read it."""

    total: float
    tokens: int
    bytes: int

    def normalised(self, norm: str) -> float:
        """The sum, the mean per token or the mean per byte. Raises RefusedError where there is none."""
        if not self.tokens:
            raise RefusedError
        return self.total / {"sum": 1, "mean": self.tokens, "byte": self.bytes}[norm]


def decided(item: Item, scores: Iterator[float]) -> Prediction:
    """The prediction by these scores. If a string of one was refused, all are 0: an invalid answer is a tie,
    and wrong."""
    try:
        return Prediction.of(item, tuple(scores))
    except RefusedError:
        return Prediction.of(item, (0.0,) * len(item.options))


def refusal(item: Item) -> dict[str, Any]:
    """What log_probabilities.jsonl says of an item, a string of which was refused."""
    return {"id": item.id, "refused": True}


@dataclass(frozen=True)
class Directions:
    """Forward predictions of all items; backward ones of the items of a pair whose label is known; `blind`
    ones of all items with the metaphor hidden, None where they were not wanted; what they are made of.

    A backward prediction has its item's id; its options are the metaphors of the pair, in the order of the
    pair. `measured` has, per item, the log-probabilities of every string, so that another preset's
    normalisation or P(y) alone can be had without a model. `read` and `tokens` say what sharing beginnings
    spared, see Scored.
    """

    forward: list[Prediction]
    backward: list[Prediction]
    blind: list[Prediction] | None
    measured: list[dict[str, Any]]
    read: int
    tokens: int


class Scorer(Protocol):
    """Per-token log-probabilities of requests: CausalScorer, or another kind of model that gives them."""

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored: ...


def choose(
    scorer: Scorer,
    items: Sequence[Item],
    wording: Wording,
    shown: Mapping[str, str] | None = None,
    progress: bool = False,
    blind: bool = True,
) -> Directions:
    """Scores of every item in both directions and, for `blind`, without its metaphor, every distinct string
    read once.

    `shown` are the examples before the strings of an item, by its id; both metaphors of a backward choice get
    those of the item.

    Raises FiglangError that names the item and the text that cannot be scored.
    """
    strings = Strings(wording)
    before = dict.fromkeys((item.id for item in items), "") if shown is None else shown
    # Without the metaphor in the strings there is nothing to choose backward.
    partners = partners_of(items) if wording.has_context else {}
    owners: list[str] = []
    for item in items:
        for option in item.options:
            strings.ask(before[item.id], item.context, option)
            strings.alone(before[item.id], option)
            if blind:
                strings.ask_blind(before[item.id], option)
        if _stands_alone(item):
            strings.alone(before[item.id], item.context)
        if item.gold is not None:
            for partner in partners.get(item.id, ()):
                strings.ask(before[item.id], partner.context, item.options[item.gold])
        owners += [item.id] * (len(strings.requests) - len(owners))
    with naming(owners):
        scored = scorer.score(strings.requests, progress)
    strings.answer(scored)
    forward, backward, unseen = [], [], []
    for item in items:
        text = before[item.id]
        forward.append(
            decided(item, (strings.forward(text, item.context, option) for option in item.options))
        )
        if blind:
            unseen.append(decided(item, (strings.blind(text, option) for option in item.options)))
        pair = partners.get(item.id, ())
        if item.gold is not None and pair:
            own, answer = [member.id for member in pair].index(item.id), item.options[item.gold]
            posed = replace(item, gold=own, options=tuple(member.context for member in pair))
            backward.append(
                decided(posed, (strings.backward(text, member.context, answer) for member in pair))
            )
    measured = [strings.record(before[item.id], item) for item in items]
    return Directions(forward, backward, unseen if blind else None, measured, scored.read, scored.tokens)


def partners_of(items: Sequence[Item]) -> dict[str, tuple[Item, ...]]:
    """The two items of its Winograd pair, in order, for the id of every item that has a partner to be told
    from.

    A sentence cut at its blank has none, since the pair often differs behind the blank only; nor have items
    of a group that is no pair.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        if item.paired and not item.cut:
            groups.setdefault(item.group, []).append(item)
    return {item.id: tuple(members) for members in groups.values() if len(members) == 2 for item in members}


def _stands_alone(item: Item) -> bool:
    # What stands before a blank is no sentence, and may be a single token, which without a bos has no
    # probability.
    return bool(item.context) and not item.cut


class Strings:
    """The strings of a wording, each asked for once, and their log-probabilities."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording
        self.scoring = wording.scoring
        self.requests: list[Request] = []
        self._index: dict[Request, int] = {}
        self._found: list[LogProb] = []

    def ask(self, shown: str, metaphor: str, answer: str) -> None:
        self._add(self.wording.whole(shown, metaphor, answer))
        self._add(self.wording.span(shown, metaphor, answer))

    def alone(self, shown: str, text: str) -> None:
        self._add(self.wording.alone(shown, text))

    def ask_blind(self, shown: str, answer: str) -> None:
        self._add(self.wording.blind(self.scoring.span, shown, answer))

    def _add(self, request: Request) -> None:
        if request not in self._index:
            self._index[request] = len(self.requests)
            self.requests.append(request)

    def answer(self, scored: Scored) -> None:
        """Take in what the scorer found for `requests`."""
        self._found = [
            LogProb(float(values.double().sum()), len(values), len(request.continuation.encode()))
            for request, values in zip(self.requests, scored.log_probs, strict=True)
        ]

    def __getitem__(self, request: Request) -> LogProb:
        return self._found[self._index[request]]

    def _score(self, span: str, shown: str, metaphor: str, answer: str) -> float:
        return self[self.wording.scored(span, shown, metaphor, answer)].normalised(self.scoring.norm)

    def forward(self, shown: str, metaphor: str, answer: str) -> float:
        """How well the answer fits the metaphor, the likelihood of the answer alone taken off if asked
        for."""
        alone = (
            self[self.wording.alone(shown, answer)].normalised(self.scoring.norm)
            if self.scoring.minus_alone
            else 0.0
        )
        return self._score(self.scoring.span, shown, metaphor, answer) - alone

    def backward(self, shown: str, metaphor: str, answer: str) -> float:
        """How well the metaphor fits the answer; the answer alone would be the same for every metaphor."""
        return self._score(self.scoring.backward_span, shown, metaphor, answer)

    def blind(self, shown: str, answer: str) -> float:
        """How likely the answer is with the metaphor hidden. Less that of the answer alone it would be the
        same for all answers."""
        return self[self.wording.blind(self.scoring.span, shown, answer)].normalised(self.scoring.norm)

    def record(self, shown: str, item: Item) -> dict[str, Any]:
        """The log-probabilities (sum, tokens, bytes) behind an item's scores, or that it was refused."""
        wording = self.wording
        found: dict[str, Any] = {
            "whole": [self[wording.whole(shown, item.context, option)] for option in item.options],
            "answer": [self[wording.span(shown, item.context, option)] for option in item.options],
            "answer_alone": [self[wording.alone(shown, option)] for option in item.options],
            "metaphor_alone": self[wording.alone(shown, item.context)] if _stands_alone(item) else None,
        }
        measured = [
            *found["whole"],
            *found["answer"],
            *found["answer_alone"],
            *filter(None, [found["metaphor_alone"]]),
        ]
        return {"id": item.id, **found} if all(one.tokens for one in measured) else refusal(item)

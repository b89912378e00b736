"""Choices from log-probabilities, forward and backward: which answer fits the metaphor, which metaphor fits the answer.

The two directions are those of Liu et al. 2022 (§5.1 and Table 10); the presets in conf/scoring follow their released
scripts, which differ between GPT-2 and GPT-3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from figlang.config import ScoringConfig
from figlang.encode import word
from figlang.scoring.causal import CausalScorer, Scored
from figlang.scoring.requests import Request
from figlang.types import Item, Prediction


class LogProb(NamedTuple):
    """Summed natural log-probability, and of how many tokens and UTF-8 bytes."""

    total: float
    tokens: int
    bytes: int

    def normalised(self, norm: str) -> float:
        """The sum, the mean per token or the mean per byte."""
        return self.total / {"sum": 1, "mean": self.tokens, "byte": self.bytes}[norm]


@dataclass(frozen=True)
class Directions:
    """Forward predictions of all items; backward ones of the items of a pair whose label is known; what they are made of.

    A backward prediction has its item's id; its options are the metaphors of the pair, in the order of the pair.
    `measured` has, per item, the log-probabilities of every string, so that another preset's normalisation or P(y) alone
    can be had without a model.
    """

    forward: list[Prediction]
    backward: list[Prediction]
    measured: list[dict[str, Any]]


def choose(scorer: CausalScorer, items: Sequence[Item], scoring: ScoringConfig, progress: bool = False) -> Directions:
    """Scores of every item in both directions, every distinct string read once.

    Raises FiglangError that names the text that cannot be scored.
    """
    strings = Strings(scoring)
    partners = _partners(items)
    for item in items:
        metaphors = [item.context, *(partner.context for partner in partners.get(item.id, ()))]
        for option in item.options:
            strings.ask(metaphors[0], option)
            strings.alone(option)
        strings.alone(item.context)
        if item.gold is not None:
            for metaphor in metaphors[1:]:
                strings.ask(metaphor, item.options[item.gold])
    strings.answer(scorer.score(strings.requests, progress))
    forward, backward = [], []
    for item in items:
        scores = tuple(strings.forward(item.context, option) for option in item.options)
        forward.append(Prediction(item.id, item.group, item.gold, scores, dict(item.attributes)))
        pair = partners.get(item.id, ())
        if item.gold is not None and pair:
            own = [member.id for member in pair].index(item.id)
            fits = tuple(strings.backward(member.context, item.options[item.gold]) for member in pair)
            backward.append(Prediction(item.id, item.group, own, fits, dict(item.attributes)))
    return Directions(forward, backward, [strings.record(item) for item in items])


def _partners(items: Sequence[Item]) -> dict[str, tuple[Item, ...]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return {item.id: tuple(members) for members in groups.values() if len(members) == 2 for item in members}


class Strings:
    """The strings of a preset, each asked for once, and their log-probabilities."""

    def __init__(self, scoring: ScoringConfig) -> None:
        self.scoring = scoring
        self.requests: list[Request] = []
        self._index: dict[Request, int] = {}
        self._found: list[LogProb] = []

    def whole(self, metaphor: str, answer: str) -> Request:
        """The whole string as continuation of nothing."""
        context, continuation = self.span(metaphor, answer)
        return Request("", context + continuation)

    def span(self, metaphor: str, answer: str) -> Request:
        """The answer as continuation of the metaphor."""
        scoring = self.scoring
        return Request(self._word(metaphor) + scoring.join + scoring.suffix, self._word(answer) + scoring.end)

    def _word(self, text: str) -> str:
        if self.scoring.text == "gpt3":
            return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
        return word(text, self.scoring.text)

    def _alone(self, text: str) -> Request:
        return Request("", self._word(text) + self.scoring.end)

    def ask(self, metaphor: str, answer: str) -> None:
        self._add(self.whole(metaphor, answer))
        self._add(self.span(metaphor, answer))

    def alone(self, text: str) -> None:
        self._add(self._alone(text))

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

    def _score(self, span: str, metaphor: str, answer: str) -> float:
        request = self.whole(metaphor, answer) if span == "whole" else self.span(metaphor, answer)
        return self[request].normalised(self.scoring.norm)

    def forward(self, metaphor: str, answer: str) -> float:
        """How well the answer fits the metaphor, the likelihood of the answer alone taken off if asked for."""
        alone = self[self._alone(answer)].normalised(self.scoring.norm) if self.scoring.minus_alone else 0.0
        return self._score(self.scoring.span, metaphor, answer) - alone

    def backward(self, metaphor: str, answer: str) -> float:
        """How well the metaphor fits the answer; the answer alone would be the same for every metaphor."""
        return self._score(self.scoring.backward_span, metaphor, answer)

    def record(self, item: Item) -> dict[str, Any]:
        """The log-probabilities (sum, tokens, bytes) behind an item's scores."""
        return {
            "id": item.id,
            "whole": [self[self.whole(item.context, option)] for option in item.options],
            "answer": [self[self.span(item.context, option)] for option in item.options],
            "answer_alone": [self[self._alone(option)] for option in item.options],
            "metaphor_alone": self[self._alone(item.context)],
        }

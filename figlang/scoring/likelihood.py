"""Choices from log-probabilities, forward and backward: which answer fits the metaphor, which metaphor fits
the answer.

The two directions are those of Liu et al. 2022 (§4.1); the presets in conf/scoring follow their released
scripts, which differ between GPT-2 and GPT-3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from figlang.config import ScoringConfig
from figlang.scoring.requests import Request, Scored, naming
from figlang.scoring.wording import Wording
from figlang.types import Item, Prediction


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
        """The sum, the mean per token or the mean per byte. Raises RefusedError if the text was refused."""
        if not self.tokens:
            raise RefusedError
        return self.total / {"sum": 1, "mean": self.tokens, "byte": self.bytes}[norm]


def decided(item: Item, scores: Iterator[float]) -> Prediction:
    """Make a prediction of scores.

    If a string was refused, all scores are 0. So the prediction is a tie, which is wrong.
    """
    try:
        return Prediction.of(item, tuple(scores))
    except RefusedError:
        return Prediction.of(item, (0.0,) * len(item.options))


def refusal(item: Item) -> dict[str, Any]:
    """The row of log_probabilities.jsonl for an item with a refused string."""
    return {"id": item.id, "refused": True}


@dataclass(frozen=True)
class Directions:
    """Predictions in both directions, and the log-probabilities from which they are made.

    Attributes:
        forward: A prediction for each item.
        backward: A prediction for each item that has a known label and a partner. It has the id of the item.
            Its options are the metaphors of the pair, in the order of the pair.
        blind: A prediction for each item with the metaphor hidden; None if they are not wanted.
        measured: The log-probabilities of all strings of each item. Scores with another normalisation can be
            computed from them without a model.
        read: See Scored.
        tokens: See Scored.
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
    """Score every item in both directions. Each distinct string is read once.

    Args:
        scorer: The model.
        items: The items.
        wording: How they become strings.
        shown: The examples before the strings of each item, by its id. Both metaphors of a backward choice
            have the examples of the item.
        progress: Show a bar.
        blind: Also score the items with their metaphors hidden.

    Raises:
        FiglangError: A text cannot be scored. The message names the item and the text.
    """
    asked = Strings(wording)
    before = dict.fromkeys((item.id for item in items), "") if shown is None else shown
    # If no string has the metaphor, there is no backward choice.
    partners = partners_of(items) if wording.has_context else {}
    worded = [asked.add(item, before[item.id], partners.get(item.id, ()), blind) for item in items]
    with naming(asked.owners):
        scored = scorer.score(asked.requests, progress)
    log_probs = [
        LogProb(float(values.double().sum()), len(values), len(request.continuation.encode()))
        for request, values in zip(asked.requests, scored.log_probs, strict=True)
    ]
    scores = Scores(wording.scoring, log_probs)
    return Directions(
        [decided(item, scores.forward(strings)) for item, strings in zip(items, worded, strict=True)],
        [
            decided(_posed_backward(item, partners[item.id]), scores.backward(strings))
            for item, strings in zip(items, worded, strict=True)
            if strings.backward
        ],
        [decided(item, scores.blind(strings)) for item, strings in zip(items, worded, strict=True)]
        if blind
        else None,
        [scores.record(item, strings) for item, strings in zip(items, worded, strict=True)],
        scored.read,
        scored.tokens,
    )


def _posed_backward(item: Item, pair: tuple[Item, ...]) -> Item:
    """The backward choice: which metaphor of the pair fits the right option of an item."""
    own = [member.id for member in pair].index(item.id)
    return replace(item, gold=own, options=tuple(member.context for member in pair))


def partners_of(items: Sequence[Item]) -> dict[str, tuple[Item, ...]]:
    """The two items of each Winograd pair, in their order, by the id of each of the two.

    Groups of another size are left out. So are sentences that are cut at a blank, because the two of a pair
    often differ only behind the blank.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        if item.paired and not item.cut:
            groups.setdefault(item.group, []).append(item)
    return {item.id: tuple(members) for members in groups.values() if len(members) == 2 for item in members}


def _stands_alone(item: Item) -> bool:
    # The text before a blank is not a sentence. It may be a single token, and this has no probability
    # without a bos.
    return bool(item.context) and not item.cut


class Worded(NamedTuple):
    """Places of two requests: metaphor and answer as a whole, and the answer after the metaphor."""

    whole: int
    answer: int

    def spanned(self, span: str) -> int:
        """The place of the request for a span, which is `whole` or `answer`."""
        return self.whole if span == "whole" else self.answer


@dataclass(frozen=True)
class ItemStrings:
    """The places of an item's requests among the requests of all items.

    Attributes:
        options: The metaphor with each option.
        alone: Each option without the metaphor.
        blind: Each option with the metaphor hidden; empty if this is not wanted.
        metaphor: The metaphor without an option; None if it cannot stand alone.
        backward: Each metaphor of the pair with the right option; empty if there is no pair.
    """

    options: tuple[Worded, ...]
    alone: tuple[int, ...]
    blind: tuple[int, ...]
    metaphor: int | None
    backward: tuple[Worded, ...]


class Strings:
    """The requests that a wording makes of items, each once, and the id of the first item that needs it."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._places: dict[Request, int] = {}
        self.owners: list[str] = []

    @property
    def requests(self) -> list[Request]:
        return list(self._places)

    def add(self, item: Item, shown: str, pair: tuple[Item, ...], blind: bool) -> ItemStrings:
        """Word an item.

        Args:
            item: The item.
            shown: The examples before its strings.
            pair: The items whose metaphors are chosen from backward; may be empty.
            blind: Whether to word the options with the metaphor hidden too.
        """
        wording, span = self._wording, self._wording.scoring.span
        options, alone, unseen = [], [], []
        for option in item.options:
            options.append(self._worded(item, shown, item.context, option))
            alone.append(self._place(item, wording.alone(shown, option)))
            if blind:
                unseen.append(self._place(item, wording.blind(span, shown, option)))
        metaphor = self._place(item, wording.alone(shown, item.context)) if _stands_alone(item) else None
        backward = (
            ()
            if item.gold is None
            else tuple(self._worded(item, shown, member.context, item.options[item.gold]) for member in pair)
        )
        return ItemStrings(tuple(options), tuple(alone), tuple(unseen), metaphor, backward)

    def _worded(self, item: Item, shown: str, metaphor: str, answer: str) -> Worded:
        whole = self._place(item, self._wording.whole(shown, metaphor, answer))
        return Worded(whole, self._place(item, self._wording.span(shown, metaphor, answer)))

    def _place(self, item: Item, request: Request) -> int:
        if request not in self._places:
            self._places[request] = len(self._places)
            self.owners.append(item.id)
        return self._places[request]


@dataclass(frozen=True)
class Scores:
    """Scores of items from the log-probabilities of all requests."""

    scoring: ScoringConfig
    log_probs: Sequence[LogProb]

    def forward(self, strings: ItemStrings) -> Iterator[float]:
        """How well each option fits the metaphor. `minus_alone` subtracts the score of the option alone."""
        for option, alone in zip(strings.options, strings.alone, strict=True):
            less = self._normalised(alone) if self.scoring.minus_alone else 0.0
            yield self._normalised(option.spanned(self.scoring.span)) - less

    def backward(self, strings: ItemStrings) -> Iterator[float]:
        """How well each metaphor fits the right option.

        The score of the option alone is not subtracted, because it is the same for all metaphors.
        """
        for metaphor in strings.backward:
            yield self._normalised(metaphor.spanned(self.scoring.backward_span))

    def blind(self, strings: ItemStrings) -> Iterator[float]:
        """How likely each option is with the metaphor hidden.

        The score of the option alone is not subtracted, because all options would then have the same score.
        """
        return map(self._normalised, strings.blind)

    def record(self, item: Item, strings: ItemStrings) -> dict[str, Any]:
        """The log-probabilities (sum, tokens, bytes) behind an item's scores, or that it was refused."""
        kinds: dict[str, Any] = {
            "whole": [self.log_probs[option.whole] for option in strings.options],
            "answer": [self.log_probs[option.answer] for option in strings.options],
            "answer_alone": [self.log_probs[place] for place in strings.alone],
        }
        metaphor = None if strings.metaphor is None else self.log_probs[strings.metaphor]
        measured = [*kinds["whole"], *kinds["answer"], *kinds["answer_alone"], *filter(None, [metaphor])]
        if not all(log_prob.tokens for log_prob in measured):
            return refusal(item)
        return {"id": item.id, **kinds, "metaphor_alone": metaphor}

    def _normalised(self, place: int) -> float:
        return self.log_probs[place].normalised(self.scoring.norm)

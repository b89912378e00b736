"""Choices from log-probabilities, forward and backward: which answer fits the metaphor, which metaphor fits
the answer.

The two directions are those of Liu et al. 2022 (§4.1); the presets in conf/scoring follow their released
scripts, which differ between GPT-2 and GPT-3.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol

from figlang.config import ScoringConfig
from figlang.scoring.distinct import SIZE, Distinct
from figlang.scoring.measured import ItemStrings, LogProbs, Places, Record, Records, RefusedError, Worded
from figlang.scoring.requests import Request, Scored, naming
from figlang.scoring.wording import Wording
from figlang.types import Item, Prediction


def decided(item: Item, scores: Iterator[float]) -> Prediction:
    """Make a prediction of scores.

    If a string was refused, all scores are 0. So the prediction is a tie, which is wrong.
    """
    try:
        return Prediction.of(item, tuple(scores))
    except RefusedError:
        return Prediction.of(item, (0.0,) * len(item.options))


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
    measured: Sequence[Record]
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
    # If no string has the metaphor, there is no backward choice.
    partners = partners_of(items) if wording.has_context else {}
    places, log_probs, read, tokens = _scored(scorer, items, wording, shown, partners, progress, blind)
    scores = Scores(wording.scoring, log_probs)
    forward, backward, unseen = [], [], []
    for place, item in enumerate(items):
        strings = places[place]
        forward.append(decided(item, scores.forward(strings)))
        if strings.backward:
            backward.append(decided(posed_backward(item, partners[item.id]), scores.backward(strings)))
        if blind:
            unseen.append(decided(item, scores.blind(strings)))
    measured = Records(items, places, log_probs, wording.scoring.minus_alone)
    return Directions(forward, backward, unseen if blind else None, measured, read, tokens)


def _scored(
    scorer: Scorer,
    items: Sequence[Item],
    wording: Wording,
    shown: Mapping[str, str] | None,
    partners: Mapping[str, tuple[Item, ...]],
    progress: bool,
    blind: bool,
) -> tuple[Places, LogProbs, int, int]:
    """Where the strings of every item are, their log-probabilities, and the tokens of `Scored`.

    The log-probabilities of single tokens are gone when it returns.
    """
    asked, places = Strings(wording), Places()

    def needed() -> Iterator[Request]:
        for item in items:
            before = "" if shown is None else shown[item.id]
            places.append(asked.add(item, before, partners.get(item.id, ()), blind))
            yield from asked.drain()
        asked.forget()

    with naming(asked.owners):
        scored = scorer.score(needed(), progress)
    return places, LogProbs(scored.log_probs, asked.sizes), scored.read, scored.tokens


def posed_backward(item: Item, pair: tuple[Item, ...]) -> Item:
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


class Strings:
    """The requests that a wording makes of items, each once.

    Attributes:
        requests: Those that were not drained yet.
        sizes: The UTF-8 bytes of the continuation of every request.
        owners: The id of the first item that needs it, for every request.
    """

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._distinct = Distinct()
        self.requests: list[Request] = []
        self.sizes = array("i")
        self.owners: list[str] = []

    def drain(self) -> list[Request]:
        """The requests since the last call. They are not kept."""
        drained, self.requests = self.requests, []
        return drained

    def forget(self) -> None:
        """Forget which requests there were: no item follows."""
        self._distinct = Distinct()

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
        context, continuation = (text.encode(errors="surrogatepass") for text in request)
        # A digest, since the texts of all items are large.
        key = blake2b(b"%d %b%b" % (len(context), context, continuation), digest_size=SIZE).digest()
        place = self._distinct.place(key)
        if place == len(self.sizes):
            self.requests.append(request)
            self.sizes.append(len(continuation))
            self.owners.append(item.id)
        return place


@dataclass(frozen=True)
class Scores:
    """Scores of items from the log-probabilities of all requests."""

    scoring: ScoringConfig
    log_probs: LogProbs

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

    def _normalised(self, place: int) -> float:
        return self.log_probs[place].normalised(self.scoring.norm)

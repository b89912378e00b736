"""The protocol `score`: a rating from 1 to 7 of each option, and of each metaphor of a pair for an option.

By it a chat model has scores of options, pair accuracy and backward choices, as models with
log-probabilities have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from string import ascii_uppercase

from figlang.evaluation.protocols.first_token import Probabilities, probabilities
from figlang.evaluation.protocols.lettered import words
from figlang.evaluation.protocols.speaking import Speaker
from figlang.scoring import reading
from figlang.scoring.answered import Answered, answered
from figlang.scoring.letters import total
from figlang.scoring.likelihood import partners_of, posed_backward
from figlang.scoring.reading import Reading
from figlang.tasks.instructions import filled
from figlang.tasks.task import Task
from figlang.types import Chat, Item, Prediction, Reply, Turn

NUMBERS = tuple(str(number) for number in range(reading.LOWEST, reading.HIGHEST + 1))


@dataclass(frozen=True)
class Rating:
    """A message that asks for a rating, with its replies and the mean of what can be read of them.

    `value` is None if no reply can be read, and `reason` says why.
    """

    message: str
    replies: Sequence[Reply]
    value: float | None
    reason: str


@dataclass(frozen=True)
class Ratings:
    """Predictions by ratings in both directions and with the context hidden (None if not wanted), with the
    rows behind the forward and the hidden ones.

    `unread` says for the other questions ("backward", "blind") how many have an option without a rating, and
    how many there are. Their options count as equal.
    """

    forward: list[Prediction]
    backward: list[Prediction]
    blind: list[Prediction] | None
    replies: list[Answered]
    replies_blind: list[Answered]
    unread: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def rate(items: Sequence[Item], task: Task, speaker: Speaker, blind: bool) -> Ratings:
    """Ask for ratings of the options of items.

    Args:
        items: The items.
        task: Their task, which says which text follows from which.
        speaker: The model.
        blind: Whether to ask about the options alone too.

    Raises:
        FiglangError: The model cannot be asked.
    """
    language = words(speaker)
    partners = partners_of(items)
    asked: dict[str, str] = {}  # each message once, with the id of an item

    def needed(item: Item, texts: Sequence[str]) -> list[str]:
        for text in texts:
            asked.setdefault(text, item.id)
        return list(texts)

    forward, backward, unseen = {}, {}, {}
    for item in items:
        pairs = task.premises(item)
        forward[item.id] = needed(item, [_filled(language.forward, *pair) for pair in pairs])
        if item.id in partners and item.gold is not None:
            meant = item.options[item.gold]
            said = [member.context for member in partners[item.id]]
            backward[item.id] = needed(item, [_filled(language.backward, meant, each) for each in said])
        if blind:
            unseen[item.id] = needed(item, [_filled(language.blind, "", each) for each in item.options])
    rated = _ask(asked, speaker)
    rows = [_row(item, [rated[text] for text in forward[item.id]]) for item in items]
    unread = {
        name: (sum(any(rated[text].value is None for text in texts) for texts in found.values()), len(found))
        for name, found in (("backward", backward), ("blind", unseen))
    }
    return Ratings(
        [_prediction(item, forward[item.id], rated) for item in items],
        [
            _prediction(posed_backward(item, partners[item.id]), backward[item.id], rated)
            for item in items
            if item.id in backward
        ],
        [_prediction(item, unseen[item.id], rated) for item in items] if blind else None,
        rows,
        [_row(item, [rated[text] for text in unseen[item.id]]) for item in items] if blind else [],
        unread,
    )


def _filled(text: str, first: str, second: str) -> str:
    return filled(text, first=first.strip(), second=second.strip())


def _ask(asked: Mapping[str, str], speaker: Speaker) -> dict[str, Rating]:
    chats: list[Chat] = [speaker.opened(Turn("user", text)) for text in asked]
    if speaker.settings.rating == "expected":
        shown = probabilities(speaker, chats, list(asked.values()), NUMBERS)
        return {text: _expected(text, one) for text, one in zip(asked, shown, strict=True)}
    several = speaker.replies(chats, list(asked.values()))
    return {text: _rating(text, replies) for text, replies in zip(asked, several, strict=True)}


def _rating(text: str, replies: Sequence[Reply]) -> Rating:
    found = [reading.of_rating(reply) for reply in replies]
    values = [one.rating for one in found if one.rating is not None]
    mean = sum(values) / len(values) if values else None
    return Rating(text, replies, mean, "" if values else found[0].reason)


def _expected(text: str, shown: Probabilities) -> Rating:
    """The mean of the numbers, by their probabilities. Numbers that an endpoint does not show count as 0."""
    weights = [exp(total(forms.values())) if forms else 0.0 for forms in shown.by_form]
    if not (whole := sum(weights)):
        return Rating(text, (Reply(""),), None, "no number is among its likeliest first tokens")
    mean = sum(int(number) * weight for number, weight in zip(NUMBERS, weights, strict=True)) / whole
    return Rating(text, (Reply(f"{mean:.4f}"),), mean, "")


def _prediction(item: Item, texts: Sequence[str], rated: Mapping[str, Rating]) -> Prediction:
    """The prediction by ratings. If one cannot be read, all options are equal, which is not a choice."""
    values = [rated[text].value for text in texts]
    known = [value for value in values if value is not None]
    return Prediction.of(item, tuple(known) if len(known) == len(values) else (0.0,) * len(values))


def _row(item: Item, ratings: Sequence[Rating]) -> Answered:
    values = [one.value for one in ratings]
    # The reply that cannot be read is the one that is shown with the reason.
    first = next((one for one in ratings if one.value is None), ratings[0])
    others = [one for one in ratings if one is not first]
    steps = [(one.message, reply) for one in others for reply in one.replies]
    read = _best(ratings)
    return answered(item.id, first.message, first.replies, read, (), steps, values)


def _best(ratings: Sequence[Rating]) -> Reading:
    for place, one in enumerate(ratings):
        if one.value is None:
            return Reading(reason=f"option {ascii_uppercase[place]}: {one.reason}")
    values = [one.value or 0.0 for one in ratings]
    best = [place for place, value in enumerate(values) if value == max(values)]
    if len(best) > 1:
        names = ", ".join(ascii_uppercase[place] for place in best)
        return Reading(reason=f"a tie: {names} are rated {max(values):g}")
    return Reading(ascii_uppercase[best[0]])

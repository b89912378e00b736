"""The answers of a chat model: replies, what was read from them, and the predictions that they become."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any

from figlang.scoring import reading
from figlang.scoring.reading import Reading
from figlang.tasks.lettered import Lettered
from figlang.types import Prediction, Reply

# Fields of a row that are left out where they are empty.
SPARE = ("reason", "reasoning", "votes", "steps", "ratings", "tokens_reasoning")


@dataclass(frozen=True)
class Answered:
    """The answer to the message about an item: a row of replies.jsonl.

    Attributes:
        id: The id of the prediction.
        message: The last message.
        reply: The reply to it, without reasoning that a server sent apart.
        letter: The letter that was read; None if none can be read.
        cut: Whether one of the replies to it reached the limit of tokens.
        refused: Whether a content filter stopped one of them.
        usage: What an endpoint says that all replies took.
        reason: Why no letter can be read.
        reasoning: The reasoning before the reply.
        votes: The letter in each of several replies.
        steps: Earlier messages with their replies.
        ratings: The rating of each option.
        tokens_reasoning: Tokens of the reasoning in all replies, by the tokenizer of a model that is here.
    """

    id: str
    message: str
    reply: str
    letter: str | None
    cut: bool
    refused: bool
    usage: dict[str, float] | None = None
    reason: str = ""
    reasoning: str = ""
    votes: tuple[str | None, ...] = ()
    steps: tuple[dict[str, Any], ...] = ()
    ratings: tuple[float | None, ...] = ()
    tokens_reasoning: int = 0

    def record(self) -> dict[str, Any]:
        """The row of the file."""
        row = {name: value for name, value in asdict(self).items() if name != "usage"}
        return {name: value for name, value in row.items() if value or name not in SPARE} | (self.usage or {})


def answered(
    name: str,
    message: str,
    replies: Sequence[Reply],
    read: Reading,
    votes: Sequence[Reading] = (),
    steps: Sequence[tuple[str, Reply]] = (),
    ratings: Sequence[float | None] = (),
) -> Answered:
    """A row from the replies to a message.

    Args:
        name: The id of the prediction.
        message: The last message.
        replies: The replies to it; the first is shown.
        read: What was read from them.
        votes: What was read from each of several replies.
        steps: Other messages with their replies.
        ratings: The ratings that were read.
    """
    shown = replies[0]
    every = [*replies, *(reply for _, reply in steps)]
    return Answered(
        name,
        message,
        shown.text,
        read.letter,
        any(reply.cut for reply in replies),
        any(reply.refused for reply in replies),
        _added([reply.usage for reply in every]),
        read.reason,
        reading.reasoning(shown),
        tuple(one.letter for one in votes) if len(votes) > 1 else (),
        tuple({"message": asked, "reply": reply.text} for asked, reply in steps),
        tuple(ratings),
        sum(reply.tokens_reasoning for reply in every),
    )


def chosen(one: Lettered, named: str | None) -> Prediction:
    """The prediction of a named letter.

    The named option has the score 1 and the others have 0, so an unread reply is a tie.
    """
    place = None if named is None else ascii_uppercase.index(named)
    return one.scored([float(option == place) for option in range(len(one.item.options))])


def _added(taken: Sequence[dict[str, float] | None]) -> dict[str, float] | None:
    """Tokens and cost of several replies together; None if an endpoint does not report each."""
    known = [each for each in taken if each]
    if len(known) < len(taken):
        return None
    return {name: sum(each[name] for each in known) for name in known[0] if all(name in e for e in known)}

"""The protocol `letter`: the reply names an option."""

from collections.abc import Sequence

from figlang.evaluation.protocols.lettered import LetteredProtocol, Result, asking, message, words
from figlang.evaluation.protocols.speaking import Speaker
from figlang.scoring import reading
from figlang.scoring.answered import answered, chosen
from figlang.tasks.lettered import Lettered
from figlang.types import Chat, Reply, Turn


class Letter(LetteredProtocol):
    """One question, whose reply is a letter."""

    def ask(self, questions: Sequence[Lettered], speaker: Speaker) -> Result:
        chats = [speaker.opened(*self.turns(one, speaker)) for one in questions]
        owners = [one.item.id for one in questions]
        counts = [len(one.item.options) for one in questions]
        replies = speaker.replies(chats, owners, letters=counts)
        return read(questions, chats, replies)

    def turns(self, one: Lettered, speaker: Speaker) -> list[Turn]:
        """The turns about a question."""
        plain = speaker.settings.language == "en" and not speaker.settings.turns
        if plain:  # the message of the task, whichever words it has
            return [Turn("user", one.message)]
        return asking(one, words(speaker).letter, "({letter})", speaker)


def read(questions: Sequence[Lettered], chats: Sequence[Chat], replies: Sequence[Sequence[Reply]]) -> Result:
    """Read letters from replies. The majority of several replies counts."""
    rows, predictions = [], []
    for one, chat, several in zip(questions, chats, replies, strict=True):
        votes = [reading.of_letter(reply, len(one.item.options)) for reply in several]
        found = reading.majority(votes)
        rows.append(answered(one.item.id, message(chat), several, found, votes))
        predictions.append(chosen(one, found.letter))
    return Result(predictions, rows)

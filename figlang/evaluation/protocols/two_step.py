"""The protocol `two_step`: the meaning in the words of the model first, then the choice in the same
conversation."""

from collections.abc import Sequence

from figlang.evaluation.protocols.lettered import LetteredProtocol, Result, asking, message, words
from figlang.evaluation.protocols.speaking import Speaker
from figlang.scoring import reading
from figlang.scoring.answered import answered, chosen
from figlang.scoring.replies import final
from figlang.tasks.instructions import filled
from figlang.tasks.lettered import Lettered
from figlang.types import Chat, Reply, Turn


class TwoStep(LetteredProtocol):
    """An interpretation without the options, then the choice. A question without a context has one step."""

    def ask(self, questions: Sequence[Lettered], speaker: Speaker) -> Result:
        first = [_interpreting(one, speaker) for one in questions]
        begun = [(one, chat) for one, chat in zip(questions, first, strict=True) if chat]
        meanings = speaker.replies([chat for _, chat in begun], [one.item.id for one, _ in begun])
        found = iter(meanings)
        texts: list[Sequence[Reply | None]] = [
            next(found) if chat else [None] * speaker.settings.n for chat in first
        ]
        chats = [
            [_choosing(one, chat, meaning, speaker) for meaning in several]
            for one, chat, several in zip(questions, first, texts, strict=True)
        ]
        rounds = self._choices(questions, chats, speaker)
        rows, predictions = [], []
        for place, one in enumerate(questions):
            replies = [each[place] for each in rounds]
            votes = [reading.of_letter(reply, len(one.item.options)) for reply in replies]
            read = reading.majority(votes)
            steps = [(first[place][-1].content, meaning) for meaning in texts[place] if meaning is not None]
            last = chats[place][0][-1:]
            rows.append(answered(one.item.id, message(last), replies, read, votes, steps))
            predictions.append(chosen(one, read.letter))
        return Result(predictions, rows)

    def _choices(
        self, questions: Sequence[Lettered], chats: Sequence[Sequence[Chat]], speaker: Speaker
    ) -> list[list[Reply]]:
        """The replies to the interpretations: one list for each draw, in the order of the questions."""
        owners, counts = (
            [one.item.id for one in questions],
            [len(one.item.options) for one in questions],
        )
        return [
            [
                several[0]
                for several in speaker.replies(
                    [each[number] for each in chats], owners, speaker.sampling(1, number), counts
                )
            ]
            for number in range(speaker.settings.n)
        ]


def _interpreting(one: Lettered, speaker: Speaker) -> Chat:
    """The conversation that asks for the meaning; empty if the context is hidden."""
    if one.blind or not one.item.context:
        return ()
    text = filled(words(speaker).interpret, first=one.item.context.strip())
    return speaker.opened(Turn("user", text))


def _choosing(one: Lettered, chat: Chat, meaning: Reply | None, speaker: Speaker) -> Chat:
    asked = asking(one, words(speaker).letter, "({letter})", speaker)
    said = "" if meaning is None else final(meaning.text).strip()
    # Servers refuse a turn without text. After an empty interpretation the choice is asked alone.
    return (*chat, Turn("assistant", said), *asked) if said else speaker.opened(*asked)

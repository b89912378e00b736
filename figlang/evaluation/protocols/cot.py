"""The protocol `cot`: reasoning, then a last line with a letter, which is read strictly."""

from collections.abc import Sequence

from figlang.evaluation.protocols.lettered import LetteredProtocol, Result, asking, message, words
from figlang.evaluation.protocols.speaking import Speaker
from figlang.scoring import reading
from figlang.scoring.answered import answered, chosen
from figlang.tasks.lettered import Lettered


class Reasoned(LetteredProtocol):
    """Reasoning in the reply, whose last line is the answer (chain of thought)."""

    def ask(self, questions: Sequence[Lettered], speaker: Speaker) -> Result:
        language = words(speaker)
        chats = [
            speaker.opened(*asking(one, language.cot, f"{language.answer}: {{letter}}", speaker))
            for one in questions
        ]
        replies = speaker.replies(chats, [one.item.id for one in questions])
        rows, predictions = [], []
        for one, chat, several in zip(questions, chats, replies, strict=True):
            count = len(one.item.options)
            votes = [reading.of_last_line(reply, count, language.answer) for reply in several]
            found = reading.majority(votes)
            rows.append(answered(one.item.id, message(chat), several, found, votes))
            predictions.append(chosen(one, found.letter))
        return Result(predictions, rows)

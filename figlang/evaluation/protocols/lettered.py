"""The interface of a protocol: questions in, predictions and rows of replies out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from figlang.evaluation.protocols.speaking import Speaker
from figlang.scoring.answered import Answered
from figlang.tasks.instructions import LANGUAGES, Instructions, filled
from figlang.tasks.lettered import Lettered
from figlang.types import Chat, Prediction, Turn


@dataclass(frozen=True)
class Result:
    """Answers to questions by a protocol: a prediction for each, and the rows behind them."""

    predictions: list[Prediction]
    replies: list[Answered] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)


class LetteredProtocol(ABC):
    """A protocol for questions with lettered options."""

    @abstractmethod
    def ask(self, questions: Sequence[Lettered], speaker: Speaker) -> Result:
        """Ask the questions and read the replies.

        Args:
            questions: The questions.
            speaker: The model.

        Returns:
            The predictions, in the order of the questions.

        Raises:
            FiglangError: The model cannot be asked in this way.
        """


def words(speaker: Speaker) -> Instructions:
    """The instructions in the language of the protocol."""
    return LANGUAGES[speaker.settings.language]


def asking(one: Lettered, instruction: str, answer: str, speaker: Speaker) -> list[Turn]:
    """The turns that ask a question with an instruction, after its examples.

    Args:
        one: The question.
        instruction: The sentence behind the question, with a place for the letters.
        answer: The answer of an example, with a place for its letter.
        speaker: The model.
    """
    asked = filled(instruction, letters=words(speaker).letters(len(one.item.options)))
    if not speaker.settings.turns or not one.shots:
        before = one.before if not speaker.settings.turns else ""
        return [Turn("user", f"{before}{one.question}\n\n{asked}")]
    turns = []
    for question, letter in one.shots:
        turns += [
            Turn("user", f"{question}\n\n{asked}"),
            Turn("assistant", filled(answer, letter=letter.strip("() "))),
        ]
    return [*turns, Turn("user", f"{one.question}\n\n{asked}")]


def message(chat: Chat) -> str:
    """The last message of a conversation. If there are several turns, the earlier ones stand before it."""
    if len(chat) == 1:
        return chat[0].content
    return "\n\n".join(f"[{turn.role}] {turn.content}" for turn in chat)

"""The letter protocol: a chat model is asked about lettered options, and its replies become predictions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config import PromptConfig, SamplingConfig, ScoringConfig
from figlang.errors import owned
from figlang.evaluation import generation
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.models.hosted.opened import Opened
from figlang.scoring.replies import Answered, choose
from figlang.tasks.examples import Pool
from figlang.tasks.lettered import Lettered
from figlang.tasks.questions import Questions, describe
from figlang.types import Item, Prediction

log = logging.getLogger("figlang")


class Replies(Answering):
    """A chat model, here or behind an endpoint."""

    def __init__(self, model: Opened) -> None:
        self._model = model

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        scoring = how.scoring or ScoringConfig(**self._model.manifest.scoring or {})
        protocol = Protocol(self._model, share.questions, scoring, how.prompt, how.pool)
        asked = protocol.ask(share.split.items, share.items, how.progress, how.blind)
        rows = Rows(
            share.place(asked.predictions, asked.items),
            None if asked.blind is None else share.place(asked.blind, asked.items),
            replies=share.place(asked.replies, asked.items),
        )
        facts = protocol.facts(protocol.prompt) | share.questions.facts(protocol.prompt)
        return rows, {**origin(self._model), **facts}


@dataclass(frozen=True)
class Asked:
    """Questions with their replies.

    Args:
        items: For each question the id of its item.
        predictions: The choice in each reply.
        replies: The replies as they are written to a file.
        blind: The choices with the context hidden; None if they were not wanted.
    """

    items: list[str]
    predictions: list[Prediction]
    replies: list[dict[str, Any]]
    blind: list[Prediction] | None = None


class Protocol:
    """How a chat model is asked for letters.

    Args:
        model: The model.
        questions: How its items are put in words.
        scoring: Orders of options, and the longest reply.
        prompt: The prompt; its defaults are filled in.
        pool: What examples are drawn from.
    """

    def __init__(
        self,
        model: Opened,
        questions: Questions,
        scoring: ScoringConfig,
        prompt: PromptConfig,
        pool: Pool,
    ) -> None:
        self._model, self._questions, self._scoring, self._pool = model, questions, scoring, pool
        self.prompt = questions.settled(prompt)

    def ask(
        self, items: Sequence[Item], share: Sequence[Item], progress: bool = False, blind: bool = False
    ) -> Asked:
        """Ask about the items of `share` (a part of `items`), and read the letters in the replies.

        Args:
            items: All items of the split.
            share: The items to ask about.
            progress: Whether to show a bar.
            blind: Whether to ask each question again with the context hidden.

        Raises:
            FiglangError: The prompt shows no letters, or the model has no chat.
        """
        asked = self._letters(items, share)
        unseen = self._letters(items, share, blind=True) if blind else []
        if unseen:
            log.info(
                "every question is asked again with its context hidden, which can double the requests; "
                "blind=false turns this off"
            )
        replies = self._replies([*asked, *unseen], progress)
        predictions, answered = choose(asked, replies[: len(asked)])
        without, answered_unseen = choose(unseen, replies[len(asked) :])
        self._warn(answered, "")
        self._warn(answered_unseen, " to questions with a hidden context")
        return Asked(
            [question.source.id for question in asked],
            predictions,
            [each.record() for each in answered],
            without if blind else None,
        )

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        """The settings that can change a reply, for the signature. `prompt` has its defaults filled in."""
        scoring, orders = self._scoring, self._questions.orders or self._scoring.orders
        manner = generation.manner(self._model, SamplingConfig(max_tokens=scoring.max_tokens))
        source = f",source={self._pool.source}" if prompt.k else ""
        return {
            "scoring": f"{scoring.name}({manner},orders={orders},max_tokens={scoring.max_tokens})",
            "norm": "none",
            "prompt": f"{describe(prompt).removesuffix(')')}{source},seed={prompt.seed})",
        }

    def _letters(self, items: Sequence[Item], share: Sequence[Item], blind: bool = False) -> list[Lettered]:
        return self._questions.letters(items, share, self.prompt, self._pool, self._scoring.orders, blind)

    def _replies(self, questions: Sequence[Lettered], progress: bool) -> list[Any]:
        """The first reply to each message. Equal messages are sent once; the items of a pair are equal
        without their contexts."""
        owners: dict[str, str] = {}
        for question in questions:
            owners.setdefault(question.message, question.item.id)
        # In one go, so that an endpoint's estimate counts all of them.
        with owned(list(owners.values())):
            replies, _ = generation.converse(
                self._model, list(owners), SamplingConfig(max_tokens=self._scoring.max_tokens), progress
            )
        first = {message: several[0] for message, several in zip(owners, replies, strict=True)}
        return [first[question.message] for question in questions]

    def _warn(self, answered: Sequence[Answered], which: str) -> None:
        invalid = [each for each in answered if each.letter is None]
        if not invalid:
            return
        log.warning(
            "%d of %d replies%s name no option and count as wrong (%d of them refused by a content filter, "
            "%d cut at scoring.max_tokens=%d)",
            *(len(invalid), len(answered), which),
            sum(each.refused for each in invalid),
            sum(each.cut for each in invalid),
            self._scoring.max_tokens,
        )

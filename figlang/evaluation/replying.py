"""Chat models: they are asked by a protocol, and their replies become predictions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from figlang.config import PromptConfig, ProtocolConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import generation
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.evaluation.protocols import score
from figlang.evaluation.protocols.cot import Reasoned
from figlang.evaluation.protocols.letter import Letter
from figlang.evaluation.protocols.lettered import LetteredProtocol
from figlang.evaluation.protocols.logprobs import LetterProbabilities
from figlang.evaluation.protocols.speaking import Speaker, checked
from figlang.evaluation.protocols.two_step import TwoStep
from figlang.models.hosted.opened import Opened
from figlang.scoring.answered import Answered
from figlang.tasks import lettered
from figlang.tasks.examples import Pool
from figlang.tasks.instructions import LANGUAGES
from figlang.tasks.lettered import Lettered
from figlang.tasks.questions import Questions, describe
from figlang.types import Item, Prediction

log = logging.getLogger("figlang")

# How questions with letters are asked, by `protocol.kind`. Ratings ask about texts and are not among them.
PROTOCOLS: dict[str, type[LetteredProtocol]] = {
    "letter": Letter,
    "cot": Reasoned,
    "two_step": TwoStep,
    "logprobs": LetterProbabilities,
}


class Replies(Answering):
    """A chat model, here or behind an endpoint."""

    def __init__(self, model: Opened) -> None:
        self._model = model

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        scoring = how.scoring or ScoringConfig(**self._model.manifest.scoring or {})
        settings = how.protocol or ProtocolConfig()
        protocol = Protocol(self._model, share.questions, scoring, how.prompt, how.pool, settings)
        if settings.kind == "score":
            rows = _rated(protocol, share, how)
        else:
            asked = protocol.ask(share.split.items, share.items, how.progress, how.blind)
            rows = Rows(
                share.place(asked.predictions, asked.items),
                None if asked.blind is None else share.place(asked.blind, asked.items),
                measured=share.place(asked.measured, asked.items) if asked.measured else None,
                replies=share.place(asked.replies, asked.items) if asked.replies else None,
                replies_blind=share.place(asked.replies_blind, asked.items) if asked.replies_blind else None,
            )
        facts = protocol.facts(protocol.prompt) | share.questions.facts(protocol.prompt)
        return rows, {**origin(self._model), **facts}


@dataclass(frozen=True)
class Asked:
    """Questions with their replies.

    Attributes:
        items: For each question the id of its item.
        predictions: The choice in each reply.
        replies: The replies as they are written to a file; none if probabilities were read.
        blind: The choices with the context hidden; None if they were not wanted.
        measured: The probabilities of letters, as they are written to a file.
        replies_blind: The replies with the context hidden, likewise.
    """

    items: list[str]
    predictions: list[Prediction]
    replies: list[dict[str, Any]]
    blind: list[Prediction] | None = None
    measured: list[dict[str, Any]] | None = None
    replies_blind: list[dict[str, Any]] = field(default_factory=list)


class Protocol:
    """How a chat model is asked.

    Args:
        model: The model.
        questions: How its items are put in words.
        scoring: Orders of options, and the longest reply.
        prompt: The prompt; its defaults are filled in.
        pool: What examples are drawn from.
        settings: The protocol; None for `letter`.

    Raises:
        FiglangError: A setting has no effect on this model, or a language has no such question.
    """

    def __init__(
        self,
        model: Opened,
        questions: Questions,
        scoring: ScoringConfig,
        prompt: PromptConfig,
        pool: Pool,
        settings: ProtocolConfig | None = None,
    ) -> None:
        self._model, self._questions, self._scoring, self._pool = model, questions, scoring, pool
        self.settings = settings or ProtocolConfig()
        self.prompt = _translated(questions.settled(prompt), self.settings.language)
        checked(self.speaker())

    def speaker(self, progress: bool = False) -> Speaker:
        """The model with the settings of the protocol."""
        tokens = self.settings.max_tokens or self._scoring.max_tokens
        return Speaker(self._model, self.settings, tokens, progress)

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
        unseen = [replace(each, blind=True) for each in self._letters(items, share, True)] if blind else []
        if unseen:
            log.info(
                "every question is asked again with its context hidden, which can double the requests; "
                "blind=false turns this off"
            )
        found = PROTOCOLS[self.settings.kind]().ask([*asked, *unseen], self.speaker(progress))
        count = len(asked)
        warn(found.replies[:count], "", self.speaker())
        warn(found.replies[count:], " to questions with a hidden context", self.speaker())
        return Asked(
            [question.source.id for question in asked],
            found.predictions[:count],
            [each.record() for each in found.replies[:count]],
            found.predictions[count:] if blind else None,
            found.measured[:count] or None,
            [each.record() for each in found.replies[count:]],
        )

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        """The settings that can change a reply, for the signature. `prompt` has its defaults filled in."""
        speaker, orders = self.speaker(), self._questions.orders or self._scoring.orders
        manner = generation.manner(self._model, speaker.sampling())
        source = f",source={self._pool.source}" if prompt.k else ""
        name = self._scoring.name if self.settings.kind == "letter" else self.settings.kind
        asked = "" if self.settings.kind == "score" else f"orders={orders},"
        own = "".join(f",{key}={value}" for key, value in _changed(self.settings).items())
        return {
            "scoring": f"{name}({manner},{asked}max_tokens={speaker.max_tokens}{own})",
            "norm": "none",
            "prompt": f"{describe(prompt).removesuffix(')')}{source},seed={prompt.seed})",
        }

    def _letters(self, items: Sequence[Item], share: Sequence[Item], blind: bool = False) -> list[Lettered]:
        return self._questions.letters(items, share, self.prompt, self._pool, self._scoring.orders, blind)


def _rated(protocol: Protocol, share: Share, how: How) -> Rows:
    """The rows of the protocol `score`."""
    if share.questions.by_letter or how.prompt.k:
        raise FiglangError(
            "protocol=score rates statements one by one, but this prompt has examples or options that "
            "are not statements; use another protocol"
        )
    speaker = protocol.speaker(how.progress)
    found = score.rate(share.items, share.task, speaker, how.blind)
    warn(found.replies, "", speaker)
    for which, (count, of) in found.unread.items():
        if count:
            log.warning(
                "%d of %d %s questions have an option whose rating cannot be read and count as wrong",
                *(count, of, which),
            )
    return Rows(
        share.place(found.forward),
        None if found.blind is None else share.place(found.blind),
        share.place(found.backward, [one.id for one in found.backward]) if found.backward else None,
        replies=share.place([one.record() for one in found.replies]),
        replies_blind=share.place([one.record() for one in found.replies_blind]) if how.blind else None,
    )


def _translated(prompt: PromptConfig, language: str) -> PromptConfig:
    """The prompt with its question in another language, if that question is one of figlang's own."""
    own = prompt.question in lettered.TEMPLATES and prompt.template is None
    if language == "en" or not own:
        return prompt
    known = LANGUAGES[language].questions
    if prompt.question not in known:
        raise FiglangError(
            f"prompt.question={prompt.question} has no wording in protocol.language={language}; use "
            f"prompt.question={', '.join(known)}, or give prompt.template="
        )
    return replace(prompt, template=known[str(prompt.question)])


def _changed(settings: ProtocolConfig) -> dict[str, Any]:
    """The settings of a protocol that are not the usual ones and can change a reply."""
    usual, named = ProtocolConfig(), ("name", "kind", "max_tokens", "temperature")
    found = {
        key: value
        for key, value in vars(settings).items()
        if key not in named and value != getattr(usual, key)
    }
    return {
        key: repr(value) if isinstance(value, str | dict | list) else value for key, value in found.items()
    }


def warn(answered: Sequence[Answered], which: str, speaker: Speaker) -> None:
    """Say how many replies cannot be read.

    Args:
        answered: The replies.
        which: Words behind "replies".
        speaker: Who replied.
    """
    unread = [each for each in answered if each.letter is None]
    if not unread:
        return
    # The protocol's own limit hides that of the scoring.
    limit = "protocol" if speaker.settings.max_tokens else "scoring"
    log.warning(
        "%d of %d replies%s name no option and count as wrong (%d of them refused by a content filter, "
        "%d cut at %s.max_tokens=%d)",
        *(len(unread), len(answered), which),
        sum(each.refused for each in unread),
        sum(each.cut for each in unread),
        limit,
        speaker.max_tokens,
    )

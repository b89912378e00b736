"""Questions that are answered by a letter. The model, local or behind an endpoint, chooses among the letters
or writes one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from figlang.config import PromptConfig, SamplingConfig, ScoringConfig
from figlang.errors import FiglangError, owned
from figlang.evaluation.generation import Writer
from figlang.evaluation.replying import Protocol
from figlang.models.checkpoint import Loaded, Served
from figlang.models.formats import Ability
from figlang.models.hosted.opened import Hosted, Opened, not_here
from figlang.models.served.scorer import ServedScorer
from figlang.scoring import choices, letters
from figlang.scoring.flat import Sequences
from figlang.scoring.requests import Scored, bos_ids
from figlang.scoring.tree.causal import CausalScorer
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.types import Item, Prediction, Prompted

REPLIES = ("letter", "greedy")
# The settings of a prompt that have a meaning here.
USED = ("name", "question", "reply", "chat")


@dataclass(frozen=True)
class Chosen:
    """Predictions, the records that they are made from, and the work of scoring (None if the model wrote its
    answers).

    `blind` are predictions without the sentence; None if they were not wanted.
    """

    predictions: list[Prediction]
    records: list[dict[str, Any]]
    scored: Scored | None
    blind: list[Prediction] | None = None

    @property
    def kind(self) -> str:
        """The kind of the records."""
        return "replies" if self.scored is None else "log_probabilities"


def chooser(
    model: Opened, questions: Questions, prompt: PromptConfig, scoring: ScoringConfig | None
) -> "LetterChooser | ServedLetterChooser | ChatLetterChooser":
    """Make the object that chooses letters. Make it once for all prompts, since it probes the network.

    Args:
        model: The model.
        questions: How its items are put in words.
        prompt: The settings of the prompt, whichever question it asks.
        scoring: The scoring; None for the manifest's own.

    Raises:
        FiglangError: The model cannot choose letters, or a setting has no effect on it.
    """
    if model.manifest.input_format.ability is Ability.REPLY:
        scoring = scoring or ScoringConfig(**model.manifest.scoring or {})
        return ChatLetterChooser(model, questions, prompt, scoring)
    if isinstance(model, Hosted):
        raise not_here(model)
    if isinstance(model, Served):
        return ServedLetterChooser(model, questions, prompt, scoring)
    return LetterChooser(model, questions, prompt, scoring)


class LetterChooser:
    """A causal network that continues a question with a letter (Tong et al. 2024, §7.1).

    `prompt.reply=letter` takes the letter of the largest next-token probability, `greedy` the letter that the
    model writes. Any other text is not a choice, and counts as wrong. `prompt.chat` asks in a conversation,
    in the form of the tokenizer's template.

    Raises FiglangError for settings that have no effect on such questions.
    """

    def __init__(
        self,
        loaded: Loaded,
        questions: Questions,
        prompt: PromptConfig,
        scoring: ScoringConfig | None = None,
    ) -> None:
        check(prompt, scoring)
        if not loaded.manifest.input_format.causal:
            raise FiglangError(
                f"{loaded.manifest.name} is not a causal model, and only those choose letters; "
                f"{questions.instead}"
            )
        self.prompt = prompt
        self._questions = questions
        self._tokenizer = loaded.tokenizer
        # A template begins with the token that its model expects.
        self.bos = loaded.bos(scoring) if prompt.chat == "none" else "none"
        self.scorer = CausalScorer(
            loaded.network, loaded.tokenizer, self.bos, scoring.overflow if scoring else "error"
        )
        self._writer = Writer(loaded.network, loaded.tokenizer, bos_ids(loaded.tokenizer, self.bos))
        if prompt.chat != "none" and not loaded.tokenizer.chat_template:
            raise FiglangError(
                f"the tokenizer of {loaded.manifest.name} has no chat template; use prompt.chat=none"
            )

    def ask(self, items: Sequence[Item], name: str, blind: bool = False) -> list[Prompted]:
        """Word the items as a prompt; with `blind`, without their sentences."""
        template = None if self.prompt.chat == "none" else self._template
        return self._questions.ask(items, replace(self.prompt, question=name), Pool(), blind, template)

    def choose(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Chosen:
        """Answer a prompt about these items (none, in some processes). With `blind`, also without the
        sentence."""
        asked = self.ask(items, name) + (self.ask(items, name, blind) if blind else [])
        if not asked:
            return Chosen([], [], None, [] if blind else None)
        if self.prompt.reply == "letter":
            measured = letters.measure(self.scorer, asked, progress)
            return _chosen(measured.predictions(), measured.records(), measured.scored, len(items), blind)
        # As many tokens as the longest form of a letter has: one, except in vocabularies of bytes.
        room = max(len(tokens) for _, tokens in self._endings(asked))
        with owned([each.item.id for each in asked]):
            written = self._writer.write(
                [each.prompt for each in asked], SamplingConfig(max_tokens=room), progress=progress
            )
        texts = [text for (text,) in written]
        predictions = [_written(each.item, text) for each, text in zip(asked, texts, strict=True)]
        records = [{"id": each.item.id, "text": text} for each, text in zip(asked, texts, strict=True)]
        return _chosen(predictions, records, None, len(items), blind)

    def sequences(self, asked: Sequence[Prompted]) -> Sequences:
        """The sequences to score: every prompt with every form of every letter."""
        return self.scorer.encoder.extend([each.prompt for each in asked], self._endings(asked))[0]

    def _endings(self, asked: Sequence[Prompted]) -> list[tuple[str, tuple[int, ...]]]:
        return [
            form for several in letters.answer_forms(self.scorer.encoder.spans, asked) for form in several
        ]

    def facts(self, questions: str) -> dict[str, Any]:
        """The settings of the question that can change a score, for the signature."""
        return {
            "scoring": {"letter": "letters(with+without space)", "greedy": "greedy(parsed)"}[
                self.prompt.reply
            ],
            "norm": "sum",
            "prompt": self._questions.describe(replace(self.prompt, question=questions)),
            "bos": self.bos,
        }

    def _template(self, messages: list[dict[str, str]], begun: bool) -> str:
        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
        )
        assert isinstance(text, str)
        return text


class ServedLetterChooser:
    """A model behind an endpoint that gives log-probabilities of prompts.

    Only the letter with a space is scored, since the tokens of the form without a space are unknown.

    Raises FiglangError for settings that have no effect on it.
    """

    def __init__(
        self,
        served: Served,
        questions: Questions,
        prompt: PromptConfig,
        scoring: ScoringConfig | None = None,
    ) -> None:
        check(prompt, scoring)
        if prompt.reply != "letter" or prompt.chat != "none":
            raise FiglangError(
                "a served model can judge by log-probabilities (prompt.reply=letter) or by replies "
                "(scoring=letter); use one of them"
            )
        self._questions, self._prompt = questions, prompt
        self._bos = served.bos()
        self._scorer = ServedScorer(served.endpoint, self._bos)

    def choose(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Chosen:
        """The answers to a prompt about these items; for `blind` also without the sentence."""
        prompt = replace(self._prompt, question=name)
        asked = self._questions.ask(items, prompt, Pool())
        asked += self._questions.ask(items, prompt, Pool(), blind=True) if blind else []
        measured = choices.measure(self._scorer, asked, False, progress)
        return _chosen(measured.predictions("sum"), measured.records(), measured.scored, len(items), blind)

    def facts(self, questions: str) -> dict[str, Any]:
        """The settings of the question that can change a score, for the signature."""
        return {
            "scoring": "letters(with space)",
            "norm": "sum",
            "prompt": self._questions.describe(replace(self._prompt, question=questions)),
            "bos": self._bos,
        }


class ChatLetterChooser:
    """A chat model, here or behind an endpoint, that is asked for a letter in a message (`scoring=letter`).

    Raises FiglangError for settings that have no effect on it.
    """

    def __init__(
        self, model: Opened, questions: Questions, prompt: PromptConfig, scoring: ScoringConfig
    ) -> None:
        check(prompt, None)
        if prompt.reply != "letter" or prompt.chat != "none":
            raise FiglangError(
                "scoring=letter asks in a chat and reads its replies; leave prompt.reply= and prompt.chat= "
                "out"
            )
        self._model, self._questions, self._prompt, self._scoring = model, questions, prompt, scoring

    def choose(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Chosen:
        """The answers to a prompt about these items; for `blind` also without the sentence."""
        asked = self._protocol(name).ask(items, items, progress, blind)
        return Chosen(asked.predictions, asked.replies, None, asked.blind)

    def facts(self, questions: str) -> dict[str, Any]:
        """The settings of the question that can change a reply, for the signature."""
        protocol = self._protocol(questions)
        return protocol.facts(protocol.prompt)

    def _protocol(self, name: str) -> Protocol:
        prompt = replace(self._prompt, question=name)
        return Protocol(self._model, self._questions, self._scoring, prompt, Pool())


def _chosen(
    predictions: list[Prediction],
    records: list[dict[str, Any]],
    scored: Scored | None,
    count: int,
    blind: bool,
) -> Chosen:
    """The first `count` rows are from prompts with the sentence, the others from prompts without it."""
    return Chosen(predictions[:count], records[:count], scored, predictions[count:] if blind else None)


def check(prompt: PromptConfig, scoring: ScoringConfig | None) -> None:
    """Raises FiglangError for settings that have no effect on such questions."""
    unset = replace(PromptConfig(), **{name: getattr(prompt, name) for name in USED})
    if idle := [name for name, value in vars(unset).items() if getattr(prompt, name) != value]:
        raise FiglangError(
            f"prompt.{idle[0]} changes no judgement; leave it out, a judgement has {', '.join(USED[1:])}"
        )
    if prompt.reply not in REPLIES:
        raise FiglangError(
            f"prompt={prompt.name}: these items are judged by letters, not by prompt.reply={prompt.reply}; "
            f"use prompt.reply={REPLIES[0]}"
        )
    if scoring is not None and (scoring.norm != "sum" or scoring.minus_alone or not scoring.causal):
        raise FiglangError(
            f"scoring={scoring.name} compares longer answers than letters; leave it out, or use "
            "scoring=answer"
        )


def letter_of(text: str, options: int = 4) -> int | None:
    """The place of the letter that a text begins with: `A`, ` A.` or `(A)`, but not `All`.

    Args:
        text: What a model wrote.
        options: How many letters there are.

    Returns:
        0 for A, and so on; None for another text.
    """
    begun = re.match(rf"\s*\(?([A-{ascii_uppercase[options - 1]}])\b", text)
    return None if begun is None else ascii_uppercase.index(begun[1])


def _written(item: Item, text: str) -> Prediction:
    letter = letter_of(text, len(item.options))
    scores = tuple(float(place == letter) for place in range(len(item.options)))
    return Prediction.of(item, scores)

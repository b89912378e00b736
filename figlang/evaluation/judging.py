"""MUNCH's judgements by a model, here or behind an endpoint: a closed choice among letters, or the letter
that it writes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from figlang.config import PromptConfig, SamplingConfig, ScoringConfig
from figlang.errors import FiglangError, owned
from figlang.evaluation import asking
from figlang.evaluation.generation import Writer
from figlang.models.checkpoint import Loaded, Served
from figlang.models.served.scorer import ServedScorer
from figlang.scoring import choices, letters
from figlang.scoring.requests import Scored, Tokens, bos_ids
from figlang.scoring.tree.causal import CausalScorer
from figlang.tasks.munch import prompts as munch
from figlang.tasks.prompting import Pool
from figlang.types import Item, Prediction, Prompted

REPLIES = ("letter", "greedy")
# What of a prompt's settings has a meaning here.
USED = ("name", "question", "reply", "chat")


@dataclass(frozen=True)
class Judged:
    """Predictions, what they are made of, and what scoring took; None where the model wrote its answers.
    `blind` ones are without the sentence, None where they were not wanted."""

    predictions: list[Prediction]
    records: list[dict[str, Any]]
    scored: Scored | None
    blind: list[Prediction] | None = None

    @property
    def kind(self) -> str:
        """What the records are."""
        return "replies" if self.scored is None else "log_probabilities"


def judge(
    model: Loaded | Served, prompt: PromptConfig, scoring: ScoringConfig | None
) -> "Judge | ServedJudge | ChatJudge":
    """The judge that a model is, by its scoring; made once for all prompts, since that is when a network is
    probed.

    Raises FiglangError for a model that judges no triples, and for settings that it has no use for.
    """
    if model.manifest.format == "letter":
        return ChatJudge(model, prompt, scoring or ScoringConfig(**model.manifest.scoring or {}))
    return ServedJudge(model, prompt, scoring) if isinstance(model, Served) else Judge(model, prompt, scoring)


class Judge:
    """A causal model that is asked which of two candidates are paraphrases (Tong et al. 2024, §7.1).

    `prompt.reply=letter` takes the letter of the largest next-token probability, `greedy` the one that the
    model writes: another text than a letter is no choice, which is wrong. `prompt.chat` asks in a
    conversation, in the form of the tokenizer's template.

    Raises FiglangError for settings that a judgement has no use for.
    """

    def __init__(self, loaded: Loaded, prompt: PromptConfig, scoring: ScoringConfig | None = None) -> None:
        check(prompt, scoring)
        if not loaded.manifest.input_format.causal:
            raise FiglangError(
                f"{loaded.manifest.name} is no causal model, and only those judge MUNCH's triples by "
                "letters; data=munch_paraphrase asks any model to choose between two sentences"
            )
        self.prompt = prompt
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
        """The items in the words of a prompt, `blind` without their sentences."""
        return munch.ask(
            items, name, self.prompt.chat, None if self.prompt.chat == "none" else self._template, blind
        )

    def judge(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Judged:
        """The answers to a prompt about these items, of which a process may have none; for `blind` also
        without the sentence."""
        asked = self.ask(items, name) + (self.ask(items, name, blind) if blind else [])
        if not asked:
            return Judged([], [], None, [] if blind else None)
        if self.prompt.reply == "letter":
            measured = letters.measure(self.scorer, asked, progress)
            return _judged(measured.predictions(), measured.records(), measured.scored, len(items), blind)
        # As many tokens as the longest form of a letter has: one, but for vocabularies of bytes.
        room = max(len(tokens) for _, tokens in self._endings(asked))
        with owned([each.item.id for each in asked]):
            written = self._writer.write(
                [each.prompt for each in asked], SamplingConfig(max_tokens=room), progress=progress
            )
        texts = [text for (text,) in written]
        predictions = [_written(each.item, letter_of(text)) for each, text in zip(asked, texts, strict=True)]
        records = [{"id": each.item.id, "text": text} for each, text in zip(asked, texts, strict=True)]
        return _judged(predictions, records, None, len(items), blind)

    def sequences(self, asked: Sequence[Prompted]) -> list[Tokens]:
        """What has to be scored to choose letters: every prompt with every form of every letter."""
        return self.scorer.encoder.extend([each.prompt for each in asked], self._endings(asked))[0]

    def _endings(self, asked: Sequence[Prompted]) -> list[tuple[str, tuple[int, ...]]]:
        return [
            form for several in letters.answer_forms(self.scorer.encoder.spans, asked) for form in several
        ]

    def facts(self, questions: str) -> dict[str, Any]:
        """What of the question can change a score, for the signature."""
        return {
            "scoring": {"letter": "letters(with+without space)", "greedy": "greedy(parsed)"}[
                self.prompt.reply
            ],
            "norm": "sum",
            "prompt": f"{questions}(chat={self.prompt.chat})",
            "bos": self.bos,
        }

    def _template(self, messages: list[dict[str, str]], begun: bool) -> str:
        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
        )
        assert isinstance(text, str)
        return text


class ServedJudge:
    """A model behind an endpoint that gives log-probabilities of prompts.

    How its tokenizer writes a letter without a space is unknown, so that one form is scored, not the sum of
    two.

    Raises FiglangError for settings that it has no use for.
    """

    def __init__(self, served: Served, prompt: PromptConfig, scoring: ScoringConfig | None = None) -> None:
        check(prompt, scoring)
        if prompt.reply != "letter" or prompt.chat != "none":
            raise FiglangError(
                "a served model judges by log-probabilities, prompt.reply=letter, or by replies, "
                "scoring=letter"
            )
        self._bos = served.bos()
        self._scorer = ServedScorer(served.endpoint, self._bos)

    def judge(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Judged:
        """The answers to a prompt about these items; for `blind` also without the sentence."""
        asked = munch.ask(items, name) + (munch.ask(items, name, blind=True) if blind else [])
        measured = choices.measure(self._scorer, asked, False, progress)
        return _judged(measured.predictions("sum"), measured.records(), measured.scored, len(items), blind)

    def facts(self, questions: str) -> dict[str, Any]:
        """What of the question can change a score, for the signature."""
        return {
            "scoring": "letters(with space)",
            "norm": "sum",
            "prompt": f"{questions}(chat=none)",
            "bos": self._bos,
        }


class ChatJudge:
    """A chat model, here or behind an endpoint, that is asked for a letter in a message (`scoring=letter`).

    Raises FiglangError for settings that it has no use for.
    """

    def __init__(self, model: Loaded | Served, prompt: PromptConfig, scoring: ScoringConfig) -> None:
        check(prompt, None)
        if prompt.reply != "letter" or prompt.chat != "none":
            raise FiglangError(
                "scoring=letter asks in a chat and reads its replies; leave prompt.reply= and prompt.chat= "
                "out"
            )
        self._model, self._prompt, self._scoring = model, prompt, scoring

    def judge(self, items: Sequence[Item], name: str, progress: bool = False, blind: bool = False) -> Judged:
        """The answers to a prompt about these items; for `blind` also without the sentence."""
        prompt = replace(self._prompt, question=name)
        asked = asking.ask(self._model, items, items, self._scoring, prompt, Pool(), progress, blind)
        return Judged(asked.predictions, asked.replies, None, asked.blind)

    def facts(self, questions: str) -> dict[str, Any]:
        """What of the question can change a reply, for the signature."""
        return asking.facts(
            self._model, self._scoring, "as read", replace(self._prompt, question=questions), Pool()
        )


def _judged(
    predictions: list[Prediction],
    records: list[dict[str, Any]],
    scored: Scored | None,
    count: int,
    blind: bool,
) -> Judged:
    """The first `count` rows are of prompts with the sentence, the rest of those without."""
    return Judged(predictions[:count], records[:count], scored, predictions[count:] if blind else None)


def check(prompt: PromptConfig, scoring: ScoringConfig | None) -> None:
    """Raises FiglangError for settings that a judgement has no use for."""
    unset = replace(PromptConfig(), **{name: getattr(prompt, name) for name in USED})
    if idle := [name for name, value in vars(unset).items() if getattr(prompt, name) != value]:
        raise FiglangError(
            f"prompt.{idle[0]} changes no judgement of MUNCH; leave it out, prompt=munch has "
            f"{', '.join(USED[1:])}"
        )
    if prompt.reply not in REPLIES:
        raise FiglangError(
            f"MUNCH's triples are judged by letters, not by prompt.reply={prompt.reply}; use prompt=munch"
        )
    if scoring is not None and (scoring.norm != "sum" or scoring.minus_alone or scoring.kind != "likelihood"):
        raise FiglangError(
            f"scoring={scoring.name} compares longer answers than letters; leave it out, or use "
            "scoring=answer"
        )


def letter_of(text: str) -> int | None:
    """Which of the four letters a text begins with, if it does: `A`, ` A.`, `(A)`, but not `All`."""
    found = re.match(r"\s*\(?([A-D])\b", text)
    return None if found is None else munch.LETTERS.index(found[1])


def _written(item: Item, letter: int | None) -> Prediction:
    scores = tuple(float(place == letter) for place in range(len(item.options)))
    return Prediction.of(item, scores)

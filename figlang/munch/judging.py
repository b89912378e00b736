"""MUNCH's judgements by a causal model: a closed choice among letters, or the letter that it writes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from figlang.checkpoint import Loaded
from figlang.config import PromptConfig, SamplingConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.generation import Writer
from figlang.prompts import munch
from figlang.scoring import letters
from figlang.scoring.causal import CausalScorer
from figlang.scoring.requests import Scored, Tokens, bos_ids
from figlang.types import Item, Prediction, Prompted

REPLIES = ("letter", "greedy")
# What of a prompt's settings has a meaning here.
USED = ("name", "question", "reply", "chat")


@dataclass(frozen=True)
class Judged:
    """Predictions, what they are made of, and what scoring took; None where the model wrote its answers."""

    predictions: list[Prediction]
    records: list[dict[str, Any]]
    scored: Scored | None


class Judge:
    """A causal model that is asked which of two candidates are paraphrases (Tong et al. 2024, §6.1).

    `prompt.reply=letter` takes the letter of the largest next-token probability, `greedy` the one that the model writes: another
    text than a letter is no choice, which is wrong. `prompt.chat` asks in a conversation, in the form of the tokenizer's template.

    Raises FiglangError for settings that a judgement has no use for.
    """

    def __init__(self, loaded: Loaded, prompt: PromptConfig, scoring: ScoringConfig | None = None) -> None:
        check(prompt, scoring)
        if loaded.recipe.format != "causal":
            raise FiglangError(
                f"{loaded.recipe.name} is no causal model, and only those judge MUNCH's triples by letters; "
                "data=munch_paraphrase asks any model to choose between two sentences"
            )
        self.prompt = prompt
        self._tokenizer = loaded.tokenizer
        own = loaded.recipe.bos if scoring is None or scoring.bos is None else scoring.bos
        # A template begins with the token that its model expects.
        self.bos = own if prompt.chat == "none" else "none"
        self.scorer = CausalScorer(loaded.network, loaded.tokenizer, self.bos, scoring.overflow if scoring else "error")
        self._writer = Writer(loaded.network, loaded.tokenizer, bos_ids(loaded.tokenizer, self.bos))
        if prompt.chat != "none" and not loaded.tokenizer.chat_template:
            raise FiglangError(f"the tokenizer of {loaded.recipe.name} has no chat template; use prompt.chat=none")

    def ask(self, items: Sequence[Item], name: str) -> list[Prompted]:
        """The items in the words of a prompt."""
        return munch.ask(items, name, self.prompt.chat, None if self.prompt.chat == "none" else self._template)

    def judge(self, asked: Sequence[Prompted], progress: bool = False) -> Judged:
        """The answers to these prompts, of which a process may have none."""
        if not asked:
            return Judged([], [], None)
        if self.prompt.reply == "letter":
            measured = letters.measure(self.scorer, asked, progress)
            return Judged(measured.predictions(), measured.records(), measured.scored)
        # As many tokens as the longest form of a letter has: one, but for vocabularies of bytes.
        room = max(len(tokens) for _, tokens in self._endings(asked))
        texts = [
            text
            for (text,) in self._writer.write([each.prompt for each in asked], SamplingConfig(max_tokens=room), progress=progress)
        ]
        predictions = [_written(each.item, letter_of(text)) for each, text in zip(asked, texts, strict=True)]
        return Judged(predictions, [{"id": each.item.id, "text": text} for each, text in zip(asked, texts, strict=True)], None)

    def sequences(self, asked: Sequence[Prompted]) -> list[Tokens]:
        """What has to be scored to choose letters: every prompt with every form of every letter."""
        return self.scorer.encoder.extend([each.prompt for each in asked], self._endings(asked))[0]

    def _endings(self, asked: Sequence[Prompted]) -> list[tuple[str, tuple[int, ...]]]:
        return [form for several in letters.answer_forms(self.scorer.encoder.spans, asked) for form in several]

    def facts(self, questions: str) -> dict[str, Any]:
        """What of the question can change a score, for the signature."""
        return {
            "scoring": {"letter": "letters(with+without space)", "greedy": "greedy(parsed)"}[self.prompt.reply],
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


def check(prompt: PromptConfig, scoring: ScoringConfig | None) -> None:
    """Raises FiglangError for settings that a judgement has no use for."""
    unset = replace(PromptConfig(), **{name: getattr(prompt, name) for name in USED})
    if idle := [name for name, value in vars(unset).items() if getattr(prompt, name) != value]:
        raise FiglangError(f"prompt.{idle[0]} changes no judgement of MUNCH; leave it out, prompt=munch has {', '.join(USED[1:])}")
    if prompt.reply not in REPLIES:
        raise FiglangError(f"MUNCH's triples are judged by letters, not by prompt.reply={prompt.reply}; use prompt=munch")
    if scoring is not None and (scoring.norm != "sum" or scoring.minus_alone or scoring.kind != "likelihood"):
        raise FiglangError(f"scoring={scoring.name} compares longer answers than letters; leave it out, or use scoring=answer")


def letter_of(text: str) -> int | None:
    """Which of the four letters a text begins with, if it does: `A`, ` A.`, `(A)`, but not `All`."""
    found = re.match(r"\s*\(?([A-D])\b", text)
    return None if found is None else munch.LETTERS.index(found[1])


def _written(item: Item, letter: int | None) -> Prediction:
    scores = tuple(float(place == letter) for place in range(len(item.options)))
    return Prediction(item.id, item.group, item.gold, scores, dict(item.attributes))

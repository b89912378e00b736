"""Closed choice of a causal model among lettered options, by its next token (Tong et al. 2024, §7.1).

The tokens of a letter may include a space (`▁A`, `ĠA`, or a space and an `A` in a vocabulary of bytes) or not
(`A`). These are different tokens, and which one a network expects depends on its tokenizer; so the
probabilities of both forms are added.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from figlang.errors import FiglangError
from figlang.scoring.requests import Scored, SpanFinder, naming
from figlang.scoring.tree.causal import CausalScorer
from figlang.types import Prediction, Prompted

# If a tokenizer merges a letter with the last word of the prompt, the tokens of the letter are found after
# one of these texts.
ANCHORS = ("\n", "(", ":", "1")


def forms(spans: SpanFinder, prompt: str, answer: str) -> list[tuple[str, tuple[int, ...]]]:
    """The forms of an answer after a prompt, with and without a space before it, and the tokens of each."""
    found = {}
    for text in (f" {answer.strip()}", answer.strip()):
        for before in (prompt, *ANCHORS):
            (start, whole) = spans.ids([before, before + text])
            if whole[: len(start)] == start and len(whole) > len(start):
                found[text] = tuple(whole[len(start) :])
                break
    # Some tokenizers drop or add a space. Both texts are then one form.
    return [
        (text, tokens)
        for place, (text, tokens) in enumerate(found.items())
        if tokens not in list(found.values())[:place]
    ]


@dataclass(frozen=True)
class LetterScores:
    """Prompted items with the log-probabilities of every form of their answers, and the work of scoring."""

    asked: Sequence[Prompted]
    by_form: list[list[dict[str, float]]]
    scored: Scored

    def predictions(self) -> list[Prediction]:
        """The choice of every item: the letter with the largest sum of its forms' probabilities."""
        return [
            Prediction.of(item, tuple(total(form.values()) for form in found))
            for item, found in zip((each.item for each in self.asked), self.by_form, strict=True)
        ]

    def records(self) -> list[dict[str, Any]]:
        """The log-probability of every form behind every prediction."""
        return [
            {"id": each.item.id, "letters": found}
            for each, found in zip(self.asked, self.by_form, strict=True)
        ]


def measure(scorer: CausalScorer, asked: Sequence[Prompted], progress: bool = False) -> LetterScores:
    """Measure the log-probability of every form of every answer after its prompt.

    Each prompt is read once, and so is text that prompts share. All prompts must end alike and have the same
    answers.

    Raises:
        FiglangError: A prompt cannot be scored. The message names its item.
    """
    by_answer = answer_forms(scorer.encoder.spans, asked)
    endings = [form for several in by_answer for form in several]
    with naming([each.item.id for each in asked for _ in endings]):
        sequences, truncated = scorer.encoder.extend([each.prompt for each in asked], endings)
    scored = scorer.score_tokens(sequences, truncated, progress)
    values = iter(scored.log_probs)
    found = [
        [{text: float(next(values).double().sum()) for text, _ in several} for several in by_answer]
        for _ in asked
    ]
    # Without sharing, each prompt would be read once, for all its answers.
    prompts = (sequences[place].start for place in range(0, len(sequences), len(endings)))
    return LetterScores(asked, found, replace(scored, tokens=sum(prompts)))


def answer_forms(spans: SpanFinder, asked: Sequence[Prompted]) -> list[list[tuple[str, tuple[int, ...]]]]:
    """The forms of every answer of prompts that all end alike and have the same answers.

    Raises FiglangError if two answers have the same tokens.
    """
    answers = asked[0].answers
    assert all(each.answers == answers for each in asked)
    found = [forms(spans, asked[0].prompt, answer) for answer in answers]
    owners: dict[tuple[int, ...], str] = {}
    for answer, several in zip(answers, found, strict=True):
        if not several or any(owners.setdefault(tokens, answer) != answer for _, tokens in several):
            raise FiglangError(
                f"this tokenizer has no tokens of its own for {answer.strip()!r}, so that its probability "
                "cannot be read; take another model, or a protocol= that reads replies"
            )
    return found


def total(log_probs: Iterable[float]) -> float:
    """The logarithm of the sum of probabilities, by their logarithms."""
    return float(torch.tensor(list(log_probs), dtype=torch.float64).logsumexp(0))

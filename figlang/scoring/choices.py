"""Choices of a causal model among answers to a prompt, by the log-probability of each answer after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from figlang.scoring import measured
from figlang.scoring.likelihood import Scorer, decided
from figlang.scoring.measured import LogProb
from figlang.scoring.requests import Request, Scored, naming
from figlang.types import Prediction, Prompted


class Answers(NamedTuple):
    """Log-probabilities of an item's answers after its prompt and, if wanted, after an empty text."""

    after: tuple[LogProb, ...]
    alone: tuple[LogProb, ...] | None

    def scores(self, norm: str = "sum", minus_alone: bool = False) -> Iterator[float]:
        """The score of each answer.

        Args:
            norm: `sum`, `mean` per token, or the mean per `byte`.
            minus_alone: Subtract the score of the answer alone. For sums, the result is the pointwise mutual
                information of prompt and answer.

        Raises:
            RefusedError: An endpoint refused to read one of them.
        """
        scores = (one.normalised(norm) for one in self.after)
        if not minus_alone:
            yield from scores
            return
        assert self.alone is not None
        yield from (score - one.normalised(norm) for score, one in zip(scores, self.alone, strict=True))

    @property
    def read(self) -> bool:
        """Whether none of them was refused."""
        return measured.read((*self.after, *(self.alone or ())))


@dataclass(frozen=True)
class Measured:
    """Prompted items with the log-probabilities of their answers, and what scoring took."""

    asked: Sequence[Prompted]
    answers: list[Answers]
    scored: Scored

    def predictions(self, norm: str = "sum", minus_alone: bool = False) -> list[Prediction]:
        """The choice of every item. Comșa et al. 2022 (§5.1) name no normalisation, which means `sum`."""
        return [
            decided(item, answers.scores(norm, minus_alone))
            for item, answers in zip((each.item for each in self.asked), self.answers, strict=True)
        ]

    def records(self, seen: int | None = None) -> list[dict[str, Any]]:
        """The log-probabilities (sum, tokens, bytes) of every item. Another normalisation needs no model.

        Args:
            seen: So many prompted items have rows. The others are the same ones with their context hidden;
                a row says whether one of its item's was refused.
        """
        pairs = [(each.item.id, found) for each, found in zip(self.asked, self.answers, strict=True)]
        rows, hidden = pairs[:seen], [] if seen is None else pairs[seen:]
        refused = {name for name, found in hidden if not measured.read(found.after)}
        return [
            {
                **({"id": name, **found._asdict()} if found.read else measured.refusal(name)),
                **({"refused_blind": True} if name in refused else {}),
            }
            for name, found in rows
        ]


def measure(
    scorer: Scorer, asked: Sequence[Prompted], alone: bool = False, progress: bool = False
) -> Measured:
    """Measure the log-probability of every answer after its prompt. Text that prompts share is read once.

    Args:
        scorer: The model.
        asked: The items with their prompts.
        alone: Also measure every answer after an empty text.
        progress: Show a bar.

    Raises:
        FiglangError: A text cannot be scored. The message names the item and the text.
    """
    needed = requests(asked, alone)
    with naming(list(needed.values())):
        scored = scorer.score(needed, progress)
    found = {
        request: LogProb(float(values.double().sum()), len(values), len(request.continuation.encode()))
        for request, values in zip(needed, scored.log_probs, strict=True)
    }
    answers = [
        Answers(
            tuple(found[Request(each.prompt, answer)] for answer in each.answers),
            tuple(found[Request("", answer)] for answer in each.answers) if alone else None,
        )
        for each in asked
    ]
    return Measured(asked, answers, scored)


def requests(asked: Sequence[Prompted], alone: bool = False) -> dict[Request, str]:
    """The requests that must be scored, each once, with the id of an item that needs it."""
    contexts = [(each.prompt, "") if alone else (each.prompt,) for each in asked]
    pairs = zip(asked, contexts, strict=True)
    return {
        Request(context, answer): each.item.id
        for each, some in pairs
        for answer in each.answers
        for context in some
    }

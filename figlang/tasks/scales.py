"""How people rate answers that models wrote: the words of a scale, and statistics of such ratings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from figlang.statistics.agreement import plurality
from figlang.statistics.clustered import Support
from figlang.statistics.metrics import over_groups
from figlang.types import Generation


@dataclass(frozen=True)
class Rated:
    """An answer of a model with its codes: one for each rater, nan if the rater gave none."""

    model: str
    generation: Generation
    codes: tuple[float, ...]


@dataclass(frozen=True)
class Rubric:
    """How a rater who has not read the paper is told what to rate.

    Attributes:
        task: What is rated, in a sentence or two.
        question: What stands before the question.
        answer: What stands before the answer.
        meanings: The meaning of each word of the scale.
        suffix: An end of the question that only asks for the answer, and is left out.
    """

    task: str
    question: str
    answer: str
    meanings: Mapping[str, str]
    suffix: str = ""

    def asked(self, generation: Generation) -> str:
        """The question of an answer, as it is shown."""
        return generation.question.strip().removesuffix(self.suffix).strip()


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge, which is a model, on an answer.

    Attributes:
        id: The name of the answer on its sheet.
        word: The word of the scale; None if the judge gave none, or does not use the scale.
        values: How far each word applies, from 0 to 1. A judge that compares texts gives the one value
            `likeness` instead.
        asked: What was asked and answered in each order: plain data, with the reason where nothing was read.
    """

    id: str
    word: str | None
    values: Mapping[str, float]
    asked: Sequence[Mapping[str, Any]] = ()


LIKENESS = "likeness"  # the value of a judge that compares texts
Codes = Mapping[str, float]
Summary = Callable[[Sequence[Rated], Codes], dict[str, Any]]


@dataclass(frozen=True)
class Scale:
    """The scale that a benchmark's answers are rated on."""

    name: str
    codes: Codes
    """Codes by the word that a rater writes. The order is that of the keys 1, 2, … on the page."""
    summary: Summary
    """Statistics of the ratings of a model's answers."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kinds of question that are rated on this scale, with the word that a right answer begins with;
    empty: no such word."""
    scored: bool = False
    """Whether codes are scores (they have a mean) or categories."""
    paragraph: bool = False
    """Whether the first paragraph of an answer is rated. If not, it is the first sentence."""
    rubric: Rubric | None = None
    """The rubric for a model that rates by this scale."""
    pick: Callable[[Sequence[float]], float] = plurality
    """The code of an answer that several raters have rated, if codes are categories."""

    def summarise(self, rated: Sequence[Rated]) -> dict[str, Any]:
        """Statistics of the ratings of a model's answers, as plain data."""
        return self.summary(rated, self.codes)


def scores(rated: Sequence[Rated], codes: Codes) -> dict[str, Any]:
    """The mean over answers of the raters' mean score, with a 95 % interval over groups of items."""
    given = [
        (answer.generation.group, float(np.nanmean(answer.codes)))
        for answer in rated
        if not np.isnan(answer.codes).all()
    ]
    if not given:
        return {"rated": 0}
    mean = over_groups(given, Support(min(codes.values()), max(codes.values())))
    return {
        "score": mean.value,
        "low": mean.low,
        "high": mean.high,
        "rated": mean.n,
        "clusters": mean.clusters,
    }


def categories(rated: Sequence[Rated], codes: Codes) -> dict[str, Any]:
    """The share of answers for which most raters chose a category, for each category.

    Returns:
        Shares of the answers that have such a category, with 95 % intervals over groups of items.
        `undecided` counts the other rated answers.
    """
    chosen = [
        (answer.generation.group, plurality(answer.codes))
        for answer in rated
        if not np.isnan(answer.codes).all()
    ]
    decided = [(group, code) for group, code in chosen if not np.isnan(code)]
    counts: dict[str, Any] = {"decided": len(decided), "undecided": len(chosen) - len(decided)}
    for word, code in codes.items() if decided else ():
        counts[word] = interval([(group, given == code) for group, given in decided])
    return counts


def interval(values: Iterable[tuple[str, bool]]) -> dict[str, Any]:
    """The share of true values with a 95 % interval over groups, as plain data.

    Args:
        values: The group and the value of each case.
    """
    share = over_groups(values)
    return {
        "value": share.value,
        "low": share.low,
        "high": share.high,
        "n": share.n,
        "clusters": share.clusters,
    }

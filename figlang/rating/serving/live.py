"""The organiser's view while people answer: how far each rater is, attention, times, agreement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from figlang.rating import ratings, sheets
from figlang.rating.serving import order
from figlang.rating.serving.store import Answer
from figlang.rating.serving.study import CHOICE, CODES, Study
from figlang.statistics.common import level
from figlang.tasks import registry
from figlang.tasks.scales import Rated, interval

Given = Mapping[str, Sequence[Answer]]  # by question, at most one of each rater


def content(study: Study, folder: Path, raters: Sequence[str], answers: Sequence[Answer]) -> dict[str, Any]:
    """Everything on the organiser's page, as plain data.

    Args:
        study: The study.
        folder: Its folder.
        raters: Names of all raters.
        answers: All answers.
    """
    found: dict[str, Any] = {
        "ask": study.ask,
        "source": study.source,
        "questions": len(study.questions),
        "raters": [progress(study, name, [one for one in answers if one.rater == name]) for name in raters],
        "agreement": agreement(study, folder, raters, answers),
    }
    if study.ask == CHOICE:
        found["right"] = right(study, by_question(study, answers))
    return found


def progress(study: Study, rater: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """How far a rater is, and how attentive: counts, the median of seconds, the time of the last answer."""
    checks = checked(study, rater, answers)
    asked = {one.id for one in study.questions}
    real = [one for one in answers if one.question in asked]
    return {
        "rater": rater,
        "done": len(real),
        "of": len(asked),
        "checks": len(checks),
        "passed": sum(checks.values()),
        "seconds": float(np.median([one.seconds for one in real])) if real else None,
        "unsure": sum(not one.confident for one in real),
        "first": min((one.at for one in answers), default=None),
        "last": max((one.at for one in answers), default=None),
    }


def checked(study: Study, rater: str, answers: Sequence[Answer]) -> dict[str, bool]:
    """The attention items that a rater answered, and whether as they ask."""
    expected = {one.question.id: one for one in order.of(study, rater) if one.expected is not None}
    return {
        one.question: order.passed(expected[one.question], one.value)
        for one in answers
        if one.question in expected
    }


def by_question(study: Study, answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """Answers by question, in the order of the study, without attention items."""
    found: dict[str, list[Answer]] = {one.id: [] for one in study.questions}
    for one in answers:
        if one.question in found:
            found[one.question].append(one)
    return {name: several for name, several in found.items() if several}


def agreement(study: Study, folder: Path, raters: Sequence[str], answers: Sequence[Answer]) -> dict[str, Any]:
    """The measures of `figlang rate` for codes and choices; for paraphrases, how often two are the same.

    Args:
        study: The study.
        folder: Its folder.
        raters: Names of all raters.
        answers: All answers.
    """
    given = by_question(study, answers)
    if study.ask == CODES:
        return ratings.agreement(rated(study, folder, raters, given), study.scale)
    if study.ask == CHOICE:
        codes_IK = np.array([_row(raters, several) for several in given.values()], dtype=np.float64)
        most = max(len(one.options) for one in study.questions)
        return ratings.measures(codes_IK.reshape(len(given), len(raters)), most)
    return same(given)


def rated(study: Study, folder: Path, raters: Sequence[str], given: Given) -> list[Rated]:
    """The answers of a sheet with the codes of every rater.

    Args:
        study: The study.
        folder: Its folder.
        raters: Names of all raters.
        given: The answers by question, at most one of each rater.
    """
    codes = registry.scales()[study.scale].codes
    _, models, known = sheets.keyed(folder)
    places = {name: place for place, name in enumerate(raters)}
    found = []
    for name, generation in known.items():
        row = [np.nan] * len(raters)
        for one in given.get(name, ()):
            row[places[one.rater]] = codes[one.value]
        found.append(Rated(models[name], generation, tuple(row)))
    return found


def _row(raters: Sequence[str], several: Sequence[Answer]) -> list[float]:
    chosen = {one.rater: float(one.value) for one in several}
    return [chosen.get(name, np.nan) for name in raters]


def same(given: Given) -> dict[str, Any]:
    """The share of pairs of raters who wrote the same words to a question, letters of any size."""
    alike = pairs = 0
    for several in given.values():
        counts = Counter(" ".join(one.value.casefold().split()) for one in several)
        alike += sum(count * (count - 1) // 2 for count in counts.values())
        pairs += len(several) * (len(several) - 1) // 2
    return {"same_words": alike / pairs if pairs else None, "pairs": pairs}


def right(study: Study, given: Given) -> dict[str, Any]:
    """How many people are right: all answers and the confident ones, with intervals over groups, and the
    number of questions by how many of their raters are right. Empty if the right options are not known."""
    known = {one.id: one for one in study.questions if one.gold is not None and one.id in given}
    if not known:
        return {}
    answers: dict[str, list[tuple[str, bool]]] = {"all": [], "confident": []}
    shares: Counter[str] = Counter()
    for name, question in known.items():
        hits = [one.value == str(question.gold) for one in given[name]]
        of_group = [(question.group, hit) for hit in hits]
        answers["all"] += of_group
        answers["confident"] += [hit for hit, one in zip(of_group, given[name], strict=True) if one.confident]
        shares[level(sum(hits), len(hits))] += 1
    return {name: interval(found) for name, found in answers.items() if found} | {"items": dict(shares)}

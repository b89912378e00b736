"""Ratings by judges beside people's: agreement, people's share of all answers, correlations.

Shape letters: N answers, K people.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np

from figlang.rating.judges import Judge, panel
from figlang.statistics import prediction_powered
from figlang.statistics.agreement import Ratings, alpha, intraclass, kappa
from figlang.statistics.correlation import pearson, spearman
from figlang.tasks.scales import Rated, Scale

PEOPLE = "people among themselves"
SCORE = "score"


def content(people: Sequence[Rated], scale: Scale, judges: Sequence[Judge]) -> dict[str, Any]:
    """Compare judges with people, and estimate people's shares of all answers.

    Args:
        people: The answers of a sheet with people's codes; no codes if nobody has rated.
        scale: The scale of the sheet.
        judges: Judges and metrics, for the same answers in the same order.

    Returns:
        Plain data: `raters`, `rated`, `answers`, `agreement`, `shares`, `correlations`, and the settings of
        the judges.
    """
    codes_NK = np.array([one.codes for one in people], dtype=np.float64).reshape(len(people), -1)
    rated_N = ~np.isnan(codes_NK).all(1) if codes_NK.size else np.zeros(len(people), dtype=bool)
    every = [*judges, *filter(None, [panel(judges)])]
    return {
        "scale": scale.name,
        "raters": codes_NK.shape[1],
        "rated": int(rated_N.sum()),
        "answers": len(people),
        "judges": {one.name: dict(one.about) for one in judges},
        "unread": {one.name: int(np.isnan(one.codes).sum()) for one in judges if one.codes is not None},
        "one_word": {one.name: word for one in judges if (word := _one_word(one, scale))},
        "agreement": list(_agreement(codes_NK, every, scale)) if rated_N.any() else [],
        "shares": list(_shares(people, scale, every)),
        "correlations": list(_correlations(people, scale, every)) if rated_N.any() else [],
    }


def targets(people: Sequence[Rated], scale: Scale) -> dict[str, Ratings]:
    """The quantities to estimate for every answer, from people's codes: mean score, or whether it has a word.

    Returns:
        By quantity a number for each answer, nan where people gave none or are divided.
    """
    given = [[code for code in one.codes if not isnan(code)] for one in people]
    if scale.scored:
        return {SCORE: np.array([np.mean(codes) if codes else np.nan for codes in given])}
    picked = np.array([scale.pick(codes) if codes else np.nan for codes in given])
    return {word: _is(picked, code) for word, code in scale.codes.items()}


def signals(judge: Judge, scale: Scale) -> dict[str, Ratings]:
    """A judge's predictions of the same quantities, from the values of its words."""
    if not scale.scored:
        return dict(judge.values)
    if judge.codes is None:
        return {SCORE: next(iter(judge.values.values()))}
    return {SCORE: np.sum([code * judge.values[word] for word, code in scale.codes.items()], axis=0)}


def own(judge: Judge, scale: Scale) -> dict[str, Ratings]:
    """A judge's values of the same quantities by its codes; nothing for a metric."""
    if judge.codes is None:
        return {}
    if scale.scored:
        return {SCORE: judge.codes}
    return {word: _is(judge.codes, code) for word, code in scale.codes.items()}


def _is(codes_N: Ratings, code: float) -> Ratings:
    return np.where(np.isnan(codes_N), np.nan, codes_N == code)


def _one_word(judge: Judge, scale: Scale) -> str | None:
    """The word of a judge that gave no other one to two answers or more."""
    codes = [] if judge.codes is None else judge.codes[~np.isnan(judge.codes)].tolist()
    if len(codes) < 2 or len(set(codes)) > 1:
        return None
    return next(word for word, code in scale.codes.items() if code == codes[0])


def _agreement(codes_NK: Ratings, judges: Sequence[Judge], scale: Scale) -> Iterator[dict[str, Any]]:
    """Agreement of people with each other, then of each judge with people: means over pairs of two raters."""
    columns = list(codes_NK.T)
    yield _pairs(PEOPLE, list(combinations(columns, 2)), scale)
    for judge in judges:
        if judge.codes is not None:
            yield _pairs(judge.name, [(judge.codes, column) for column in columns], scale)


def _pairs(name: str, pairs: Sequence[tuple[Ratings, Ratings]], scale: Scale) -> dict[str, Any]:
    measured = [_pair(*pair, scale) for pair in pairs]
    row: dict[str, Any] = {"rater": name, "pairs": len(pairs), "n": sum(one.pop("n") for one in measured)}
    for measure in ("same", "kappa", "alpha_nominal", "alpha_interval", "icc"):
        known = [one[measure] for one in measured if one[measure] is not None]
        row[measure] = float(np.mean(known)) if known else None
    return row


def _pair(one_N: Ratings, other_N: Ratings, scale: Scale) -> dict[str, Any]:
    both_N = ~np.isnan(one_N) & ~np.isnan(other_N)
    codes_N2 = np.stack([one_N[both_N], other_N[both_N]], axis=1)
    scored = intraclass(codes_N2) if scale.scored and len(codes_N2) else None
    return {
        "n": len(codes_N2),
        "same": float((codes_N2[:, 0] == codes_N2[:, 1]).mean()) if len(codes_N2) else None,
        "kappa": kappa(one_N, other_N),
        "alpha_nominal": alpha(codes_N2, "nominal"),
        "alpha_interval": alpha(codes_N2, "interval"),
        "icc": None if scored is None else scored.single,
    }


def _shares(people: Sequence[Rated], scale: Scale, judges: Sequence[Judge]) -> Iterator[dict[str, Any]]:
    """For each system and quantity: people's mean where they rated, and the estimate by each judge."""
    wanted = targets(people, scale)
    said = [(one.name, signals(one, scale), own(one, scale)) for one in judges]
    groups = np.array([one.generation.group for one in people])
    systems = np.array([one.model for one in people])
    support = (min(scale.codes.values()), max(scale.codes.values())) if scale.scored else (0.0, 1.0)
    for system in dict.fromkeys(systems.tolist()):
        of = systems == system
        names = groups[of].tolist()
        for quantity, target_N in wanted.items():
            people_N = target_N[of]
            alone = prediction_powered.corrected(people_N, np.zeros(len(people_N)), names, support, slope=0)
            row: dict[str, Any] = {
                "system": system,
                "quantity": quantity,
                "people": _plain(alone),
                "judges": {},
            }
            for name, values, given in said:
                found = prediction_powered.corrected(people_N, values[quantity][of], names, support)
                code_N = given.get(quantity, np.array([]))
                code_N = code_N[of] if len(code_N) else code_N
                known_N = code_N[~np.isnan(code_N)]
                row["judges"][name] = {
                    "own": float(known_N.mean()) if len(known_N) else None,
                    "read": len(known_N),
                    "corrected": _plain(found),
                    "worth": None
                    if found is None or alone is None
                    else prediction_powered.worth(found, alone),
                }
            yield row


def _plain(found: prediction_powered.Corrected | None) -> dict[str, Any] | None:
    """The value for JSON, which has no nan: None in its place."""
    if found is None:
        return None
    return {
        name: None if isinstance(value, float) and isnan(value) else value
        for name, value in asdict(found).items()
    }


def _correlations(people: Sequence[Rated], scale: Scale, judges: Sequence[Judge]) -> Iterator[dict[str, Any]]:
    """Correlation of each judge's and metric's values with people, for each quantity."""
    groups = np.array([one.generation.group for one in people])
    for quantity, target_N in targets(people, scale).items():
        for judge in judges:
            values_N = signals(judge, scale)[quantity]
            both_N = ~np.isnan(target_N) & ~np.isnan(values_N)
            x, y = values_N[both_N].tolist(), target_N[both_N].tolist()
            linear = pearson(x, y, groups[both_N].tolist()) if len(x) else None
            ranks = spearman(x, y)
            yield {
                "judge": judge.name,
                "quantity": quantity,
                "pearson": None if linear is None else asdict(linear),
                "spearman": None if ranks is None else ranks.r,
            }

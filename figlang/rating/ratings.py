"""What people's ratings of answers say of the models, and how well the raters agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from figlang.errors import FiglangError
from figlang.rating.sheets import SCALES, Rated
from figlang.statistics.agreement import Ratings, ac1, alpha, intraclass, majority, plurality
from figlang.statistics.clustered import Support
from figlang.statistics.metrics import ratio
from figlang.tables.screen import plain
from figlang.types import Generation


def found_correct(rated: Sequence[Rated], model: str) -> dict[str, list[Generation]]:
    """The answers that all their raters found correct, by kind; of several raters, at least two.

    Raises FiglangError for a sheet with answers of others than `model`: examples are a model's own answers.
    """
    if others := {one.model for one in rated} - {model}:
        raise FiglangError(
            f"the sheet has answers of {', '.join(sorted(others))}; examples for {model} come from a sheet "
            "that figlang generate "
            "wrote for it alone"
        )
    found: dict[str, list[Generation]] = defaultdict(list)
    for one in rated:
        given = [code for code in one.codes if not np.isnan(code)]
        if len(given) >= min(2, len(one.codes)) and set(given) == {1}:
            found[one.generation.kind].append(one.generation)
    return dict(found)


def statistics(rated: Sequence[Rated], scale: str) -> dict[str, Any]:
    """What the ratings say of each model, and how well the raters agree."""
    by_model: dict[str, list[Rated]] = defaultdict(list)
    for one in rated:
        by_model[one.model].append(one)
    summary = {"miqa": scores, "figqa": shares, "munch": categories}[scale]
    return {
        "scale": scale,
        "models": {model: summary(several) for model, several in by_model.items()},
        "agreement": agreement(rated, scale),
        "by_answer": [by_answer(one) for one in rated],
    }


def by_answer(one: Rated) -> dict[str, Any]:
    """How many rated an answer, and, of several, the share that gave its majority code."""
    given = [code for code in one.codes if not np.isnan(code)]
    agreeing = given.count(majority(given)) / len(given) if len(given) > 1 else None
    asked = one.generation
    return {
        "model": one.model,
        "item": asked.item,
        "kind": asked.kind,
        "sample": asked.sample,
        "raters": len(given),
        "agreeing": agreeing,
    }


def agreement(rated: Sequence[Rated], scale: str) -> dict[str, Any]:
    """ICC of the answers that all have rated and of all answers (of scores; codes have none), alpha as
    nominal and as interval codes, Gwet's AC1, and in how many answers with several ratings the raters are of
    one mind."""
    codes_IK = _matrix(rated)
    scored = scale == "miqa"
    complete = intraclass(codes_IK[~np.isnan(codes_IK).any(1)]) if scored else None
    incomplete = intraclass(codes_IK) if scored else None
    several = [set(row[~np.isnan(row)]) for row in codes_IK if (~np.isnan(row)).sum() > 1]
    return {
        "icc_complete": None if complete is None else asdict(complete),
        "icc_incomplete": None if incomplete is None else asdict(incomplete),
        "alpha_nominal": alpha(codes_IK, "nominal"),
        "alpha_interval": alpha(codes_IK, "interval"),
        "gwet_ac1": ac1(codes_IK, len(SCALES[scale])),
        "unanimous": sum(len(codes) == 1 for codes in several),
        "rated_by_several": len(several),
    }


def scores(rated: Sequence[Rated]) -> dict[str, Any]:
    """MiQA: the mean over answers of the raters' mean score, with a 95 % interval over rows of the data
    set."""
    means = [
        (one.generation.group, float(np.nanmean(one.codes))) for one in rated if not np.isnan(one.codes).all()
    ]
    if not means:
        return {"rated": 0}
    groups: dict[str, list[float]] = defaultdict(list)
    for group, mean in means:
        groups[group].append(mean)
    hits, sizes = [sum(values) for values in groups.values()], [len(values) for values in groups.values()]
    codes = SCALES["miqa"].values()
    found = ratio(hits, sizes, support=Support(min(codes), max(codes)))
    return {
        "score": found.value,
        "low": found.low,
        "high": found.high,
        "rated": found.n,
        "clusters": found.clusters,
    }


def shares(rated: Sequence[Rated]) -> dict[str, Any]:
    """Fig-QA: the majority code of every answer, and of every metaphor with several answers, all of them
    rated, whether they contradict each other (one correct, one incorrect), whether any is correct, and
    whether all are (Liu et al. 2022, §5.2)."""
    codes = SCALES["figqa"]
    by_item: dict[str, list[float]] = defaultdict(list)
    for one in rated:
        by_item[one.generation.item].append(np.nan if np.isnan(one.codes).all() else majority(one.codes))
    found = [code for several in by_item.values() for code in several]
    counts = {word: found.count(code) for word, code in codes.items()}
    judged = counts["correct"] + counts["incorrect"]
    several = [set(codes_of_item) for codes_of_item in by_item.values() if len(codes_of_item) > 1]
    # What an unrated answer would be is not known, so a metaphor with one is neither all correct nor without
    # any.
    complete = [one for one in several if not any(map(np.isnan, one))]
    return {
        "majority": counts,
        "correct_of_unambiguous": _share(counts["correct"], judged + counts["literal"]),
        "correct_of_figurative": _share(counts["correct"], judged),
        "contradictory": sum({codes["correct"], codes["incorrect"]} <= one for one in complete),
        "any_correct": sum(codes["correct"] in one for one in complete),
        "all_correct": sum(one == {codes["correct"]} for one in complete),
        "metaphors": len(complete),
        "incomplete": len(several) - len(complete),
    }


def categories(rated: Sequence[Rated]) -> dict[str, Any]:
    """MUNCH: how often each category is the one that most raters of an answer chose, as a share of the
    answers that have such a category, with a 95 % interval over sentences (Tong et al. 2024, §8). `undecided`
    counts the other rated answers."""
    chosen = [(one.generation.group, plurality(one.codes)) for one in rated if not np.isnan(one.codes).all()]
    decided = [(group, code) for group, code in chosen if not np.isnan(code)]
    counts: dict[str, Any] = {"decided": len(decided), "undecided": len(chosen) - len(decided)}
    for word, code in SCALES["munch"].items() if decided else ():
        groups: dict[str, list[bool]] = defaultdict(list)
        for group, given in decided:
            groups[group].append(given == code)
        hits, sizes = [sum(values) for values in groups.values()], [len(values) for values in groups.values()]
        found = ratio(hits, sizes)
        counts[word] = {
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "n": found.n,
            "clusters": found.clusters,
        }
    return counts


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _matrix(rated: Sequence[Rated]) -> Ratings:
    return np.array([one.codes for one in rated], dtype=np.float64)


def show(content: Mapping[str, Any], console: Console) -> None:
    """The statistics as a table for each model and lines on the agreement."""
    table = Table(
        title=f"Ratings, scale {content['scale']}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("model")
    models = content["models"]
    columns = list(dict.fromkeys(name for found in models.values() for name in found))
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for model, found in models.items():
        table.add_row(plain(model), *(_cell(found.get(name)) for name in columns))
    console.print(table)
    agreed = content["agreement"]
    for name, title in (
        ("icc_complete", "answers that all rated"),
        ("icc_incomplete", "all answers, ICC(2,k) as if each had all raters"),
    ):
        if (found := agreed[name]) is not None:
            text = f"ICC(2,1) {found['single']:.2f}, ICC(2,k) {found['average']:.2f}"
            console.print(
                f"{text} of {found['raters']} raters on {found['items']} answers ({title})", highlight=False
            )
    for level in ("nominal", "interval"):
        if (value := agreed[f"alpha_{level}"]) is not None:
            console.print(f"Krippendorff's alpha, {level}: {value:.4f}", highlight=False)
    if (value := agreed["gwet_ac1"]) is not None:
        console.print(f"Gwet's AC1: {value:.4f}", highlight=False)
    console.print(
        f"of one mind on {agreed['unanimous']} of {agreed['rated_by_several']} answers with several ratings",
        highlight=False,
    )


def _cell(value: Any) -> str:
    if isinstance(value, Mapping) and "low" in value:
        return f"{100 * value['value']:.1f} % ({100 * value['low']:.1f} – {100 * value['high']:.1f})"
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {word}" for word, count in value.items())
    return f"{value:.3f}" if isinstance(value, float) else "–" if value is None else str(value)

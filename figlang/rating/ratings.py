"""Statistics of people's ratings: how good each model's answers are, and how well the raters agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from figlang.errors import FiglangError
from figlang.statistics.agreement import Ratings, ac1, alpha, intraclass, majority
from figlang.tables.screen import plain
from figlang.tasks import registry
from figlang.tasks.scales import Rated
from figlang.types import Generation


def found_correct(rated: Sequence[Rated], model: str) -> dict[str, list[Generation]]:
    """Select the answers that all their raters found correct, by kind.

    If there are several raters, at least two must have rated an answer. Raises FiglangError if the sheet has
    answers of another model: examples are answers of `model` itself.
    """
    if others := {one.model for one in rated} - {model}:
        raise FiglangError(
            f"the sheet has answers of {', '.join(sorted(others))}; examples for {model} must come from a "
            "sheet with its own answers only, which figlang generate writes"
        )
    found: dict[str, list[Generation]] = defaultdict(list)
    for one in rated:
        given = [code for code in one.codes if not np.isnan(code)]
        if len(given) >= min(2, len(one.codes)) and set(given) == {1}:
            found[one.generation.kind].append(one.generation)
    return dict(found)


def statistics(rated: Sequence[Rated], scale: str) -> dict[str, Any]:
    """Statistics of each model's ratings, and the agreement of the raters."""
    by_model: dict[str, list[Rated]] = defaultdict(list)
    for one in rated:
        by_model[one.model].append(one)
    used = registry.scales()[scale]
    return {
        "scale": scale,
        "models": {model: used.summarise(several) for model, several in by_model.items()},
        "agreement": agreement(rated, scale),
        "by_answer": [by_answer(one) for one in rated],
    }


def by_answer(one: Rated) -> dict[str, Any]:
    """Number of ratings of an answer. If there are several, also the share that gave the most frequent
    code."""
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
    """Measures of the raters' agreement.

    They are: ICC (only for scores) over the answers that all have rated, and over all answers; alpha for
    nominal and for interval codes; Gwet's AC1; and the number of answers with several ratings that are all
    the same.
    """
    used = registry.scales()[scale]
    return measures(np.array([one.codes for one in rated], dtype=np.float64), len(used.codes), used.scored)


def measures(codes_IK: Ratings, categories: int, scored: bool = False) -> dict[str, Any]:
    """The measures of `agreement` for codes of items (rows) by raters (columns), nan where there is none.

    `categories` is the number of codes that raters can choose from. Only `scored` codes have an ICC.
    """
    complete = intraclass(codes_IK[~np.isnan(codes_IK).any(1)]) if scored else None
    incomplete = intraclass(codes_IK) if scored else None
    several = [set(row[~np.isnan(row)]) for row in codes_IK if (~np.isnan(row)).sum() > 1]
    return {
        "icc_complete": None if complete is None else asdict(complete),
        "icc_incomplete": None if incomplete is None else asdict(incomplete),
        "alpha_nominal": alpha(codes_IK, "nominal"),
        "alpha_interval": alpha(codes_IK, "interval"),
        "gwet_ac1": ac1(codes_IK, categories),
        "unanimous": sum(len(codes) == 1 for codes in several),
        "rated_by_several": len(several),
    }


def show(content: Mapping[str, Any], console: Console) -> None:
    """Print the statistics: a table with a column for each model, and lines about the agreement."""
    table = Table(
        title=f"Ratings, scale {content['scale']}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    models = content["models"]
    table.add_column("model", overflow="fold")
    for model in models:
        table.add_column(plain(model), justify="right", overflow="fold")
    for name in dict.fromkeys(name for found in models.values() for name in found):
        table.add_row(name.replace("_", " "), *(_cell(found.get(name)) for found in models.values()))
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
    if several := agreed["rated_by_several"]:
        console.print(
            f"of one mind on {agreed['unanimous']} of {several} answers with several ratings", highlight=False
        )
    else:
        console.print("agreement needs two sheets or more with ratings of the same answers", highlight=False)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping) and "low" in value:
        return f"{100 * value['value']:.1f} % ({100 * value['low']:.1f} – {100 * value['high']:.1f})"
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {word}" for word, count in value.items())
    return f"{value:.3f}" if isinstance(value, float) else "–" if value is None else str(value)

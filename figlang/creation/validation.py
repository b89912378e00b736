"""Choices of other people: their agreement with the writers, and with each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from figlang.creation.drafts import Fault
from figlang.errors import FiglangError
from figlang.rating import ratings
from figlang.statistics import common, metrics
from figlang.statistics.common import Answered
from figlang.statistics.metrics import Estimate
from figlang.types import Item, Prediction

Choices = Mapping[str, Sequence[Answered]]


def read(paths: Sequence[Path], items: Sequence[Item]) -> dict[str, list[Answered]]:
    """The answers of all people by item.

    Args:
        paths: CSV files with the columns id and choice. Without a column rater, a file is of one person.
        items: What they were asked.

    Raises:
        FiglangError: A file cannot be read, or it is about other items.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise FiglangError(f"ratings=[{','.join(map(str, paths))}] names a file twice; give each once")
    options = {item.id: len(item.options) for item in items}
    found: dict[str, list[Answered]] = {}
    for path in paths:
        for name, several in common.people(path).items():
            if name not in options:
                raise FiglangError(
                    f"{path} has an answer to {name}, which is not an item of file=; give its file"
                )
            for one in several:
                if one.choice >= options[name]:
                    raise FiglangError(
                        f"{path} has the choice {one.choice + 1} for {name}, which has "
                        f"{options[name]} options; correct it"
                    )
                rater = one.rater or path.stem
                if any(rater == other.rater for other in found.get(name, ())):
                    raise FiglangError(f"{path} has a second answer of {rater} to {name}; keep one")
                found.setdefault(name, []).append(Answered(one.choice, rater, one.confident))
    return found


def doubtful(items: Sequence[Item], choices: Choices, least: float) -> list[Fault]:
    """Items on which fewer people than a share chose the writer's option.

    Args:
        items: The items.
        choices: What people chose.
        least: The smallest share that is enough.
    """
    faults = []
    for item in items:
        several = choices.get(item.id, ())
        right = sum(one.choice == item.gold for one in several)
        if several and right < least * len(several):
            faults.append(
                Fault(item.id, "people", f"{right} of {len(several)} people chose the writer's option")
            )
    return faults


def agreement(items: Sequence[Item], choices: Choices) -> dict[str, Any]:
    """Agreement of people with the writers and with each other, on the items that they answered.

    Args:
        items: The items.
        choices: What people chose.

    Returns:
        The number of items, raters and answers; the share of answers that are the writers' (`answers_right`)
        and of items whose majority is (`majority_right`, the human ceiling); and the measures of agreement
        between people (`between`).
    """
    asked = [item for item in items if choices.get(item.id)]
    names = sorted({one.rater for item in asked for one in choices[item.id]})
    codes_IR = np.full((len(asked), len(names)), np.nan)
    for row, item in enumerate(asked):
        for one in choices[item.id]:
            codes_IR[row, names.index(one.rater)] = one.choice
    single = [
        Prediction.of(item, common.shares([one], len(item.options)))
        for item in asked
        for one in choices[item.id]
    ]
    whole = [Prediction.of(item, common.shares(choices[item.id], len(item.options))) for item in asked]
    right: Estimate | None = metrics.accuracy(single)
    majority: Estimate | None = metrics.accuracy(whole)
    return {
        "items": len(asked),
        "raters": len(names),
        "answers": len(single),
        "answers_right": right,
        "majority_right": majority,
        "between": ratings.measures(codes_IR, max(len(item.options) for item in asked)) if asked else {},
    }

"""One set of items in several wordings of the question: how much of an accuracy depends on the words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from figlang import tables
from figlang.config import PromptConfig
from figlang.config.verbs.sensitivity import SensitivityConfig
from figlang.errors import FiglangError
from figlang.evaluation import assessment, opening, predicting, soundness
from figlang.evaluation.how import Share
from figlang.models.checkpoint import Served
from figlang.models.formats import Ability
from figlang.runs import outputs
from figlang.runs.answered import Answered
from figlang.statistics import metrics
from figlang.tables import Cell, Mean, Table
from figlang.tasks import prompting
from figlang.text.amounts import form

NOTE = (
    "The sd is between wordings; the range is their lowest and highest value. Intervals are over pairs or "
    "clusters of items."
)


def measure(config: SensitivityConfig) -> tuple[Table, Path] | None:
    """Ask in every wording.

    Args:
        config: The options of the command.

    Returns:
        The table, and the folder with it and the predictions of each wording; None after a dry run.

    Raises:
        FiglangError: The items have no wordings, or the model cannot be asked.
    """
    split = opening.items(config)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    loaded = opening.model(config)
    if loaded.manifest.input_format.ability is not Ability.REPLY:
        raise FiglangError(
            f"figlang sensitivity asks chat models, but {loaded.manifest.name} reads its inputs as "
            f"{loaded.manifest.format}; give a causal model"
        )
    share = Share(split, range(len(split.items)))
    wordings = chosen(share.questions.wordings(split.items, config.prompt), config.wordings)
    asked = replace(assessment.how(config, pool), blind=False)
    if isinstance(loaded, Served) and config.model.dry_run:
        ways = [replace(asked, prompt=prompt) for prompt in wordings.values()]
        loaded.endpoint.client.plan.rehearse(lambda: [predicting.answer(loaded, split, way) for way in ways])
        return None
    found: dict[str, Answered] = {}
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.result(config, wanted) as new:
        with soundness.explained(loaded):
            for name, prompt in wordings.items():
                rows, _ = predicting.answer(loaded, split, replace(asked, prompt=prompt))
                assert rows is not None, "one process alone asks"
                found[name] = rows
                (new / name).mkdir()
                rows.write(new / name)
        table = compared(found)
        tables.write([table], new)
    return table, outputs.place(config)


def chosen(known: Mapping[str, PromptConfig], names: Sequence[str]) -> dict[str, PromptConfig]:
    """The wordings with some names; all of them if no names are given.

    Raises:
        FiglangError: There is no such wording, or fewer than two.
    """
    if odd := [name for name in names if name not in known]:
        raise FiglangError(
            f"wordings={odd[0]} is not a wording of these items; choose from {', '.join(known)}"
        )
    found = {name: known[name] for name in names or known}
    if len(found) < 2:
        raise FiglangError("give two wordings or more, so that they can be compared")
    return found


def compared(found: Mapping[str, Answered]) -> Table:
    """A row for each wording, then their mean with its sd, and their range.

    Args:
        found: What was answered in each wording.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, answered in found.items():
        unread = _unread(answered)
        pair = metrics.pair_accuracy(answered.forward)
        rows.append((name, metrics.accuracy(answered.forward), pair, unread))
    columns = ("wording", "accuracy", "pair accuracy", "unread replies")
    values = [[_value(row[place]) for row in rows] for place in (1, 2, 3)]
    means: list[Cell] = [Mean.over(each) if (each := _known(column)) else None for column in values]
    ranges: list[Cell] = [_range(_known(column)) for column in values]
    alike, questions = _alike(list(found.values()))
    same = f"{alike} of {questions} questions {form(alike, 'has', 'have')} the same choice in all wordings."
    return Table(
        "sensitivity",
        f"Sensitivity to {len(found)} wordings",
        columns,
        (*rows, ("mean ± sd", *means), ("range", *ranges)),
        (NOTE, same),
    )


def _unread(answered: Answered) -> Cell:
    if not answered.replies:
        return None
    of = {row.id: row.group for row in answered.forward}
    return metrics.over_groups((of[reply["id"]], reply["letter"] is None) for reply in answered.replies)


def _value(cell: Cell) -> float | None:
    return cell.value if isinstance(cell, metrics.Estimate) else None


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _range(values: Sequence[float]) -> str | None:
    return f"{100 * min(values):.1f} – {100 * max(values):.1f} %" if values else None


def _alike(found: Sequence[Answered]) -> tuple[int, int]:
    """How many questions have the same choice in all wordings, and how many there are."""
    choices = zip(*([row.choice for row in answered.forward] for answered in found), strict=True)
    same = [len(set(each)) == 1 and None not in each for each in choices]
    return sum(same), len(same)

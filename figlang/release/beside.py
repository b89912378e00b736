"""A checkpoint beside its untrained base on the same items: what its training gained and lost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from figlang.errors import FiglangError
from figlang.models.manifest import UNTRAINED, Manifest
from figlang.release import portable
from figlang.reports.terminal import BLIND, GAIN
from figlang.runs import systems
from figlang.runs.systems import System
from figlang.statistics.clustered import LEVEL
from figlang.statistics.comparison import Difference, compare, holm
from figlang.statistics.metrics import as_row
from figlang.tables import Cell, Table, markdown
from figlang.tables import text as shown

# Facts that two evaluations must share to be set beside each other.
SAME = ("scoring", "norm", "prompt")


def rows(folders: Sequence[str], manifest: Manifest) -> list[dict[str, Any]]:
    """Pair each evaluation of a checkpoint with that of its base, on the same items with the same scoring.

    Args:
        folders: Evaluation folders of the checkpoint and of its base.
        manifest: The checkpoint's manifest.

    Returns:
        Plain data for metrics.json, in the order of the checkpoint's folders.

    Raises:
        FiglangError: If a folder is of another network, or if an evaluation of the base is missing.
    """
    evaluations = systems.read(folders)
    own = [system for system in evaluations if _trained(system).endswith(f"@{manifest.settings}")]
    bases = [
        system
        for system in evaluations
        if _trained(system).endswith(f"@{UNTRAINED}") and _is_base(system, manifest)
    ]
    if other := [system for system in evaluations if system not in own and system not in bases]:
        raise FiglangError(
            f"{other[0].folder} is an evaluation of neither this checkpoint nor the untrained {manifest.base}"
        )
    return [_row(system, _base(system, bases)) for system in own]


def _is_base(system: System, manifest: Manifest) -> bool:
    """Whether an evaluation is of the network below a checkpoint. A release has no path of this machine."""
    base = str(system.content["facts"].get("base"))
    return manifest.base in (base, portable.source(base))


def _trained(system: System) -> str:
    return str(system.content.get("facts", {}).get("trained", ""))


def _base(own: System, bases: Sequence[System]) -> System:
    matching = [base for base in bases if _asked(base) == _asked(own)]
    if not matching:
        facts = own.content["facts"]
        raise FiglangError(
            f"{own.folder}: there is no evaluation of the untrained {facts.get('base')} on the same "
            f"items by {facts.get('scoring')}; make one by figlang evaluate model=PRESET"
        )
    systems.check_data([own, matching[0]])
    return matching[0]


def _asked(system: System) -> tuple[Any, ...]:
    facts = system.content["facts"]
    return (
        system.content["split"],
        [row.id for row in system.predictions],
        *(facts.get(name) for name in SAME),
    )


def _row(own: System, base: System) -> dict[str, Any]:
    return {
        "data_name": own.content["data_name"],
        "split": own.content["split"],
        "scoring": str(own.content["facts"]["scoring"]).partition("(")[0],
        **_numbers(own),
        "signature": own.content["signature"],
        "base": {**_numbers(base), "signature": base.content["signature"]},
        "difference": asdict(compare(own.predictions, base.predictions)[0]),
    }


def _numbers(system: System) -> dict[str, Any]:
    content = system.content
    blind = content.get("blind", {}).get("accuracy")
    return {
        "accuracy": content["metrics"]["accuracy"],
        **({} if blind is None else {"blind": blind}),
        **({"gain": content["gain"]} if "gain" in content else {}),
    }


def section(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The section of a card about what the training won and lost: what `rows` made, as Markdown.

    Empty if there are no such evaluations.
    """
    if not evaluations:
        return ""
    cells: list[tuple[Cell, ...]] = [
        (
            f"{evaluation['data_name']}, {evaluation['scoring']}",
            *_seen(evaluation),
            *_seen(evaluation["base"]),
            Difference(**evaluation["difference"]),
        )
        for evaluation in evaluations
    ]
    columns = (
        "data, scoring",
        "accuracy",
        BLIND,
        GAIN,
        "base",
        f"base, {BLIND}",
        f"base, {GAIN}",
        "to the base",
    )
    notes = (
        "Blind: the same network chooses among the same options with the context hidden. Gains and "
        "differences are in points.",
    )
    table = markdown(
        Table("beside", "This checkpoint and its base as it comes", columns, tuple(cells), notes)
    )
    return f"\n## What the training won and lost\n\n{_changed(evaluations)}\n\n{table}"


def _changed(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The differences that were found, as the tests of all data sets together allow."""
    found = [Difference(**row["difference"]) for row in evaluations]
    told = [
        (f"{row['data_name']} {shown(difference)}", difference.value)
        for row, difference, p in zip(evaluations, found, holm([one.p for one in found]), strict=True)
        if p < LEVEL
    ]
    won, lost = (
        ", ".join(name for name, value in told if value * sign > 0) or "nothing that its test tells from 0"
        for sign in (1, -1)
    )
    several = (
        f" A difference is named if its p is below {LEVEL} after Holm's correction for {len(found)} tests. "
        "Intervals are not corrected."
    )
    return f"Won in accuracy: {won}. Lost in accuracy: {lost}.{several if len(found) > 1 else ''}"


def _seen(numbers: Mapping[str, Any]) -> tuple[Cell, Cell, Cell]:
    gain = Difference(**numbers["gain"]) if "gain" in numbers else None
    return as_row(numbers, "accuracy"), as_row(numbers, "blind"), gain

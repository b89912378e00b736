"""The conclusion of a sweep: a row for each setting, means over seeds, and the command for the best one.

The best setting has the lowest loss on held-out training pairs. Accuracy on the evaluated items is shown, but
never decides: it would then be optimistic.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.reports.terminal import BLIND
from figlang.runs import origins, recomputed
from figlang.runs.names import flat
from figlang.statistics.metrics import as_row, spread
from figlang.tables import Cell, Mean, Table
from figlang.text.amounts import counted

# Groups of held-out items below which a difference in loss is mostly chance.
ENOUGH = 50
TABLE = "sweep"  # the name of the table, and of its files
FILE = "data.file"
LOSS, ACCURACY = "held-out loss", "held-out accuracy"


@dataclass(frozen=True)
class Run:
    """A finished training.

    Attributes:
        folder: Its folder.
        settings: Its settings without the seed, `group.name` to value.
        seed: Its seed.
        selected: The exported epoch on the held-out items: loss, accuracy and number of groups; empty without
            a selection.
        content: Its metrics.json.
    """

    folder: Path
    settings: Mapping[str, str]
    seed: int
    selected: Mapping[str, float]
    content: Mapping[str, Any]


def below(folders: Iterable[Path]) -> tuple[list[Run], int]:
    """The finished trainings in folders and below them, and how many others are unfinished.

    A mean of weights is not a training. It has the recipe and the seed of its first run.

    Raises:
        FiglangError: A file of a run is damaged, or a folder does not exist.
    """
    runs: dict[Path, Run] = {}
    unfinished = 0
    for folder in folders:
        if not folder.is_dir():
            raise FiglangError(f"there is no folder {folder}; give run folders, or a folder that holds them")
        for recipe in sorted(folder.glob("**/recipe.json")):
            if not (recipe.parent / "metrics.json").is_file():
                unfinished += 1
            elif "averaged" not in (run := _read(recipe.parent)).content:
                runs[recipe.parent.resolve()] = run
    return list(runs.values()), unfinished


def once(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Runs without those that repeat an earlier one, since a mean over seeds counts each seed once.

    Args:
        runs: Finished trainings.

    Returns:
        The first run of every setting and seed; the runs that repeat one of these.
    """
    kept: list[Run] = []
    repeated: list[Run] = []
    for run in runs:
        known = any(run.seed == other.seed and run.settings == other.settings for other in kept)
        (repeated if known else kept).append(run)
    return kept, repeated


def _read(folder: Path) -> Run:
    content = recomputed.checked(folder / "metrics.json")
    recipe = origins.recipe(folder)
    settings = flat(origins.without_seed(recipe)["settings"])
    # A recipe has the hash of the items in place of the path, which tells files of one name apart.
    if file := content.get("data", {}).get("settings", {}).get("file"):
        settings[FILE] = str(file)
    return Run(
        folder,
        settings,
        int(recipe["settings"]["seed"]),
        content.get("training", {}).get("selected") or {},
        content,
    )


def varying(runs: Sequence[Run]) -> list[str]:
    """The settings that differ between runs. The name of a preset stands for all settings that it
    determines."""
    names = list(dict.fromkeys(name for run in runs for name in run.settings))
    differ = [name for name in names if len(set(_values(runs, name))) > 1]
    kept = []
    for name in differ:
        preset = f"{name.partition('.')[0]}.name"
        pairs = set(zip(_values(runs, preset), _values(runs, name), strict=True))
        told = preset in differ and len(pairs) == len({first for first, _ in pairs})
        if name == preset or not told:
            kept.append(name)
    return kept


def grouped(runs: Sequence[Run]) -> dict[tuple[str, ...], list[Run]]:
    """The runs by the values of their varying settings, in the order of their first run."""
    values = [_values(runs, name) for name in varying(runs)]
    groups: dict[tuple[str, ...], list[Run]] = {}
    for place, run in enumerate(runs):
        groups.setdefault(tuple(each[place] for each in values), []).append(run)
    return groups


def _values(runs: Sequence[Run], name: str) -> list[str]:
    """A setting of each run. Paths that lead each run to its own seed, as in trainings of two stages, are one
    value. A path that runs of other seeds have too is one start for several seeds, and stays as it is."""
    values = [run.settings.get(name, "–") for run in runs]
    alike = [re.sub(rf"\bseed{run.seed}\b", "seed*", at) for run, at in zip(runs, values, strict=True)]
    shared = {at for at, one in zip(values, alike, strict=True) if at == one}
    paths: dict[str, set[str]] = {}
    for at, one in zip(values, alike, strict=True):
        if at not in shared:
            paths.setdefault(one, set()).add(at)
    return [
        one if len(paths.get(one, ())) > 1 and at not in shared else at
        for at, one in zip(values, alike, strict=True)
    ]


def best(groups: Mapping[tuple[str, ...], Sequence[Run]]) -> tuple[str, ...] | None:
    """The setting with the lowest mean held-out loss; None if a run has no such loss."""
    if not all("loss" in run.selected for members in groups.values() for run in members):
        return None
    return min(groups, key=lambda setting: spread([run.selected["loss"] for run in groups[setting]])[0])


def table(runs: Sequence[Run]) -> Table:
    """A row for each setting: means and standard deviations over its seeds.

    Args:
        runs: Finished trainings.
    """
    groups, names = grouped(runs), varying(runs)
    chosen = best(groups)
    rows = [_row(setting, members, setting == chosen) for setting, members in groups.items()]
    evaluated = ", ".join(dict.fromkeys(str(run.content.get("data_name")) for run in runs))
    columns = (*names, "seeds", LOSS, ACCURACY, "accuracy", "pair accuracy", BLIND, "")
    # Columns without a number in any row, and that of the mark if nothing is marked, say nothing.
    kept = [place for place in range(len(columns)) if any(row[place] not in (None, "") for row in rows)]
    alike = {_seeds(members) for members in groups.values()}
    of = counted(len(runs), "run") + (f" of seeds {min(alike)}" if len(alike) == 1 else "")
    return Table(
        TABLE,
        f"{of}, evaluated on {evaluated}",
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in rows),
        notes=tuple(_notes(groups, chosen)),
        optional=("seeds",) if len(alike) == 1 else (),  # they are in the title too
    )


def _seeds(runs: Sequence[Run]) -> str:
    return ", ".join(map(str, sorted(run.seed for run in runs)))


def _row(setting: tuple[str, ...], runs: Sequence[Run], chosen: bool) -> tuple[Cell, ...]:
    losses = [run.selected["loss"] for run in runs if "loss" in run.selected]
    held = [run.selected["accuracy"] for run in runs if "accuracy" in run.selected]
    measured = [
        [row.value for run in runs if (row := as_row(run.content.get(part, {}), name)) is not None]
        for part, name in (("metrics", "accuracy"), ("metrics", "pair_accuracy"), ("blind", "accuracy"))
    ]
    *shares, blind = measured
    return (
        *setting,
        _seeds(runs),
        _loss(losses),
        *(Mean.over(values) if values else None for values in (held, *shares)),
        Mean.over(blind) if len(blind) == len(runs) else None,
        "best" if chosen else "",
    )


def _loss(values: Sequence[float]) -> str | None:
    if not values:
        return None
    mean, deviation = spread(values)
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ± {deviation:.4f}"


def _notes(groups: Mapping[tuple[str, ...], Sequence[Run]], chosen: tuple[str, ...] | None) -> list[str]:
    notes = ["Mean ± standard deviation over seeds."]
    every = [run for members in groups.values() for run in members]
    counts = _different(every)
    if counts:
        notes.append(
            f"The runs were evaluated on different numbers of items ({', '.join(map(str, counts))}), so "
            "their accuracies cannot be compared. data.limit cuts the evaluated items too, and "
            "data.train_limit does not."
        )
    if chosen is None:
        notes.append(
            "No setting is marked: not every run has a held-out loss. method.selection=heldout measures one "
            "on training pairs; the accuracy on evaluated items must not choose a setting."
        )
        return notes
    notes.append("Best: the lowest held-out loss. The accuracies on the right had no part in the choice.")
    if any(run.content["training"]["selection"] == "validation" for run in every):
        notes.append(
            "Some runs selected by the evaluated items themselves (method.selection=validation): their "
            "accuracies are optimistic."
        )
    fewest = min(int(run.selected.get("groups", ENOUGH)) for run in every)
    if fewest < ENOUGH:
        notes.append(
            f"The held-out part has only {counted(fewest, 'cluster')} of items. With fewer than "
            f"{ENOUGH}, small differences in loss are chance; a larger method.held_out helps."
        )
    return notes


def _different(runs: Sequence[Run]) -> list[int]:
    """The numbers of evaluated items of runs on one data set; empty if they are the same."""
    found: dict[str, set[int]] = {}
    for run in runs:
        if (row := as_row(run.content.get("metrics", {}), "accuracy")) is not None:
            found.setdefault(str(run.content.get("data_name")), set()).add(row.n)
    return next((sorted(counts) for counts in found.values() if len(counts) > 1), [])


def command(runs: Sequence[Run]) -> str | None:
    """The command that trains the best setting with all its seeds; None if none is best."""
    groups = grouped(runs)
    chosen = best(groups)
    if chosen is None:
        return None
    members = groups[chosen]
    seeds = ",".join(str(seed) for seed in sorted({run.seed for run in members}))
    words = _words(members, varying(runs))
    return shlex.join([*words, *(["-m"] if "," in seeds else []), f"seed={seeds}"])


def _words(members: Sequence[Run], names: Sequence[str]) -> list[str]:
    """The command of runs that differ in their seed, with their own values in place of lists of values."""
    words, run = [], members[0]
    if FILE in run.settings:  # no preset is called by the name that follows from a path
        names = [FILE if name == "data.name" else name for name in names]
    given = dict.fromkeys(names)
    own = {name: _own(members, name) for name in run.settings}
    # A setting that differs may stand in the command though another one, for example model.name, tells it.
    typed = (*names, *(name for name in own if "${seed}" in own[name]))
    for word in shlex.split(str(run.content.get("command", "figlang train"))):
        key, equals, _ = word.partition("=")
        if word in ("-m", "--multirun") or key in ("seed", "run", "name", "overwrite", "skip_finished"):
            continue
        if key.startswith("hydra"):
            continue
        name = next((name for name in typed if key in (name, name.removesuffix(".name"))), None)
        words.append(word if name is None or not equals else f"{key}={own[name]}")
        given.pop(name or "", None)
        if name == "model.name_or_path":
            given.pop("model.name", None)  # it follows from the path
    return [*words, *(f"{name}={own[name]}" for name in given if name in own)]


def _own(members: Sequence[Run], name: str) -> str:
    """A setting of runs that differ in their seed. Paths to their own seeds are one path with `${seed}`."""
    run = members[0]
    value = run.settings[name]
    if all(member.settings.get(name) == value for member in members):
        return value
    return re.sub(rf"\bseed{run.seed}\b", "seed${seed}", value)

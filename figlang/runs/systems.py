"""Finished evaluations as systems: with names that tell them apart, and pooled over seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, PathsConfig, settings_of_data
from figlang.errors import FiglangError
from figlang.files import folders, stored
from figlang.machine import bars
from figlang.runs import foreign, kept, names, orders, recipes, recomputed
from figlang.runs.predictions import BACKWARD, BLIND, FORWARD, MEASURED, read_measured, read_predictions
from figlang.statistics import metrics
from figlang.statistics.comparison import Difference, gain_pooled
from figlang.tasks import registry
from figlang.types import Item, Prediction, Split


@dataclass(frozen=True)
class System:
    """One evaluation.

    Attributes:
        name: A name that tells it from other systems.
        folder: Its folder.
        content: Its metrics.json; for a bare predictions file, the metrics of that file.
        predictions: Its predictions.
        recipe: Identifies everything that made it except the seed, so that its seeds can be pooled.
        settings: The settings of its training without the seed, `group.name` to value; empty if they are not
            known, or if nothing was trained.
        lineage: If it began from a run with its own seed: identifies everything that made both except their
            seed. None otherwise.
    """

    name: str
    folder: Path
    content: Mapping[str, Any]
    predictions: tuple[Prediction, ...]
    recipe: str
    settings: Mapping[str, str] = field(default_factory=dict)
    lineage: str | None = None

    @property
    def backward(self) -> tuple[Prediction, ...]:
        """Predictions of the metaphor for a given answer; empty if there are none."""
        path = self.folder / BACKWARD
        return tuple(read_predictions(path)) if path.is_file() else ()

    @property
    def blind(self) -> tuple[Prediction, ...]:
        """Predictions with the context hidden; empty if there are none."""
        return tuple(read_predictions(self.folder / BLIND)) if "blind" in self.content else ()

    @property
    def seed(self) -> int | None:
        """Seed of the training; None if nothing was trained."""
        seed = self.content.get("facts", {}).get("train_seed")
        return None if seed is None else int(seed)

    def log_probabilities(self) -> dict[str, dict[str, Any]]:
        """The log-probabilities behind the scores, by item; empty if there are none."""
        path = self.folder / MEASURED
        if not path.is_file():
            return {}
        widths = {row.id: len(row.scores) for row in self.predictions}
        return {row["id"]: row for row in read_measured(path, widths)}

    def history(self) -> list[tuple[int, int, str, str, float]]:
        """Rows of log.csv: step, epoch, split, metric, value; empty if nothing was trained."""
        path = self.folder / "log.csv"
        return stored.log_rows(path) if path.is_file() else []


@dataclass(frozen=True)
class Pool:
    """One system or more of one recipe that differ in their seed."""

    name: str
    systems: tuple[System, ...]

    @property
    def runs(self) -> list[tuple[Prediction, ...]]:
        return [system.predictions for system in self.systems]

    @cached_property
    def gain(self) -> Difference | None:
        """How much more is right than with the context hidden.

        None if that was not measured, or without labels. Of several seeds, it is the mean of their gains.
        """
        if not all("gain" in system.content for system in self.systems):
            return None
        if len(self.systems) == 1:
            return Difference(**self.systems[0].content["gain"])
        return gain_pooled(self.runs, [system.blind for system in self.systems])


def read(sources: Sequence[str], join: str | None = None) -> list[System]:
    """Read the systems of run folders, evaluation folders, predictions files, or results of other tools.

    Each gets a name that tells it from the others.

    Args:
        sources: Folders and files.
        join: The column of ids in results of other tools; None: the tool's own.

    Raises:
        FiglangError: If a folder has no predictions, or is given twice.
    """
    paths = [Path(source) for source in sources]
    if twice := [path for path, times in Counter(paths).items() if times > 1]:
        raise FiglangError(f"{twice[0]} is given twice; give each run once")
    unnamed = _adopting([_read(path, join) for path in bars.track(paths, "reading")])
    return [replace(system, name=name) for system, name in zip(unnamed, names.short(unnamed), strict=True)]


def check_seeds(systems: Sequence[System]) -> None:
    """Check that all seeds differ. The same run under two names, or a copy of it, would count twice.

    Raises:
        FiglangError: If two systems have the same seed.
    """
    known: dict[int | None, System] = {}
    for system in systems:
        if (other := known.setdefault(system.seed, system)) is not system:
            raise FiglangError(
                f"{other.folder} and {system.folder} are of the same seed; give each seed once"
            )


def _adopting(systems: Sequence[System]) -> list[System]:
    """Results of other tools get the clusters of the evaluation by figlang that has most of their items."""
    own = [{row.id: row for row in system.predictions} for system in systems if "tool" not in system.content]
    return [_adopted(system, own) if "tool" in system.content and own else system for system in systems]


def _adopted(system: System, own: Sequence[Mapping[str, Prediction]]) -> System:
    ids = {row.id for row in system.predictions}
    known = max(own, key=lambda known: len(ids & known.keys()))
    predictions = foreign.adopted(system.predictions, known, system.recipe)
    content = {**system.content, "metrics": metrics.measure(predictions)}  # intervals need the clusters
    return replace(system, content=content, predictions=predictions)


def _read_foreign(path: Path, join: str | None) -> System:
    results = foreign.read(path, join)
    content = {
        "metrics": metrics.measure(results.predictions),
        "model": results.model,
        "facts": {},
        "task": "",
        "tool": results.tool,
    }
    return System(path.name, path.parent, content, results.predictions, str(path))


def _read(path: Path, join: str | None) -> System:
    if path.is_file() and foreign.foreign(path):
        return _read_foreign(path, join)
    file = path / FORWARD if path.is_dir() else path
    if path.is_dir() and not file.exists() and (cells := sorted((path / "predictions").glob("*.jsonl"))):
        raise FiglangError(
            f"{path} holds {len(cells)} prompts; give the wanted ones, for example {cells[0]}, with "
            "data=PRESET for texts"
        )
    folder = file.parent
    folders.settle(folder)
    predictions = tuple(read_predictions(file))
    if not predictions:
        raise FiglangError(f"{file} holds no prediction; evaluate again")
    # Another predictions file of a folder, for example the backward one, is not what its metrics.json is
    # about.
    document = folder / "metrics.json"
    if file.name == FORWARD and (document.exists() or document.is_symlink()):
        content = recomputed.checked(document)
    else:
        content = {"metrics": metrics.measure(predictions), "model": path.stem, "facts": {}}
    return System(path.name, folder, content, predictions, *recipes.identified(folder, content))


def unlike(systems: Sequence[System]) -> list[System]:
    """Those of some systems that differ from the first one in more than their seed.

    Args:
        systems: The systems. They may have begun from one run, or each from a run with its own seed.
    """
    first = systems[0]
    others = [system for system in systems if system.recipe != first.recipe]
    if first.lineage is None:
        return others
    return min(others, [system for system in systems if system.lineage != first.lineage], key=len)


def pooled(systems: Sequence[System], rename: Mapping[str, str] | None = None) -> list[Pool]:
    """Pool systems by recipe, in their order. Each is named after its pool.

    The same seed twice is not pooled: it would count one run as two.

    Args:
        systems: The systems.
        rename: New names by short name or by folder; those that are of none of the systems have no effect.

    Raises:
        FiglangError: If a new name is that of another system.
    """
    pools: dict[str, list[System]] = {}
    for system in systems:
        members = pools.setdefault(system.recipe, [])
        if any(member.seed == system.seed for member in members):
            members = pools.setdefault(f"{system.recipe} {system.name}", [])
        members.append(system)
    groups = _joined(list(pools.values()))
    short = names.short([_shown(members) for members in groups])
    called = [_called(name, members, rename or {}) for name, members in zip(short, groups, strict=True)]
    if twice := [name for name, times in Counter(called).items() if times > 1]:
        raise FiglangError(f"two systems are called {twice[0]}; give them different names by rename=OLD=NEW")
    return [_pool(*each) for each in zip(called, short, groups, strict=True)]


def _joined(groups: Sequence[list[System]]) -> list[list[System]]:
    """Groups of systems. Those that stand alone are joined if each began from the same seed of one recipe."""
    joined: dict[Any, list[System]] = {}
    for number, members in enumerate(groups):
        lineage = members[0].lineage if len(members) == 1 else None
        others = joined.setdefault(number if lineage is None else lineage, [])
        if any(other.seed == member.seed for other in others for member in members):
            others = joined.setdefault(number, [])
        others += members
    return list(joined.values())


def _shown(members: Sequence[System]) -> System:
    """The first member of a pool. Of several, its folder is the one in which all lie, if there is one. If
    their names are those of their folders, it has the name of the recipe."""
    first, above = members[0], {member.folder.parent for member in members}
    if len({str(member.content.get("model")) for member in members}) > 1:
        model = recipes.of_all_seeds(str(first.content.get("model")), first.seed)
        first = replace(first, content={**first.content, "model": model})
    return replace(first, folder=first.folder.parent) if len(members) > 1 and len(above) == 1 else first


def _called(name: str, members: Sequence[System], rename: Mapping[str, str]) -> str:
    """The name of a pool: a new one, if it was renamed."""
    known = {name, _seeds(name, members), *(str(member.folder) for member in members)}
    new = [given for old, given in rename.items() if old in known or str(Path(old)) in known]
    return new[0] if new else _seeds(name, members)


def _seeds(name: str, members: Sequence[System]) -> str:
    return name if len(members) == 1 else f"{name}, {len(members)} seeds"


def _pool(called: str, short: str, members: Sequence[System]) -> Pool:
    if len(members) == 1:
        return Pool(called, (replace(members[0], name=called),))
    of = short if called == _seeds(short, members) else called
    return Pool(called, tuple(replace(member, name=f"{of}, seed {member.seed}") for member in members))


def check_renamed(pools: Sequence[Pool], rename: Mapping[str, str]) -> None:
    """Check that every `rename` was of a system that is shown.

    Raises:
        FiglangError: If one was not.
    """
    shown = [pool.name for pool in pools]
    for old, new in rename.items():
        if new not in shown:
            raise FiglangError(f"rename={old}={new}: no system is called {old}; shown are {'; '.join(shown)}")


def tasks(systems: Sequence[System]) -> list[list[System]]:
    """Group the systems that saw the same items. Only these can be set beside each other.

    Raises:
        FiglangError: As check_data does.
    """
    groups: dict[frozenset[tuple[str, int | None]], list[System]] = {}
    for system in systems:
        groups.setdefault(frozenset((row.id, row.gold) for row in system.predictions), []).append(system)
    for together in groups.values():
        check_data(together)
    return list(groups.values())


def across_forms(systems: Sequence[System]) -> list[System]:
    """Give systems common items if a task asks in several forms and each system answered another form.

    Without that, no item would be the same. Other systems are returned as they are, and so is a system that
    was asked in several forms.
    """
    asked = [[registry.task_of(system.content).form(row) for row in system.predictions] for system in systems]
    forms = [{form for _, form in each} for each in asked]
    if any(len(each) != 1 for each in forms) or len(set.union(*forms)) < 2:
        return list(systems)
    return [
        replace(
            system,
            predictions=tuple(
                replace(row, id=identifier)
                for row, (identifier, _) in zip(system.predictions, each, strict=True)
            ),
        )
        for system, each in zip(systems, asked, strict=True)
    ]


def check_data(systems: Sequence[System]) -> None:
    """Check that systems that are set beside each other saw the same files. Ids alone may be equal.

    Raises:
        FiglangError: If they did not.
    """
    known = files(systems)
    if len(known) > 1:
        raise different_files(*known.items())


def files(systems: Sequence[System]) -> dict[str, System]:
    """By the sha256 of each evaluated file, the first system that saw it."""
    known: dict[str, System] = {}
    for system in systems:
        content = system.content
        if (sha256 := content.get("data", {}).get(content.get("split"), {}).get("sha256")) is not None:
            known.setdefault(sha256, system)
    return known


def different_files(*seen: tuple[str, System]) -> FiglangError:
    """The error about systems of which the first two saw other files, each with its sha256."""
    (first_sha256, first), (second_sha256, second) = seen[:2]
    return FiglangError(
        f"{first.folder} and {second.folder} were evaluated on different files ({first_sha256[:8]}, "
        f"{second_sha256[:8]}) whose ids are the same; evaluate both on one"
    )


def data_of(system: System) -> DataConfig:
    """The settings by which the items of a system are found again.

    Raises:
        FiglangError: If its metrics.json does not say them.
    """
    settings = system.content.get("data", {}).get("settings")
    if settings is None:
        raise FiglangError(f"{system.name} does not say where its data are; name them with data=PRESET")
    return settings_of_data(settings, str(system.folder / "metrics.json"))


def check_items(systems: Sequence[System], items: Mapping[str, Item]) -> None:
    """Check that each prediction fits its item.

    Raises:
        FiglangError: If one has another number of scores or another gold option.
    """
    for system in systems:
        for row in system.predictions:
            item, wrong = items[row.id], ""
            if len(row.scores) != len(item.options):
                wrong = f"{len(row.scores)} scores for {len(item.options)} options"
            elif None not in (row.gold, item.gold) and row.gold != item.gold:
                wrong = f"gold option {row.gold}, but the data say {item.gold}"
            if wrong:
                raise FiglangError(
                    f"{system.folder}: the prediction of {row.id} has {wrong}; restore the file or "
                    "evaluate again"
                )


def items(system: System, settings: DataConfig, paths: PathsConfig) -> Split:
    """The items that a system predicted.

    Raises:
        FiglangError: If they are missing or have changed.
    """
    described = system.content.get("data", {})
    split = kept.read(system.folder, described.get(system.content.get("split"), {}), settings)
    split = split or registry.load(system.content.get("split", "validation"), settings, paths)
    wanted = described.get(system.content.get("split"), {}).get("sha256", split.sha256)
    ids = {row.id for row in system.predictions}
    split = replace(split, items=orders.as_asked(split.items, ids))
    if wanted != split.sha256 or ids - {item.id for item in split.items}:
        raise FiglangError(
            f"{split.source} is not what {system.folder} was evaluated on; set paths.data= or data=PRESET"
        )
    return split

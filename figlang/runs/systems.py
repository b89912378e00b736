"""Finished evaluations, read back from their folders: systems with names that tell them apart, pooled over
seeds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, PathsConfig, settings_of_data
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import folders, stored
from figlang.machine import bars
from figlang.runs import recomputed
from figlang.runs.predictions import BACKWARD, BLIND, FORWARD, read_measured, read_predictions
from figlang.statistics import metrics
from figlang.statistics.comparison import Difference, compare_pooled
from figlang.tasks import registry
from figlang.types import Item, Prediction, Split

LOG_PROBABILITIES = "log_probabilities.jsonl"
# What may tell systems apart in their names, and what it is without meaning.
TELLING = ("model", "method", "trained", "scoring", "prompt", "norm", "text", "precision")
SILENT = ("none", "as it comes")


@dataclass(frozen=True)
class System:
    """One evaluation. `content` is its metrics.json; of a bare predictions file, what can be measured of it.

    `recipe` identifies everything that made it except the seed, so that seeds of one recipe can be pooled.
    """

    name: str
    folder: Path
    content: Mapping[str, Any]
    predictions: tuple[Prediction, ...]
    recipe: str

    @property
    def backward(self) -> tuple[Prediction, ...]:
        """Predictions of the metaphor for a given answer; none where they were not made."""
        path = self.folder / BACKWARD
        return tuple(read_predictions(path)) if path.is_file() else ()

    @property
    def blind(self) -> tuple[Prediction, ...]:
        """Predictions with the context hidden; none where they were not made."""
        return tuple(read_predictions(self.folder / BLIND)) if "blind" in self.content else ()

    @property
    def seed(self) -> int | None:
        """Seed of the training; None where nothing was trained."""
        found = self.content.get("facts", {}).get("train_seed")
        return None if found is None else int(found)

    def log_probabilities(self) -> dict[str, dict[str, Any]]:
        """The log-probabilities behind the scores, by item; empty where the system has none."""
        path = self.folder / LOG_PROBABILITIES
        if not path.is_file():
            return {}
        widths = {row.id: len(row.scores) for row in self.predictions}
        return {row["id"]: row for row in read_measured(path, widths)}

    def history(self) -> list[tuple[int, int, str, str, float]]:
        """Rows of log.csv: step, epoch, split, metric, value; empty where nothing was trained."""
        path = self.folder / "log.csv"
        return stored.log_rows(path) if path.is_file() else []


@dataclass(frozen=True)
class Pool:
    """Systems of one recipe that differ in their seed: one or several."""

    name: str
    systems: tuple[System, ...]

    @property
    def runs(self) -> list[tuple[Prediction, ...]]:
        return [system.predictions for system in self.systems]

    @cached_property
    def gain(self) -> Difference | None:
        """How much more is right than with the context hidden; None where that was not measured, or labels
        are hidden."""
        if not all("gain" in system.content for system in self.systems):
            return None
        if len(self.systems) == 1:
            return Difference(**self.systems[0].content["gain"])
        return compare_pooled(self.runs, [system.blind for system in self.systems])[0]


def read(sources: Sequence[str]) -> list[System]:
    """The systems of run folders, evaluation folders or predictions files, each named by what tells it from
    the others.

    Raises FiglangError for a folder without predictions, or the same one twice.
    """
    paths = [Path(source) for source in sources]
    if twice := [str(path) for path in paths if paths.count(path) > 1]:
        raise FiglangError(f"{twice[0]} is given twice; give each run once")
    found = [_read(path) for path in bars.track(paths, "reading")]
    return [replace(system, name=name) for system, name in zip(found, names(found), strict=True)]


def check_seeds(found: Sequence[System]) -> None:
    """Raises FiglangError if two are of one seed: the same run under two names, or a copy of it, would count
    twice."""
    known: dict[int | None, System] = {}
    for system in found:
        if (other := known.setdefault(system.seed, system)) is not system:
            raise FiglangError(
                f"{other.folder} and {system.folder} are of the same seed; give each seed once"
            )


def _read(path: Path) -> System:
    file = path / FORWARD if path.is_dir() else path
    if path.is_dir() and not file.exists() and (cells := sorted((path / "predictions").glob("*.jsonl"))):
        raise FiglangError(
            f"{path} holds {len(cells)} prompts; give those that are wanted, {cells[0]} say, with "
            "data=PRESET for texts"
        )
    folder = file.parent
    folders.settle(folder)
    predictions = tuple(read_predictions(file))
    if not predictions:
        raise FiglangError(f"{file} holds no prediction; evaluate again")
    # Another predictions file of a folder, the backward ones say, is not what its metrics.json is about.
    document = folder / "metrics.json"
    if file.name == FORWARD and (document.exists() or document.is_symlink()):
        content = recomputed.checked(document)
    else:
        content = {"metrics": metrics.measure(predictions), "model": path.stem, "facts": {}}
    return System(path.name, folder, content, predictions, _recipe(folder, content))


def read_recipe(run: Path) -> dict[str, Any]:
    """recipe.json of a run. Raises FiglangError if it is damaged."""
    return stored.document(run / "recipe.json", stored.RECIPE, "train the run again, or put the file back")


def _recipe(folder: Path, content: Mapping[str, Any]) -> str:
    facts = dict(content.get("facts", {}))
    own = next(
        (parent for parent in (folder, folder.parent.parent) if (parent / "recipe.json").is_file()), None
    )
    if not facts or (own is None and facts.get("train_seed") is not None):
        return str(folder)  # what it was made with is not known, so that it is pooled with nothing
    settings: dict[str, Any] = {}
    if own is not None:
        settings = read_recipe(own)
        settings = {
            **settings,
            "settings": {key: value for key, value in settings["settings"].items() if key != "seed"},
        }
        facts.pop("trained", None)  # its digest is that of the settings, with the seed
        facts.pop("weights", None)
    facts.pop("train_seed", None)
    return digest([facts, settings, content.get("data_name"), content.get("split")])


def names(systems: Sequence[System]) -> list[str]:
    """A name for each: its model, as much of the rest as tells them apart, and folders where that is not
    enough.

    Letters in replies are another measure than scores: among them every system names its own.
    """
    told = [_telling(system) for system in systems]
    mixed = any(one["scoring"] == "letter" for one in told)
    found = [_with(one["model"], one["scoring"] if mixed else "none") for one in told]
    for key in TELLING[1:]:
        if key == "scoring" and mixed:
            continue
        if len(set(found)) < len(found) and len({one[key] for one in told}) > 1:
            found = [_with(name, one[key]) for name, one in zip(found, told, strict=True)]
    if len(set(found)) < len(found):
        found = [
            name if one.seed is None else f"{name} · seed {one.seed}"
            for name, one in zip(found, systems, strict=True)
        ]
    if len(set(found)) < len(found):
        return [_folder_name(system, systems) for system in systems]
    return found


def _with(name: str, word: str) -> str:
    return name if word in SILENT else f"{name} · {word}"


def _telling(system: System) -> dict[str, str]:
    facts = system.content.get("facts", {})
    short = {key: re.sub(r"\(.*\)$", "", str(facts.get(key, "none"))) for key in TELLING}
    short["model"] = str(system.content["model"])
    trained = str(facts.get("trained", "none@none"))
    short["trained"] = "as it comes" if trained.endswith("@none") else trained.rpartition("@")[0]
    if short["trained"] == "as it comes":
        short["method"] = "none"
    # The name of a prompt hides how many examples it has.
    k = re.search(r"\bk=(\d+)", str(facts.get("prompt", "")))
    short["prompt"] += f" k={k[1]}" if k and not re.fullmatch(r"k\d+", short["prompt"]) else ""
    return short


def _folder_name(system: System, systems: Sequence[System]) -> str:
    parts = [one.folder.parts for one in systems]
    shared = 0
    while all(len(one) > shared + 1 for one in parts) and len({one[shared] for one in parts}) == 1:
        shared += 1
    name = "/".join(system.folder.parts[shared:])
    twice = sum(one.folder == system.folder for one in systems) > 1
    return f"{name}/{system.name}" if twice else name


def pooled(systems: Sequence[System]) -> list[Pool]:
    """Systems by recipe, in the order they came, named after their pool.

    The same seed twice is no pool: it would count one run as two.
    """
    pools: dict[str, list[System]] = {}
    for system in systems:
        members = pools.setdefault(system.recipe, [])
        if any(member.seed == system.seed for member in members):
            members = pools.setdefault(f"{system.recipe} {system.name}", [])
        members.append(system)
    found = list(pools.values())
    return [
        _pool(name, members)
        for name, members in zip(names([members[0] for members in found]), found, strict=True)
    ]


def _pool(name: str, members: Sequence[System]) -> Pool:
    if len(members) == 1:
        return Pool(name, (replace(members[0], name=name),))
    seeds = tuple(replace(member, name=f"{name} · seed {member.seed}") for member in members)
    return Pool(f"{name} · {len(members)} seeds", seeds)


def tasks(systems: Sequence[System]) -> list[list[System]]:
    """The systems that saw the same items, together: only they can be set beside each other.

    Raises FiglangError as check_data does.
    """
    found: dict[frozenset[tuple[str, int | None]], list[System]] = {}
    for system in systems:
        found.setdefault(frozenset((row.id, row.gold) for row in system.predictions), []).append(system)
    for together in found.values():
        check_data(together)
    return list(found.values())


def across_forms(found: Sequence[System]) -> list[System]:
    """The systems with what is asked about as items, if the task asks in several forms and each system
    answered another one: else no item would be the same.

    Other systems are returned as they are, and so is a system that was asked in several forms.
    """
    asked = [[registry.task_of(system.content).form(row) for row in system.predictions] for system in found]
    forms = [{form for _, form in each} for each in asked]
    if any(len(each) != 1 for each in forms) or len(set.union(*forms)) < 2:
        return list(found)
    return [
        replace(
            system,
            predictions=tuple(
                replace(row, id=identifier)
                for row, (identifier, _) in zip(system.predictions, each, strict=True)
            ),
        )
        for system, each in zip(found, asked, strict=True)
    ]


def check_data(systems: Sequence[System]) -> None:
    """Raises FiglangError if systems that are set beside each other saw different files, whose ids may yet be
    the same."""
    known: dict[str, System] = {}
    for system in systems:
        content = system.content
        if (sha256 := content.get("data", {}).get(content.get("split"), {}).get("sha256")) is not None:
            known.setdefault(sha256, system)
    if len(known) > 1:
        (one, first), (other, second) = [(sha256[:8], system.folder) for sha256, system in known.items()][:2]
        raise FiglangError(
            f"{first} and {second} were evaluated on different files ({one}, {other}) whose ids are the "
            "same; evaluate both on one"
        )


def data_of(system: System) -> DataConfig:
    """The settings by which a system's items are found again. Raises FiglangError if its metrics.json does
    not say."""
    settings = system.content.get("data", {}).get("settings")
    if settings is None:
        raise FiglangError(f"{system.folder} does not say where its data are; name them with data=PRESET")
    return settings_of_data(settings, str(system.folder / "metrics.json"))


def check_items(systems: Sequence[System], items: Mapping[str, Item]) -> None:
    """Raises FiglangError if a prediction has another number of scores or another gold option than its
    item."""
    for system in systems:
        for row in system.predictions:
            item, wrong = items[row.id], ""
            if len(row.scores) != len(item.options):
                wrong = f"{len(row.scores)} scores for {len(item.options)} options"
            elif None not in (row.gold, item.gold) and row.gold != item.gold:
                wrong = f"gold option {row.gold}, and the data say {item.gold}"
            if wrong:
                raise FiglangError(
                    f"{system.folder}: the prediction of {row.id} has {wrong}; restore the file or "
                    "evaluate again"
                )


def items(system: System, settings: DataConfig, paths: PathsConfig) -> Split:
    """The items that a system predicted. Raises FiglangError if they are not there or are others."""
    described = system.content.get("data", {})
    split = registry.load(system.content.get("split", "validation"), settings, paths)
    wanted = described.get(system.content.get("split"), {}).get("sha256", split.sha256)
    if wanted != split.sha256 or {row.id for row in system.predictions} - {item.id for item in split.items}:
        raise FiglangError(
            f"{split.source} is not what {system.folder} was evaluated on; set paths.data= or data=PRESET"
        )
    return split

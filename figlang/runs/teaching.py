"""What the teachers of a model were trained on: text of it can reach the model through their scores."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.files.sources import sha256
from figlang.models.manifest import UNTRAINED
from figlang.runs import origins, outputs, spelled, stages, teacher_models
from figlang.runs.origins import HASH
from figlang.runs.predictions import FORWARD
from figlang.types import Split


@dataclass(frozen=True)
class Taught:
    """The training data of teachers.

    Attributes:
        splits: The training items of all stages of the teachers.
        unknown: Names of the teachers whose training items are not known here.
    """

    splits: tuple[Split, ...] = ()
    unknown: tuple[str, ...] = ()


def by(folders: Iterable[str | Path], paths: PathsConfig) -> Taught:
    """What teachers were trained on, and the members of those that combine several systems.

    Args:
        folders: Folders of their results.
        paths: Where the data are.
    """
    splits: dict[tuple[str, str, str], Split] = {}
    unknown: dict[str, None] = {}
    for folder in folders:
        for name, found in _systems(Path(folder), paths):
            if found is None:
                unknown[name] = None
            for split in found or ():
                splits[split.name, split.sha256, split.drawn] = split
    return Taught(tuple(splits.values()), tuple(unknown))


def of_run(run: Path, paths: PathsConfig) -> Taught:
    """What the teachers of a finished training were trained on; nothing if it had none.

    Args:
        run: Folder of the run or of the released checkpoint.
        paths: Where the data are.
    """
    wanted = hashes(run)
    if not wanted:
        return Taught()
    here = dict(_given(run))
    found = by([here[one] for one in wanted if one in here], paths)
    gone = tuple(dict.fromkeys(name for one, name in wanted.items() if one not in here))
    return Taught(found.splits, (*found.unknown, *(name for name in gone if name not in found.unknown)))


def hashes(run: Path) -> dict[str, str]:
    """The teachers that a finished training learnt from: the name of each by the hash of its predictions or
    weights."""
    teachers = outputs.finished(run).get("teachers")
    if isinstance(teachers, list):
        return {each["sha256"][:HASH]: spelled.model(str(each["model"])) for each in teachers}
    method = _method(run)
    learnt = method.get("teacher") and method.get("teacher_weight", 1)
    if not (learnt and (run / origins.RECIPE).is_file()):
        return {}
    # The recipe of a run from before teachers were named
    recipe = stored.document(run / origins.RECIPE, stored.RECIPE, stages.GIVE)
    return dict.fromkeys(recipe["settings"].get("method", {}).get("teacher", []), "a teacher")


def _given(run: Path) -> Iterator[tuple[str, Path]]:
    """The hashes and folders of teachers in the settings of a run, or of the runs that it is the mean of."""
    for one in (run, *stages.averaged(run, outputs.finished(run).get("averaged", []))):
        method = _method(one)
        for named in method.get("teacher") or []:
            for folder in origins.near(str(named), one):
                if (folder / FORWARD).is_file():
                    yield sha256(folder / FORWARD)[:HASH], folder
        for named in method.get("teacher_model") or []:
            for folder in origins.near(str(named), one):
                with suppress(FiglangError):  # no teacher, or its weights were deleted
                    yield teacher_models.identity(str(folder))[:HASH], folder


def _method(run: Path) -> Mapping[str, Any]:
    path = run / origins.SETTINGS
    if not path.is_file():
        return {}
    method = stored.settings(path, stages.GIVE).get("method")
    return method if isinstance(method, dict) else {}


def _systems(folder: Path, paths: PathsConfig) -> Iterator[tuple[str, list[Split] | None]]:
    """The systems whose scores are in a folder of results, each with its training items, None if unknown."""
    content = outputs.finished(folder)
    if members := content.get("members"):
        for member in members:
            near = [one for one in origins.near(member["folder"], folder) if (one / FORWARD).is_file()]
            same = [one for one in near if sha256(one / FORWARD) == member["sha256"]]
            yield from _systems(same[0], paths) if same else [(spelled.model(member["model"]), None)]
        return
    name = spelled.model(str(content.get("model", folder.name)))
    trained_on, _, settings = str(content.get("facts", {}).get("trained", "")).rpartition("@")
    if settings == UNTRAINED:
        return
    runs = filter(None, map(origins.folder_of, _places(folder, content)))
    run = next((one for one in runs if origins.identity(one) == settings), None)
    try:
        found = None if run is None else stages.known(run, trained_on, paths)
    except FiglangError:
        found = None
    yield name, found
    if run is not None and found is not None:
        before = of_run(run, paths)  # it may have had teachers too
        yield name, list(before.splits)
        yield from ((unknown, None) for unknown in before.unknown)


def _places(folder: Path, content: Mapping[str, Any]) -> Iterator[Path]:
    """Where the run may be whose results a folder holds: there, above it, or what the command evaluated."""
    yield folder
    yield folder.absolute().parent.parent
    for named in origins.checkpoints(content):
        yield from origins.near(named, folder)

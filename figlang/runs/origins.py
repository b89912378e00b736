"""The folders of trainings: how one is known, and which training is behind results, wherever they stand."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from figlang.config import lists
from figlang.errors import FiglangError
from figlang.files import stored

RECIPE, METRICS, SETTINGS = "recipe.json", "metrics.json", "config.yaml"
MANIFEST = "figlang.json"  # as in figlang.models.manifest, which takes a second to import
HASH = 16  # digits of the hash of a teacher's predictions or weights in a recipe
REMEDY = "train the run again, or put the file back"


def near(named: str, folder: Path) -> Iterator[Path]:
    """Where a path may lead that was typed before a folder was written: from here, and from above the folder.

    Args:
        named: The path. A relative one was typed in a folder that need not be the present one.
        folder: The folder whose files name it.

    Yields:
        Paths, whether something is there or not.
    """
    path = Path(named).expanduser()
    yield path
    if not path.is_absolute():
        yield from (above / path for above in folder.absolute().parents)


def recipe(run: Path) -> dict[str, Any]:
    """Read the recipe.json of a run.

    Raises:
        FiglangError: If it is damaged.
    """
    return stored.document(run / RECIPE, stored.RECIPE, REMEDY)


def without_seed(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a recipe.json without the seed, in which the seeds of a recipe are alike."""
    return {**recipe, "settings": {name: at for name, at in recipe["settings"].items() if name != "seed"}}


def folder_of(model: str | Path) -> Path | None:
    """The run or released checkpoint that a network belongs to: its folder, or the one above it. None if
    neither is one."""
    folder = Path(model).expanduser()
    return next((path for path in (folder, folder.parent) if _is_stage(path)), None)


def _is_stage(folder: Path) -> bool:
    released = all((folder / name).is_file() for name in (MANIFEST, METRICS, SETTINGS))
    return released or (folder / RECIPE).is_file()


def network(folder: Path) -> Path | None:
    """The folder of the network of a run or released checkpoint.

    Args:
        folder: The folder of the run or checkpoint.

    Returns:
        Its `model` or, if it is a checkpoint, the folder itself; None if its network is not there.
    """
    return next((one for one in (folder / "model", folder) if (one / MANIFEST).is_file()), None)


def identity(folder: Path) -> str | None:
    """The identity of the training of a run or released checkpoint.

    Args:
        folder: Its folder.

    Returns:
        The hash of its settings; None if its network is not there.

    Raises:
        FiglangError: If the network's figlang.json is damaged.
    """
    model = network(folder)
    return None if model is None else str(stored.plain(model / MANIFEST, REMEDY).get("settings"))


def behind(folder: Path, content: Mapping[str, Any]) -> Path | None:
    """The run behind an evaluation.

    Args:
        folder: The folder of the results: a run, a folder within it, or one elsewhere.
        content: Their metrics.json.

    Returns:
        Its folder; None if there is none, or if it is not found.
    """
    within = (run for run in (folder, folder.parent.parent) if (run / RECIPE).is_file())
    return next(within, None) or _evaluated(folder, content)


def _evaluated(folder: Path, content: Mapping[str, Any]) -> Path | None:
    """The run that the command of an evaluation elsewhere names as its checkpoint."""
    wanted = str(content.get("facts", {}).get("trained", "")).rpartition("@")[2]
    for place in (place for named in checkpoints(content) for place in near(named, folder) if wanted):
        run = folder_of(place)
        with suppress(FiglangError):  # the damaged file of another run
            if run is not None and (run / RECIPE).is_file() and identity(run) == wanted:
                return run
    return None


def checkpoints(content: Mapping[str, Any]) -> list[str]:
    """The checkpoints that the command of an evaluation names: several, if it evaluated each of them (-m)."""
    try:
        words = shlex.split(str(content.get("command", "")))
    except ValueError:  # a damaged record
        return []
    values = [word.partition("=")[2] for word in words if word.startswith("checkpoint=")]
    return [named for value in values for named in lists.parts(value)]

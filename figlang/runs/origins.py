"""The training behind results: its recipe, wherever the results stand."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from figlang.config import lists
from figlang.errors import FiglangError
from figlang.files import stored

RECIPE = "recipe.json"
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


def named_run(named: str, identity: str, folder: Path) -> Path | None:
    """The run that the files of a folder name.

    Args:
        named: The path of the run or of its network, as it was typed.
        identity: The hash of the settings of its network. Another run may lie there by now.
        folder: The folder whose files name it.

    Returns:
        Its folder; None if it is not here, or is a released checkpoint.
    """
    for place in near(named, folder):
        run = place.parent if place.name == "model" else place
        if (run / RECIPE).is_file() and _identity(run) == identity:
            return run
    return None


def _evaluated(folder: Path, content: Mapping[str, Any]) -> Path | None:
    """The run that the command of an evaluation elsewhere names as its checkpoint."""
    identity = str(content.get("facts", {}).get("trained", "")).rpartition("@")[2]
    named = checkpoints(content) if identity else ()
    return next(filter(None, (named_run(one, identity, folder) for one in named)), None)


def checkpoints(content: Mapping[str, Any]) -> list[str]:
    """The checkpoints that the command of an evaluation names: several, if it evaluated each of them (-m)."""
    try:
        words = shlex.split(str(content.get("command", "")))
    except ValueError:  # a damaged record
        return []
    values = [word.partition("=")[2] for word in words if word.startswith("checkpoint=")]
    return [named for value in values for named in lists.parts(value)]


def _identity(run: Path) -> str | None:
    """The hash of the settings of a run's network; None if it is not there or cannot be read."""
    try:
        return str(stored.plain(run / "model" / "figlang.json", REMEDY).get("settings"))
    except FiglangError:
        return None

"""The list of what a command wrote into a folder: the kind of the result, and a hash of each file.

Only files that are on the list and have not changed since are deleted. A folder is of one kind, so that a
comparison does not replace an evaluation.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic_core import from_json

from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.files.whole import write_text

OWN = ".figlang-files.json"
RESULT, NETWORK = "a model's result", "a network"


def is_as_written(folder: Path, name: str) -> bool:
    """Whether a file in a folder is unchanged since a command wrote it, by the folder's list OWN."""
    before = listed(folder).get(name)
    return before is not None and (folder / name).is_file() and sha256(folder / name) == before


def check_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Check that the files of a folder are those that its metrics.json was computed from.

    Args:
        folder: Folder of a result.
        digests: The sha256 of each file, by its name within the folder. Missing files are not checked.

    Raises:
        FiglangError: If a file has changed.
    """
    for name, digest in digests.items():
        path = folder / name
        if _is_inside(name) and path.is_file() and sha256(path) != digest:
            raise FiglangError(
                f"{path} is not the file that {folder / 'metrics.json'} was computed from; put that one "
                "back, or evaluate again with overwrite=true"
            )


def hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder, by its name within the folder."""
    return {name_within(path, folder): sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def listed(folder: Path) -> dict[str, str]:
    """The hashes on a folder's list, by name; empty without a list, or with one that is damaged."""
    digests = read(folder).get("files", {})
    return (
        digests
        if isinstance(digests, dict) and all(isinstance(value, str) for value in digests.values())
        else {}
    )


def note_again(folder: Path, names: Sequence[str]) -> None:
    """Bring a folder's list up to date after a command wrote some of its files again.

    With old hashes, they would pass for files that the user changed.

    Args:
        folder: The folder. Without a list it stays so.
        names: The files, by their names within the folder.
    """
    if not (digests := listed(folder)):
        return
    made = digests | {name: sha256(folder / name) for name in names}
    write_text(folder / OWN, json.dumps(read(folder) | {"files": made}, indent=1) + "\n")


def kind_of(folder: Path) -> str | None:
    """The kind of the results in a folder; None if no command wrote it, or if an old version did."""
    kind, names = read(folder).get("kind"), listed(folder)
    if isinstance(kind, str):
        return kind
    if any(name.endswith(".safetensors") for name in names):
        return NETWORK
    return RESULT if "metrics.json" in names else None


def read(folder: Path) -> dict[str, Any]:
    """The file OWN of a folder; empty if there is none, or if it is damaged."""
    try:
        listing = from_json((folder / OWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return listing if isinstance(listing, dict) else {}


def deletable(folder: Path, earlier: Sequence[str]) -> set[str]:
    """The files that a command wrote into a folder and nobody changed; without a list, those in `earlier`."""
    digests = listed(folder)
    if not digests:
        return {name for name in earlier if _is_inside(name) and (folder / name).is_file()}
    return {
        name
        for name, digest in digests.items()
        if _is_inside(name)
        and not _behind_link(folder, name)
        and (folder / name).is_file()
        and sha256(folder / name) == digest
    }


def delete(folder: Path, name: str) -> None:
    """Delete a file within a folder, and the folders above it that are empty then."""
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.relative_to(folder).parents[:-1]:
        with suppress(OSError):  # the folder is not empty
            (folder / parent).rmdir()


def check_target(folder: Path, name: str) -> None:
    """Check that a file can be written: its place is not a folder and does not lie behind a link.

    Raises:
        FiglangError: If it is or does.
    """
    if (link := _behind_link(folder, name)) is not None:
        raise FiglangError(
            f"{link} is a link to {link.readlink()}; figlang does not write through links, so remove it"
        )
    if is_folder(folder / name):
        raise FiglangError(f"{folder / name} is a folder, but a file must be written there; move it away")


def _behind_link(folder: Path, name: str) -> Path | None:
    """The link that a file within a folder lies behind, if any. The file itself may be a link."""
    parents = [folder / parent for parent in PurePosixPath(name).parents[:-1]]
    return next((parent for parent in parents if parent.is_symlink()), None)


def _is_inside(name: str) -> bool:
    # The list may come from another machine, with a copied run folder.
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and name != ""


def name_within(path: Path, folder: Path) -> str:
    """The name of a file within a folder, with slashes."""
    return path.relative_to(folder).as_posix()


def is_folder(path: Path) -> bool:
    """Whether a path is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()

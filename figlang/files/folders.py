"""Folders of results: one writer at a time, all files or none, and the user's own files are kept.

How each command writes:

- evaluate (also through transfer and also=), generate, the figures of reproduce, rate, report, compare,
  describe and contamination lock their folder. They write all files into a hidden folder inside it
  (`staged`). When the last file is there, the hidden folder is renamed to READY and its files are moved into
  place. If a process is killed before that, the earlier result stays. If it is killed after that, the next
  command that opens the folder moves the remaining files.
- The grids of reproduce lock their folder and keep every finished cell in it: an interrupted grid resumes.
  Their metrics.json and tables are staged.
- train locks its run folder and adds to it for hours. It writes metrics.json last. If it replaces a run, it
  removes the old metrics.json first.
- merge, average, release, the matrix of transfer and every exported network replace a folder as a whole
  (`whole_folder`). The user's own files are copied into the new folder.

Results that took a model's time (evaluations, grids, answers, runs) are replaced only by a command with the
same settings, or with overwrite=true. Results that take a moment (report, compare, describe) always replace
their earlier version.

The key `files` of metrics.json holds a hash of each file that its numbers come from. The hashes are checked
whenever the folder is read. The file OWN lists what a command wrote into a folder. Only files that are on an
earlier list and have not changed since are deleted. OWN also says what kind of thing was written: a folder
is of one kind, so that a comparison does not replace an evaluation.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

from pydantic_core import from_json
from safetensors import SafetensorError

from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.files.whole import LONGEST, beside_name, is_unfinished, lock

LOCK, READY, OWN = ".lock", ".figlang-ready", ".figlang-files.json"
RESULT, NETWORK = "a model's result", "a network"
STAGE = ".figlang-new-"
# A folder with one of these files is a result of figlang. Inside it, links are not followed.
MARKS = ("recipe.json", "figlang.json", "metrics.json")
# Files of an export by an early version of figlang, which wrote no list OWN.
EXPORTED = (
    *(
        "*.safetensors",
        "*.safetensors.index.json",
        "figlang.json",
        "config.json",
        "generation_config.json",
        "adapter_config.json",
    ),
    *(
        "tokenizer*",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.*",
        "merges.txt",
        "chat_template.jinja",
    ),
    *("README.md", "config.yaml", "metrics.json", "predictions*.jsonl"),
)
# Subfolders in which a killed writer may have left unfinished files.
PARTS = ("figures", "tables", "predictions", "blind", "log_probabilities", "replies", "rankings")


@contextmanager
def locked(folder: Path, option: str = "output=DIR", kind: str | None = None) -> Iterator[None]:
    """Make a folder, lock it, and clean up after a killed writer.

    Args:
        folder: Folder to write to.
        option: Setting that chooses another folder, for the error message.
        kind: What will be written, "a report" for example.

    Raises:
        FiglangError: If another process writes to the folder, if it holds another kind of thing, if it cannot
            be written to, or if it is a link.
    """
    check_place(folder)
    with lock(folder / LOCK, folder, option):
        _tidy(folder)
        before = _kind(folder)
        if kind is not None and before is not None and before != kind:
            raise FiglangError(
                f"{folder} holds {before}, which {kind} would replace; choose another folder with {option}"
            )
        yield


@contextmanager
def staged(folder: Path, kind: str, earlier: Sequence[str] = ()) -> Iterator[Path]:
    """Give a new folder to fill, and move its files into `folder` when all of them are there.

    The caller must hold the lock of `folder`. Files of the earlier result are removed: those in its list OWN,
    or, if it has no list, those in `earlier`.

    Args:
        folder: Folder of the result.
        kind: What is written, as for `locked`.
        earlier: Names of files of a result without a list.

    Yields:
        The new folder.

    Raises:
        FiglangError: If a file would be written through a link or in place of a folder. Then nothing is
            moved.
    """
    new = Path(mkdtemp(prefix=STAGE, dir=folder))
    try:
        yield new
        made = {_name(path, new): sha256(path) for path in sorted(new.rglob("*")) if path.is_file()}
        for name in made:
            _check_target(folder, name)
        gone = _deletable(folder, _listed(folder), earlier) - made.keys()
        own = {"kind": kind, "files": made, "gone": sorted(gone)}
        (new / OWN).write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")
        new.rename(folder / READY)  # from here on, the new result counts
        _move(folder)
    except OSError as error:
        if error.filename and str(error.filename).startswith(f"{new}{os.sep}"):
            error.filename = str(folder / Path(str(error.filename)).relative_to(new))
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def replaced(folder: Path, kind: str, earlier: Sequence[str] = ()) -> Iterator[Path]:
    """Lock a folder, and give a new one to fill in its place: `locked` and `staged` together."""
    with locked(folder, kind=kind), staged(folder, kind, earlier) as new:
        yield new


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill that takes the place of `path` at the end, or is removed after an error.

    The user's own files in the earlier folder are copied to the new one, unless it has a file of the same
    name.

    Raises:
        FiglangError: If another process writes this folder, or if `path` is a link or holds another kind of
            thing.
        OSError: If a write fails, also where safetensors reports the failure with an error of its own.
    """
    if path.is_symlink():
        raise FiglangError(
            f"{path} is a link to {path.readlink()}; give that folder itself, or remove the link"
        )
    with lock(path.with_name(f".{path.name[:LONGEST]}.lock"), path):
        beside, before = beside_name(path), beside_name(path, "before")
        _recover(path)
        if (kind := _kind(path)) not in (None, NETWORK):
            raise FiglangError(f"{path} holds {kind}, which {NETWORK} would replace; choose another folder")
        beside.mkdir()
        try:
            yield beside
            # safetensors makes files that only their owner may read, whatever the system's default is.
            for weights in beside.rglob("*.safetensors"):
                weights.chmod(beside.stat().st_mode & 0o666)
            (beside / OWN).unlink(missing_ok=True)  # it may be the list of a copied folder
            made = {_name(file, beside): sha256(file) for file in sorted(beside.rglob("*")) if file.is_file()}
            (beside / OWN).write_text(
                json.dumps({"kind": NETWORK, "files": made}, indent=1) + "\n", encoding="utf-8"
            )
            # The earlier folder is renamed, not deleted: an interrupted deletion would leave half a folder
            # under its name.
            if path.exists():
                _bring(path, beside)
                path.rename(before)
            beside.rename(path)
        except SafetensorError as error:
            raise OSError(f"{path}: {error}") from error
        finally:
            _recover(path)


def settle(folder: Path) -> None:
    """Finish the move of a killed writer, before a folder is read.

    Raises:
        FiglangError: If a writer is at work in the folder.
    """
    if _is_folder(folder / READY):
        with locked(folder):
            pass


def check_place(folder: Path) -> None:
    """Check that a folder is not a link and does not lie behind a link within a result of figlang.

    Raises:
        FiglangError: If it is or does.
    """
    absolute = folder.absolute()
    for place in (absolute, *absolute.parents):
        if place is not absolute and any((place / mark).is_file() for mark in MARKS):
            return
        inside = any((above / mark).is_file() for mark in MARKS for above in place.parents)
        if place.is_symlink() and (inside or place is absolute):
            shown = folder if place is absolute else place
            raise FiglangError(
                f"{shown} is a link to {place.readlink()}; give that folder itself, or remove the link"
            )


def is_as_written(folder: Path, name: str) -> bool:
    """Whether a file in a folder is unchanged since a command wrote it, by the folder's list OWN."""
    before = _listed(folder).get(name)
    return before is not None and (folder / name).is_file() and sha256(folder / name) == before


def clear(folder: Path, earlier: Sequence[str] = ()) -> None:
    """Delete the unchanged files that commands wrote into a folder, then the folder if it is empty.

    Args:
        folder: Folder of a result.
        earlier: Names to delete if the folder has no list OWN.
    """
    for name in sorted(_deletable(folder, _listed(folder), earlier)):
        _delete(folder, name)
    for name in (OWN, LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


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


def _tidy(folder: Path) -> None:
    """Finish what a killed writer had made ready, and remove what it had not finished."""
    if _is_folder(folder / READY):
        _move(folder)
    for place in (folder, *(folder / part for part in PARTS)):
        if not _is_folder(place):
            continue
        for path in list(place.iterdir()):
            if path.name.startswith(STAGE) and _is_folder(path):
                shutil.rmtree(path, ignore_errors=True)
            elif is_unfinished(path) and path.is_file():
                path.unlink(missing_ok=True)


def _move(folder: Path) -> None:
    """Move the files of READY into the folder. If this is interrupted, it can be called again."""
    ready = folder / READY
    if (ready / OWN).is_file():
        # A file is deleted only if it could be deleted when the list was made, and still can be.
        gone = [str(name) for name in _read(ready).get("gone", [])]
        for name in _deletable(folder, _listed(folder), gone) & set(gone):
            _delete(folder, name)
    files = [path for path in sorted(ready.rglob("*")) if path.is_file() and path != ready / OWN]
    for path in files:
        name = _name(path, ready)
        _check_target(folder, name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        path.replace(folder / name)
    if (ready / OWN).is_file():
        (ready / OWN).replace(folder / OWN)
    shutil.rmtree(ready)


def _bring(folder: Path, new: Path) -> None:
    """Copy the user's own files of a folder into the one that takes its place."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()]
    exported = [_name(path, folder) for path in files if any(path.match(pattern) for pattern in EXPORTED)]
    ours = _deletable(folder, _listed(folder), exported) | {OWN}
    for path in files:
        name = _name(path, folder)
        if name in ours or is_unfinished(path) or os.path.lexists(new / name):
            continue
        try:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise FiglangError(
                f"{path} is your own file, but a file of figlang must be written there; move it away"
            ) from None
        shutil.copy2(path, new / name, follow_symlinks=False)


def _recover(path: Path) -> None:
    """Bring back an earlier folder, and remove what is unfinished. The caller must hold the folder's lock."""
    candidates = path.parent.glob(f".{_literal(path.name[:LONGEST])}.*")
    leftovers = [candidate for candidate in candidates if is_unfinished(candidate)]
    # After an interruption between the two renamings, only the earlier folder is whole, under its other name.
    if not path.exists() and (
        before := next((leftover for leftover in leftovers if leftover.suffix == ".before"), None)
    ):
        before.rename(path)
    for leftover in leftovers:
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with suppress(OSError):
                leftover.unlink()


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _deletable(folder: Path, listed: Mapping[str, str], earlier: Sequence[str]) -> set[str]:
    """The files that a command wrote into a folder and nobody changed; without a list, those in `earlier`."""
    if not listed:
        return {name for name in earlier if _is_inside(name) and (folder / name).is_file()}
    return {
        name
        for name, digest in listed.items()
        if _is_inside(name)
        and not _behind_link(folder, name)
        and (folder / name).is_file()
        and sha256(folder / name) == digest
    }


def _delete(folder: Path, name: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.relative_to(folder).parents[:-1]:
        with suppress(OSError):  # the folder is not empty
            (folder / parent).rmdir()


def _check_target(folder: Path, name: str) -> None:
    if (link := _behind_link(folder, name)) is not None:
        raise FiglangError(
            f"{link} is a link to {link.readlink()}; figlang does not write through links, so remove it"
        )
    if _is_folder(folder / name):
        raise FiglangError(f"{folder / name} is a folder, but a file must be written there; move it away")


def _behind_link(folder: Path, name: str) -> Path | None:
    """The link that a file within a folder lies behind, if any. The file itself may be a link."""
    parents = [folder / parent for parent in PurePosixPath(name).parents[:-1]]
    return next((parent for parent in parents if parent.is_symlink()), None)


def _listed(folder: Path) -> dict[str, str]:
    digests = _read(folder).get("files", {})
    return (
        digests
        if isinstance(digests, dict) and all(isinstance(value, str) for value in digests.values())
        else {}
    )


def _kind(folder: Path) -> str | None:
    """The kind of the results in a folder; None if no command wrote it, or if an old version did."""
    kind, listed = _read(folder).get("kind"), _listed(folder)
    if isinstance(kind, str):
        return kind
    if any(name.endswith(".safetensors") for name in listed):
        return NETWORK
    return RESULT if "metrics.json" in listed else None


def _read(folder: Path) -> dict[str, Any]:
    try:
        listing = from_json((folder / OWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return listing if isinstance(listing, dict) else {}


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_inside(name: str) -> bool:
    # The list may come from another machine, with a copied run folder.
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and name != ""


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()

"""How commands write their folders: one writer at a time, all of a result or nothing, nothing outside,
nothing of others deleted.

The rule for each command:

- evaluate (so transfer and also=), generate, munch_figures, rate, report, compare, describe and contamination
  lock their folder and write everything into a hidden folder inside it (`staged`), whose files are moved into
  place when the last one is there. A killed process leaves the earlier result or, once the hidden folder is
  called READY, the new one: whoever opens the folder next moves the rest.
- The grids (miqa_table3, munch_judge, munch_generate) lock their folder, keep every finished cell in it, so
  that an interrupted grid goes on, and stage the rest: metrics.json and the tables.
- train locks its run folder and adds to it for hours. Its metrics.json is written last, and removed first
  where a run is replaced.
- merge, average, release, the matrix of transfer and every exported network replace a folder as a whole
  (`whole_folder`), and take the user's own files along.

Results that took a model's time (evaluations, grids, answers, runs) are replaced only by the same settings,
or by overwrite=true; what is made of them in moments (report, compare, describe) replaces what it made
before.

metrics.json holds the hash of each file that its numbers come from (`files` in it), which is checked on every
reading. OWN lists what a command wrote into a folder; only what is on an earlier list, and unchanged since,
is deleted.
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
STAGE = ".figlang-new-"
# A folder with one of these is a result of ours, below which no link is followed.
MARKS = ("recipe.json", "figlang.json", "metrics.json")
# What an export of a version that kept no list may hold.
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
# Where unfinished files of a killed writer may lie, besides the folder itself.
PARTS = ("figures", "tables", "predictions", "log_probabilities", "replies", "rankings")


@contextmanager
def locked(folder: Path, option: str = "output=DIR") -> Iterator[None]:
    """Make a folder and be its only writer, with what a killed writer left tidied up.

    Raises FiglangError for a folder that another process writes, that cannot be written to or that is a link
    to elsewhere.
    """
    check_place(folder)
    with lock(folder / LOCK, folder, option):
        _tidy(folder)
        yield


@contextmanager
def staged(folder: Path, earlier: Sequence[str] = ()) -> Iterator[Path]:
    """A new folder to fill, whose files are moved into `folder` when all are there; the caller has the
    folder's lock.

    Removed are then the files of the result before, as its list OWN says; where it has none, those named
    `earlier`.

    Raises FiglangError, with nothing moved, where a file would be written through a link or in place of a
    folder.
    """
    new = Path(mkdtemp(prefix=STAGE, dir=folder))
    try:
        yield new
        made = {_name(path, new): sha256(path) for path in sorted(new.rglob("*")) if path.is_file()}
        for name in made:
            _check_target(folder, name)
        gone = _deletable(folder, _listed(folder), earlier) - made.keys()
        (new / OWN).write_text(
            json.dumps({"files": made, "gone": sorted(gone)}, indent=1) + "\n", encoding="utf-8"
        )
        new.rename(folder / READY)  # from here on the result is the new one
        _move(folder)
    except OSError as error:
        if error.filename and str(error.filename).startswith(f"{new}{os.sep}"):
            error.filename = str(folder / Path(str(error.filename)).relative_to(new))
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def replaced(folder: Path, earlier: Sequence[str] = ()) -> Iterator[Path]:
    """Both at once: a locked folder, and a new one to fill for it."""
    with locked(folder), staged(folder, earlier) as new:
        yield new


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path` to fill, which takes its place at the end and is removed if that is not reached.

    Files of the earlier folder that are the user's own come along, unless the new one has a file of their
    name.

    Raises FiglangError while another process writes this folder or where `path` is a link, and OSError where
    a library that writes into it words that in another way.
    """
    if path.is_symlink():
        raise FiglangError(
            f"{path} is a link to {path.readlink()}; give that folder itself, or remove the link"
        )
    with lock(path.with_name(f".{path.name[:LONGEST]}.lock"), path):
        beside, before = beside_name(path), beside_name(path, "before")
        _recover(path)
        beside.mkdir()
        try:
            yield beside
            # safetensors makes files that only their owner may read, whatever is the rule here.
            for weights in beside.rglob("*.safetensors"):
                weights.chmod(beside.stat().st_mode & 0o666)
            (beside / OWN).unlink(missing_ok=True)  # a copied folder's
            made = {_name(file, beside): sha256(file) for file in sorted(beside.rglob("*")) if file.is_file()}
            (beside / OWN).write_text(json.dumps({"files": made}, indent=1) + "\n", encoding="utf-8")
            # Renamed and not deleted: a deletion that is cut short leaves half a folder under its name.
            if path.exists():
                _bring(path, beside)
                path.rename(before)
            beside.rename(path)
        except SafetensorError as error:
            raise OSError(f"{path}: {error}") from error
        finally:
            _recover(path)


def settle(folder: Path) -> None:
    """Before a folder is read: move what a killed writer had made ready.

    Raises FiglangError while a writer is at it.
    """
    if _is_folder(folder / READY):
        with locked(folder):
            pass


def check_place(folder: Path) -> None:
    """Raises FiglangError for a folder that is a link, or that lies behind a link within a result of ours."""
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
    """Whether a file in a folder is known to be as a command wrote it, by the folder's list OWN."""
    before = _listed(folder).get(name)
    return before is not None and (folder / name).is_file() and sha256(folder / name) == before


def clear(folder: Path, earlier: Sequence[str] = ()) -> None:
    """Delete what commands wrote into a folder and is unchanged, by its list OWN or else `earlier`; then the
    folder, if empty."""
    for name in sorted(_deletable(folder, _listed(folder), earlier)):
        _delete(folder, name)
    for name in (OWN, LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def check_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Raises FiglangError if a file of a folder is not the one that its metrics.json was counted from."""
    for name, digest in digests.items():
        path = folder / name
        if _is_inside(name) and path.is_file() and sha256(path) != digest:
            raise FiglangError(
                f"{path} is not the file that {folder / 'metrics.json'} was counted from; put that one back, "
                "or evaluate again "
                "with overwrite=true"
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
    """Move the files of READY into the folder; may be interrupted and begun again."""
    ready = folder / READY
    if (ready / OWN).is_file():
        # Only what was deletable when the list was made, and still is.
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
    found = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()]
    exported = [_name(path, folder) for path in found if any(path.match(pattern) for pattern in EXPORTED)]
    ours = _deletable(folder, _listed(folder), exported) | {OWN}
    for path in found:
        name = _name(path, folder)
        if name in ours or is_unfinished(path) or os.path.lexists(new / name):
            continue
        try:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise FiglangError(
                f"{path} is yours and stands where a file is to be written; move it away"
            ) from None
        shutil.copy2(path, new / name, follow_symlinks=False)


def _recover(path: Path) -> None:
    """Bring back an earlier folder and remove what is unfinished; only the holder of the folder's lock
    may."""
    known = [one for one in path.parent.glob(f".{_literal(path.name[:LONGEST])}.*") if is_unfinished(one)]
    # Cut short between the two renamings, only the earlier folder is whole, under its other name.
    if not path.exists() and (before := next((one for one in known if one.suffix == ".before"), None)):
        before.rename(path)
    for leftover in known:
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with suppress(OSError):
                leftover.unlink()


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _deletable(folder: Path, listed: Mapping[str, str], earlier: Sequence[str]) -> set[str]:
    """The files that a command wrote into a folder and nobody changed; without a list, those of these
    names."""
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
        with suppress(OSError):  # it still holds something
            (folder / parent).rmdir()


def _check_target(folder: Path, name: str) -> None:
    if (link := _behind_link(folder, name)) is not None:
        raise FiglangError(
            f"{link} is a link to {link.readlink()}; nothing is written through links, remove it"
        )
    if _is_folder(folder / name):
        raise FiglangError(f"{folder / name} is a folder, where a file is to be written; move it away")


def _behind_link(folder: Path, name: str) -> Path | None:
    """The link that a file within a folder lies behind; the file itself may be one, which would be
    replaced."""
    parents = [folder / parent for parent in PurePosixPath(name).parents[:-1]]
    return next((parent for parent in parents if parent.is_symlink()), None)


def _listed(folder: Path) -> dict[str, str]:
    found = _read(folder).get("files", {})
    return (
        found if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()) else {}
    )


def _read(folder: Path) -> dict[str, Any]:
    try:
        found = from_json((folder / OWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_inside(name: str) -> bool:
    # A list may come from elsewhere, with a run folder.
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and name != ""


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()

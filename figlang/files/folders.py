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
  (`whole_folder`). The user's own files are copied into the new folder. At the end the place is locked and
  looked at again, because another command may have written to it meanwhile.
- release without run= locks the checkpoint while it writes its card again.

Results that took a model's time (evaluations, grids, answers, runs) are replaced only by a command with the
same settings, or with overwrite=true. Results that take a moment (report, compare, describe) always replace
their earlier version.

The key `files` of metrics.json holds a hash of each file that its numbers come from. The hashes are checked
whenever the folder is read. Another list says what a command wrote into the folder
(figlang/files/ownership.py).
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from glob import escape
from pathlib import Path
from tempfile import mkdtemp

from safetensors import SafetensorError

from figlang.errors import FiglangError
from figlang.files import ownership
from figlang.files.ownership import NETWORK, OWN
from figlang.files.whole import LONGEST, acquired, beside_name, is_unfinished, lock, removed

LOCK, READY = ".lock", ".figlang-ready"
STAGE = ".figlang-new-"
# A folder with one of these files is a result of figlang. Inside it, links are not followed.
MARKS = ("recipe.json", "figlang.json", "metrics.json")
# Files of an export by an early version of figlang, which wrote no list OWN.
EXPORTED = (
    *("*.safetensors", "*.safetensors.index.json", "figlang.json", "config.json", "generation_config.json"),
    *("adapter_config.json", "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*"),
    *("merges.txt", "chat_template.jinja", "README.md", "config.yaml", "metrics.json", "predictions*.jsonl"),
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
        before = ownership.kind_of(folder)
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
            moved. Or if something removes the new folder meanwhile.
    """
    new = Path(mkdtemp(prefix=STAGE, dir=folder))
    try:
        yield new
        made = ownership.hashes(new)
        for name in made:
            ownership.check_target(folder, name)
        gone = ownership.deletable(folder, earlier) - made.keys()
        listing = {"kind": kind, "files": made, "gone": sorted(gone)}
        (new / OWN).write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
        new.rename(folder / READY)  # from here on, the new result counts
        _move(folder)
    except FileNotFoundError as error:
        if ownership.is_folder(new) or ownership.is_folder(folder / READY):
            raise
        raise removed(folder) from error
    except OSError as error:
        _name(error, new, folder)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def replaced(folder: Path, kind: str) -> Iterator[Path]:
    """Lock a folder, and give a new one to fill in its place: `locked` and `staged` together."""
    with locked(folder, kind=kind), staged(folder, kind) as new:
        yield new


@contextmanager
def whole_folder(path: Path, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """Give a folder to fill that takes the place of `path` at the end, or is removed after an error.

    The user's own files in the earlier folder are copied to the new one, unless it has a file of the same
    name.

    Args:
        path: The folder.
        check: Raises FiglangError if `path` may not be replaced. It is called before the new folder is filled
            and again before it takes the place, since other commands may have written to `path` meanwhile.

    Raises:
        FiglangError: If another process writes this folder, if `path` is a link or holds another kind of
            thing, or if something removed the new folder meanwhile.
        OSError: If a write fails, also where safetensors reports the failure with an error of its own.
    """
    if path.is_symlink():
        raise FiglangError(
            f"{path} is a link to {path.readlink()}; give that folder itself, or remove the link"
        )
    with lock(path.with_name(f".{path.name[:LONGEST]}.lock"), path):
        beside, before = beside_name(path), beside_name(path, "before")
        _recover(path)
        _check_replaceable(path, check)
        beside.mkdir()
        try:
            yield beside
            # safetensors makes files that only their owner may read, whatever the system's default is.
            for weights in beside.rglob("*.safetensors"):
                weights.chmod(beside.stat().st_mode & 0o666)
            (beside / OWN).unlink(missing_ok=True)  # it may be the list of a copied folder
            made = ownership.hashes(beside)
            (beside / OWN).write_text(
                json.dumps({"kind": NETWORK, "files": made}, indent=1) + "\n", encoding="utf-8"
            )
            # The earlier folder is renamed, not deleted: an interrupted deletion would leave half a folder
            # under its name.
            if path.exists():
                held = acquired(path / LOCK, path)  # a training or an evaluation may have begun in it
                try:
                    _check_replaceable(path, check)
                    _bring(path, beside)
                    path.rename(before)  # with the file of the lock
                finally:
                    held.release()
            beside.rename(path)
        except SafetensorError as error:
            raise _of_system(error, path) from error
        except FileNotFoundError as error:
            if beside.exists():
                raise
            raise removed(path) from error
        except OSError as error:
            _name(error, beside, path)
            raise
        finally:
            _recover(path)


def _check_replaceable(path: Path, check: Callable[[], None] | None) -> None:
    if check is not None:
        check()
    if (kind := ownership.kind_of(path)) not in (None, NETWORK):
        raise FiglangError(f"{path} holds {kind}, which {NETWORK} would replace; choose another folder")


def _name(error: OSError, new: Path, folder: Path) -> None:
    """Let an error name a file of `folder` and not of the hidden folder that is filled in its place."""
    if error.errno is None:  # its words are all that it says, and a file would take their place
        return
    if error.filename is None:  # a failed write names no file
        error.filename = str(folder)
    elif str(error.filename).startswith(f"{new}{os.sep}"):
        error.filename = str(folder / Path(str(error.filename)).relative_to(new))


def _of_system(error: SafetensorError, folder: Path) -> OSError:
    """The error of the system that safetensors reports in words of its own."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is None:
        return OSError(f"{folder}: {error}")
    return OSError(int(number[1]), os.strerror(int(number[1])), str(folder))


def copied(source: Path, target: Path, without: Sequence[str] = ()) -> None:
    """Copy the files of a folder. The copies may be written to, even if the originals are read-only.

    Args:
        source: The folder.
        target: The folder to copy to; it is made if it is not there.
        without: Patterns of names of files that are not copied.

    Raises:
        OSError: If a file cannot be read or written. It names the file.
    """
    target.mkdir(exist_ok=True)
    for path in sorted(source.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in without):
            continue
        if path.is_dir():
            copied(path, target / path.name, without)
        else:
            shutil.copyfile(path, target / path.name)


def settle(folder: Path) -> None:
    """Finish the move of a killed writer, before a folder is read.

    Raises:
        FiglangError: If a writer is at work in the folder.
    """
    if ownership.is_folder(folder / READY):
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


def clear(folder: Path, earlier: Sequence[str] = ()) -> None:
    """Delete the unchanged files that commands wrote into a folder, then the folder if it is empty.

    Args:
        folder: Folder of a result.
        earlier: Names to delete if the folder has no list OWN.
    """
    for name in sorted(ownership.deletable(folder, earlier)):
        ownership.delete(folder, name)
    for name in (OWN, LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _tidy(folder: Path) -> None:
    """Finish what a killed writer had made ready, and remove what it had not finished."""
    if ownership.is_folder(folder / READY):
        _move(folder)
    for place in (folder, *(folder / part for part in PARTS)):
        if not ownership.is_folder(place):
            continue
        for path in list(place.iterdir()):
            if path.name.startswith(STAGE) and ownership.is_folder(path):
                shutil.rmtree(path, ignore_errors=True)
            elif is_unfinished(path) and path.is_file():
                path.unlink(missing_ok=True)


def _move(folder: Path) -> None:
    """Move the files of READY into the folder. If this is interrupted, it can be called again."""
    ready = folder / READY
    if (ready / OWN).is_file():
        # A file is deleted only if it could be deleted when the list was made, and still can be.
        gone = [str(name) for name in ownership.read(ready).get("gone", [])]
        for name in ownership.deletable(folder, gone) & set(gone):
            ownership.delete(folder, name)
    files = [path for path in sorted(ready.rglob("*")) if path.is_file() and path != ready / OWN]
    for path in files:
        name = ownership.name_within(path, ready)
        ownership.check_target(folder, name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        path.replace(folder / name)
    if (ready / OWN).is_file():
        (ready / OWN).replace(folder / OWN)
    shutil.rmtree(ready)


def _bring(folder: Path, new: Path) -> None:
    """Copy the user's own files of a folder into the one that takes its place."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()]
    exported = [
        ownership.name_within(path, folder)
        for path in files
        if any(path.match(pattern) for pattern in EXPORTED)
    ]
    ours = ownership.deletable(folder, exported) | {OWN}
    for path in files:
        name = ownership.name_within(path, folder)
        if name in ours or name == LOCK or is_unfinished(path) or os.path.lexists(new / name):
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
    candidates = path.parent.glob(f".{escape(path.name[:LONGEST])}.*")
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

"""Runs that were stopped: how a folder shows it, and which command goes on."""

import shlex
import sys
from pathlib import Path

from figlang.config.signature import program
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.files.redaction import redacted
from figlang.files.sources import PACKAGE
from figlang.files.whole import write_text

# Beside the state to resume from, and removed with it when the run is finished.
COMMAND, BEST = "checkpoints/command.txt", "checkpoints/best.ckpt"
# The recipe has the hash of the training items in place of the file that data.file= names.
FILE = "checkpoints/file.txt"


def begin(folder: Path, file: str | None = None) -> None:
    """Keep the running command, which resumes the run if it is stopped.

    Args:
        folder: The run folder.
        file: The file of the training items, if `data.file` names one.
    """
    path = folder / COMMAND
    path.parent.mkdir(exist_ok=True)
    write_text(path, redacted(f"{program()} {shlex.join(sys.argv[1:])}".rstrip()) + "\n")
    if file is not None:
        write_text(folder / FILE, file)


def file_of(folder: Path) -> str | None:
    """The file of the training items of an unfinished run; None if `data.file` named none.

    Args:
        folder: The run folder.
    """
    path = folder / FILE
    return stored.text(path, "overwrite=true starts the run again") if path.is_file() else None


def resumed(folder: Path) -> str | None:
    """How an unfinished run is resumed; None if the folder is not one.

    Args:
        folder: A run folder, or any other folder.
    """
    if not (folder / "recipe.json").is_file() or (folder / "metrics.json").is_file():
        return None
    try:
        command = (folder / COMMAND).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):  # of an earlier version
        command = ""
    return f"it is resumed by: {command}" if command else "the command that began it resumes it"


def check(source: str) -> None:
    """Refuse to evaluate a run that is not finished.

    Args:
        source: A run folder, or any other name of a model.

    Raises:
        FiglangError: It is an unfinished run. It gives the command that resumes it.
    """
    folder = Path(source).expanduser()
    if source.startswith(PACKAGE) or (resumes := resumed(folder)) is None:
        return
    if (folder / BEST).is_file():
        best = "epoch=best evaluates its best weights so far"
    else:
        best = "it keeps no weights to evaluate (method.selection=heldout keeps them from epoch 1 on)"
    raise FiglangError(f"{source} is an unfinished run; {best}; {resumes}")

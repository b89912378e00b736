"""The error for a file that is not there: a file with a similar name, or the folder that is missing."""

from difflib import get_close_matches
from pathlib import Path

from figlang.errors import FiglangError


def no_such_file(path: Path) -> FiglangError:
    """Make the error for a file that somebody named.

    Args:
        path: The file, which does not exist.

    Returns:
        The error. It names the file with the most similar name in the same folder, if there is one.
    """
    if path.is_dir():
        return FiglangError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        return FiglangError(f"no such file: {path}; there is no folder {path.parent}")
    try:
        beside = [file.name for file in path.parent.iterdir() if file.is_file()]
    except OSError:  # a folder that may not be listed
        beside = []
    near = get_close_matches(path.name, beside, 1)
    remedy = f"did you mean {path.parent / near[0]}?" if near else f"it is not in {path.parent.absolute()}"
    return FiglangError(f"no such file: {path}; {remedy}")

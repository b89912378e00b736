"""Replace paths of this machine in released files. A reader sees a path to follow, or its last part."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figlang.files import stored

DATA = "$FIGLANG_DATA"
# A path from the root: not a URL, not the rest of a relative path, not a fraction such as `a / b`.
_PATH = re.compile(r"(?<![\w.~/$\\}\])-])/(?=[\w.~\\])[^\s'\"`|,;:()\[\]{}<>=]*")
_WORDINGS = ("prompt", "scoring")  # groups of settings that hold text for models, which stays as it is
_BETWEEN = re.compile(r"([,\[\]{}=:])")  # what separates values within one word of a command


def places(run: Path, data: str | None) -> dict[str, str]:
    """Folders of this machine, and what a reader sees in their place.

    Args:
        run: Folder of a run.
        data: Folder with the data sets; None if they were downloaded.

    Returns:
        The project folder of the run as `.`, so that what lies in it is relative to it; its folder of runs as
        `runs`; the current folder as `.`; the data sets as `$FIGLANG_DATA`.
    """
    project, runs = _around(run)
    found = {Path.cwd(): "."}
    if runs is not None:
        found[runs] = "runs"
    if project is not None:
        found[project] = "."
    if data is not None:
        found[Path(data).expanduser()] = DATA
    return {str(folder): name for folder, name in found.items() if folder != folder.parent}


def _around(run: Path) -> tuple[Path | None, Path | None]:
    """The folder in which a run was started, and its folder of runs, as far as its config.yaml tells them."""
    settings = stored.settings(run / "config.yaml", "put the file back, or train the run again")
    where, whole = settings.get("paths"), run.absolute()
    runs = Path(str(where.get("runs", "runs") if isinstance(where, dict) else "runs")).expanduser()
    if runs.is_absolute():
        return None, runs if whole.is_relative_to(runs) else None
    typed = Path(str(settings.get("run") or runs))
    for path in (typed, runs):
        # A relative path was typed in the project folder. For an absolute one, find the folder of runs.
        if path.is_absolute() or not path.parts:
            continue
        for folder in (whole, *whole.parents):
            if folder.parts[-len(path.parts) :] == path.parts:
                project = folder.parents[len(path.parts) - 1]
                return project, project / runs
    return None, None


def named(text: str, known: Mapping[str, str]) -> str:
    """A text with the names of folders in place of the folders (`places`)."""
    for folder, name in sorted(known.items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])", name, text)
    return text


def source(path: str) -> str:
    """A source of weights or data as others see it: the last part of a path of this machine."""
    absolute = Path(path).is_absolute() and not path.startswith("//")  # `//` begins the rest of a URL
    return Path(path).name if absolute else path


def command(line: str) -> str:
    """A command in which each path of this machine is its last part. A path may hold spaces."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        return plain(line)
    short = ["".join(source(part) for part in _BETWEEN.split(word)) for word in words]
    return plain(line if short == words else shlex.join(short))


def plain(text: str) -> str:
    """Text in which each path of this machine is its last part."""
    return _PATH.sub(lambda found: Path(found[0]).name, text)


def document(content: Any) -> Any:
    """Content of metrics.json in which each path of this machine is its last part.

    Args:
        content: The document, or a part of it. `contamination` is not changed, since it holds ids.
    """
    if isinstance(content, dict):
        return {
            key: value if key == "contamination" else _of_key(key, value) for key, value in content.items()
        }
    if isinstance(content, list):
        return [document(value) for value in content]
    return plain(content) if isinstance(content, str) and not _whole(content) else _shortened(content)


def _of_key(key: str, value: Any) -> Any:
    """A value of metrics.json: commands are read as words."""
    if key == "command":
        return command(value)
    if key == "commands_before":
        return [_of_key("commands", stage) for stage in value]
    return [command(line) for line in value] if key == "commands" else document(value)


def settings(content: Any) -> Any:
    """Settings in which each value that is a path of this machine is its last part.

    Args:
        content: Content of config.yaml or figlang.json, or a part of it. Wordings stay.
    """
    if isinstance(content, dict):
        return {key: value if key in _WORDINGS else settings(value) for key, value in content.items()}
    if isinstance(content, list):
        return [settings(value) for value in content]
    return _shortened(content)


def _whole(text: str) -> bool:
    """Whether a text as a whole is a path from the root."""
    return bool(re.match(r"/[\w.~]", text)) and "\n" not in text


def _shortened(value: Any) -> Any:
    """A value, or its last part if it is a path of this machine."""
    return source(value) if isinstance(value, str) and _whole(value) else value

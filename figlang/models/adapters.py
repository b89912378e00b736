"""Whether there are adapters, found out without peft, which takes a second to import."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic_core import from_json
from transformers.utils import cached_file

from figlang.files.sources import PACKAGE, local_path

SETTINGS = "adapter_config.json"
# The base of an adapter folder that holds its own base, for example a tiny random network.
OWN = "base"


def file_of(source: str, name: str, revision: str | None) -> str | None:
    """The path of a file of a folder or hub id; None without it, or if the hub cannot be reached."""
    quiet = {
        f"_raise_exceptions_for_{what}": False
        for what in ("missing_entries", "connection_errors", "gated_repo")
    }
    return cast(str | None, cached_file(source, name, revision=revision, **quiet))


@dataclass(frozen=True)
class Below:
    """The network below adapters without a config.json.

    Attributes:
        source: Its folder or hub id.
        revision: Its revision on the hub.
        task: The `task_type` of the adapters.
    """

    source: str
    revision: str | None
    task: object


def below(source: str, revision: str | None, given: str | None = None) -> Below | None:
    """The network below adapters without a config.json: the `given` one, or that which they name.

    None for other sources.
    """
    path = file_of(source, SETTINGS, revision)
    if path is None or file_of(source, "config.json", revision):
        return None
    content = from_json(Path(path).read_text(encoding="utf-8"))
    content = content if isinstance(content, dict) else {}
    base = given or content.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        return None
    here = base.startswith(PACKAGE) or Path(base).is_dir()
    at = None if given else content.get("revision")
    return Below(
        str(local_path(base)) if here else base, at if isinstance(at, str) else None, content.get("task_type")
    )


def absent(source: str, base: str, why: str) -> str:
    """The message if the network below adapters cannot be found.

    Args:
        source: The folder or hub id of the adapters.
        base: That of the network.
        why: The reason.
    """
    return (
        f"{source}: its adapters lie over {base}, which cannot be found; `figlang evaluate` takes a copy "
        f"of it by model.base=FOLDER, and `figlang train` that of a teacher by method.teacher_base=FOLDER "
        f"({why})"
    )

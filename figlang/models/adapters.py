"""Whether there are adapters, found out without peft, which takes a second to import."""

from typing import cast

from transformers.utils import cached_file

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

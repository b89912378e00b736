"""The kind of a model, found from its config.json before anything heavy is imported."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.errors import FiglangError, one_line
from figlang.files.sources import PACKAGE, local_path

CONFIG, ADAPTERS, MODULES = "config.json", "adapter_config.json", "modules.json"


class Kind(Enum):
    """The kind of a folder of weights."""

    CAUSAL = "a causal model"
    NLI = "an NLI classifier"
    SENTENCES = "a sentence encoder"
    ENCODER = "an encoder"


def kind_of(source: str, revision: str | None = None) -> Kind:
    """The kind of a model.

    Args:
        source: A folder, a GGUF file, a `package:` path, an earlier run or a hub id.
        revision: Branch, tag or commit of a hub id.

    Returns:
        The kind that its config.json shows.

    Raises:
        FiglangError: There is no such model, the hub cannot be reached, or config.json cannot be read.
    """
    if source.endswith(".gguf"):
        if not local_path(source).is_file():
            raise FiglangError(f"no such GGUF file: {source}; give a path that ends in .gguf")
        return Kind.CAUSAL
    folder = _folder(source)
    read = _Reader(folder, source, revision)
    config = read(CONFIG)
    if config is None and (adapters := read(ADAPTERS)) is not None:
        causal = "CAUSAL" in str(adapters.get("task_type"))
        return Kind.CAUSAL if causal else Kind.ENCODER
    if config is None:
        place = (
            "in it" if folder is not None else "of it on the hub (or in its cache, if HF_HUB_OFFLINE is set)"
        )
        raise FiglangError(
            f"model={source}: there is no {CONFIG} {place}, so it cannot be opened; give a hub id, a folder "
            "of weights or a GGUF file"
        )
    classes = [str(name) for name in config.get("architectures") or []]
    # BERT with an LM head reads in both directions unless it was trained not to.
    if any(name.endswith(("ForCausalLM", "LMHeadModel")) and "Bert" not in name for name in classes):
        return Kind.CAUSAL
    if any("SequenceClassification" in name for name in classes):
        return Kind.NLI
    return Kind.SENTENCES if read(MODULES, parsed=False) is not None else Kind.ENCODER


def _folder(source: str) -> Path | None:
    """The folder of a source with its config.json; None for a hub id."""
    owner = source.partition("/")[0]
    here = source.startswith((PACKAGE, "/", ".", "~", "runs/")) or Path(owner).is_dir()
    if not here and source.count("/") < 2:
        return None
    folder = local_path(source)
    if not folder.is_dir():
        raise FiglangError(
            f"model={source}: there is no such folder; give a folder, a hub id ORG/NAME or a preset "
            "(`figlang models` lists them)"
        )
    return folder / "model" if (folder / "model" / CONFIG).is_file() else folder


class _Reader:
    """Reads JSON files of a folder, or of a hub id through the hub's client and its cache."""

    def __init__(self, folder: Path | None, source: str, revision: str | None) -> None:
        self.folder, self.source, self.revision = folder, source, revision

    def __call__(self, name: str, parsed: bool = True) -> Mapping[str, Any] | None:
        """The content of a file; None if there is no such file.

        Args:
            name: The name of the file.
            parsed: Whether to read it. If not, {} stands for any file that exists.
        """
        path = self._path(name)
        if path is None or not path.is_file():
            return None
        if not parsed:
            return {}
        try:
            content = from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FiglangError(
                f"model={self.source}: its {name} cannot be read ({one_line(error)}); download it again"
            ) from error
        if not isinstance(content, dict):
            raise FiglangError(f"model={self.source}: its {name} is not a JSON object; download it again")
        return content

    def _path(self, name: str) -> Path | None:
        if self.folder is not None:
            return self.folder / name
        # The hub's client takes a moment to import, and only hub ids need it.
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        from figlang.files import hub

        hub.check(self.source, self.revision)
        try:
            return Path(hf_hub_download(self.source, name, revision=self.revision))
        except EntryNotFoundError:
            return None
        except Exception as error:  # no such repository, no permission, or an error of the connection
            raise FiglangError(
                f"model={self.source} cannot be fetched from the hub ({one_line(error)}); give a hub id, a "
                "folder or a preset (`figlang models` lists them)"
            ) from error

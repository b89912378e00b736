"""YAML files about data: those that `figlang describe` writes, and tasks of lm-evaluation-harness. Nothing in
them is run."""

from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from figlang.config import ColumnsConfig, DataConfig
from figlang.errors import FiglangError, one_line
from figlang.files.missing import no_such_file

ENDINGS = (".yaml", ".yml")
FILES = ("file", "train", "validation", "test", "published")
KEYS = (*FILES, "hub", "columns")


class _Loader(yaml.SafeLoader):
    """Plain values only."""


@dataclass(frozen=True)
class Code:
    """The place of a value that names Python code, for example `!function utils.text`. It is never run."""

    file: str
    line: int
    tag: str

    def refusal(self) -> FiglangError:
        """The error where the value is needed."""
        return FiglangError(
            f"{self.file} line {self.line}: !{self.tag} names Python code, and figlang runs no code of such "
            "files; write the columns or a Jinja template there, or export the rows to a JSONL file"
        )


def _code(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Code:
    return Code(Path(node.start_mark.name).name, node.start_mark.line + 1, suffix)


_Loader.add_multi_constructor("!", _code)


def read(path: Path) -> dict[str, Any]:
    """Read a YAML file.

    Raises:
        FiglangError: It is missing, is not YAML, or is not a mapping.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            content = yaml.load(file, _Loader)  # the safe loader above
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FiglangError(f"{path} is not YAML ({one_line(error)}); correct it") from error
    if not isinstance(content, dict):
        raise FiglangError(f"{path} holds no keys with values; write it by figlang describe FILE")
    return content


def text(content: dict[str, Any]) -> str:
    """The keys and values as YAML, in their order."""
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))


def filled(data: DataConfig, content: dict[str, Any], path: Path) -> DataConfig:
    """The settings of data with those of a file where the command gives none.

    Args:
        data: The settings of the command.
        content: The content of the YAML file; paths in it start at its folder.
        path: The file.

    Raises:
        FiglangError: The file has a key or a value that is not known.
    """
    known = [key for key in content if key not in ("name", "dataset")]
    for key in known:
        if key not in KEYS:
            meant = "".join(f"did you mean {close}? " for close in get_close_matches(str(key), KEYS, n=1))
            raise FiglangError(f"{path}: unknown key {key!r}; {meant}the keys are {', '.join(KEYS)}")
        if isinstance(content[key], Code):
            raise content[key].refusal()
        if key != "columns" and not isinstance(content[key], str | None):
            raise FiglangError(f"{path}: {key}: {content[key]!r} is not text; give one name")
    changed: dict[str, Any] = {"file": None}
    for name in FILES:
        if content.get(name) is not None and (name == "file" or getattr(data, name) is None):
            changed[name] = str(path.parent / Path(str(content[name])).expanduser())
    columns = _columns(data.columns, content.get("columns") or {}, path)
    return replace(data, **changed, hub=data.hub or content.get("hub"), columns=columns)


def _columns(given: ColumnsConfig, content: Any, path: Path) -> ColumnsConfig:
    names = [spec.name for spec in fields(ColumnsConfig)]
    if not isinstance(content, dict) or (unknown := [name for name in content if name not in names]):
        wrong = "columns: " + (
            f"there is no {unknown[0]!r}" if isinstance(content, dict) else "not a mapping"
        )
        raise FiglangError(f"{path}: {wrong}; the keys of columns are {', '.join(names)}")
    unset = asdict(ColumnsConfig())
    typed = {name: value for name, value in asdict(given).items() if value != unset[name]}
    if isinstance(content.get("attributes"), str):
        content = {**content, "attributes": [content["attributes"]]}
    return ColumnsConfig(**{**content, **typed})

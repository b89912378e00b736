"""Where the presets are, and which data sets verbs take by default."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_PACKAGE = Path(__file__).resolve().parents[1]
# Inside the package where a wheel is installed, beside it in a checkout.
_INSIDE = _PACKAGE / "conf"
CONF = _INSIDE if _INSIDE.is_dir() else _PACKAGE.parent / "conf"


@dataclass(frozen=True)
class Defaults:
    """Presets of data= by their use, as conf/defaults.yaml explains it."""

    task: str
    by_columns: Mapping[str, tuple[str, ...]]
    small: str
    described: str
    asked: str
    searched: str
    anchored: str
    against: tuple[str, ...]


def _read(path: Path) -> Defaults:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    by_columns = {name: tuple(columns) for name, columns in content["by_columns"].items()}
    return Defaults(**content | {"against": tuple(content["against"]), "by_columns": by_columns})


DEFAULTS = _read(CONF / "defaults.yaml")


@cache
def bundled() -> frozenset[str]:
    """The tasks of figlang's presets of data=. Each has sentences in `figlang/samples`; other tasks have
    none."""
    texts = (path.read_text(encoding="utf-8") for path in (CONF / "data").glob("*.yaml"))
    return frozenset(str(yaml.safe_load(text)["dataset"]) for text in texts)

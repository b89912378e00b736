"""The facts about a run for every tracker: its name, its settings, its results."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from figlang.config import TrainConfig
from figlang.errors import FiglangError
from figlang.files.redaction import redacted_values
from figlang.runs.training import Run

# A row of log.csv: step, epoch, split, metric, value.
History = Sequence[tuple[int, int, str, str, float]]


def name_of(run: Run) -> str:
    """The name of a run: the last two parts of its folder, or its own name if it lies in no other folder."""
    folder = run.folder
    return str(
        Path(folder).name if folder.parent.name in ("", ".") else folder.relative_to(folder.parent.parent)
    )


def settings(config: TrainConfig) -> Mapping[str, Any]:
    """The settings of the experiment without secrets. Paths and the logger are not among them."""
    whole = asdict(config)
    redacted: Mapping[str, Any] = redacted_values(
        {name: value for name, value in whole.items() if name not in ("logger", "paths")}
    )
    return redacted


def results(content: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a metrics.json as `final/NAME`, with `_low` and `_high` for the ends of the interval.

    Shares are from 0 to 1.
    """
    found = {name: estimate for name, estimate in content["metrics"].items() if _is_estimate(estimate)}
    if "gain" in content:
        found |= {"blind_accuracy": content["blind"]["accuracy"], "gain": content["gain"]}
    return {
        f"final/{name}{suffix}": float(estimate[key])
        for name, estimate in found.items()
        for suffix, key in (("", "value"), ("_low", "low"), ("_high", "high"))
    }


def last_step(history: History) -> int:
    """The step after which a training ended."""
    return history[-1][0] if history else 0


def library(name: str, package: str, module: str) -> Any:
    """The module of a tracker's package. Raises FiglangError if the package is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise FiglangError(
            f"logger={name} needs the package {package}; install it with `pip install 'figlang[{name}]'`"
        ) from error


def _is_estimate(value: Any) -> bool:
    return isinstance(value, Mapping) and {"value", "low", "high"} <= value.keys()

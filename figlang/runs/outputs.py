"""Folders of evaluations: where each one goes, what determined its result, and when it may be replaced."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.config import EvaluateConfig
from figlang.errors import FiglangError
from figlang.files import folders, ownership
from figlang.files.redaction import redacted_values
from figlang.files.whole import slug
from figlang.models.manifest import MANIFEST
from figlang.runs.predictions import WRITTEN
from figlang.types import Split

METRICS = "metrics.json"
# Files that an evaluation may hold, for folders of early versions, which kept no list of their files.
MADE = (METRICS, *WRITTEN, "submission.json")
# Settings that do not change a result, or that are described better by what was loaded (weights, hashes of
# data).
FREE = (
    *("paths", "output", "name", "overwrite", "batch_size", "trainer", "method", "checkpoint"),
    "epoch",
    *("allow_pickle", "vectors", "rated", "ratings", "one_by_one", "table"),
)
FREE_OF_MODEL = (
    *("name_or_path", "allow_bin", "trust_remote_code", "key_env", "concurrency", "timeout", "retries"),
    *("input_price", "output_price", "currency", "max_cost", "device_map", "dry_run", "speed", "batch"),
    *("attention", "base"),
)
FREE_OF_DATA = ("root", "file", "train", "validation", "test", "test_labels")


def place(config: EvaluateConfig) -> Path:
    """The folder of an evaluation.

    It is `output` if that is set. Otherwise it is `name` in the run folder, or, for a model that is not a
    run, `name` below the folder of runs.
    """
    name = config.name or f"{config.data.name}-{config.split}"
    elsewhere = Path(config.paths.runs) / "evaluations"
    if config.output is not None:
        return Path(config.output)
    if config.checkpoint is None:
        return elsewhere / config.model.name / name
    if (Path(config.checkpoint) / "recipe.json").is_file():
        return Path(config.checkpoint) / "evaluations" / name
    return elsewhere / slug(_flat(config.checkpoint)) / name


def _flat(checkpoint: str) -> str:
    """A checkpoint's name as the name of a folder. Folders of one name in two places get two names."""
    folder = Path(checkpoint).expanduser().resolve()
    if folder.exists():
        checkpoint = str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
    return checkpoint.strip("/.~").replace("/", "~").replace(":", "~")


def decided_by(config: EvaluateConfig, split: Split, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that determines the result of an evaluation, as plain data without secrets.

    Args:
        config: Its settings.
        split: Its items.
        origin: What the model is (`predicting.origin`).
    """
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    for group, free in (("model", FREE_OF_MODEL), ("data", FREE_OF_DATA)):
        settings[group] = {name: value for name, value in settings[group].items() if name not in free}
    data = {"sha256": split.sha256, "items": len(split.items), "labels_sha256": split.labels_sha256}
    plain = {"settings": settings, "data": data, "model": dict(origin)}
    content: dict[str, Any] = redacted_values(json.loads(json.dumps(plain, default=str)))
    return content


@contextmanager
def claimed(config: EvaluateConfig, wanted: Mapping[str, Any], first: bool = True) -> Iterator[Path]:
    """Lock the folder of an evaluation, if it may be written.

    It may be written if it holds no finished result, or one with the same settings, or with overwrite=true.

    Args:
        config: Settings of the evaluation.
        wanted: What determines its result (`decided_by`).
        first: Whether this is the first of several processes. The others write nothing.

    Raises:
        FiglangError: If the folder belongs to a training or is a checkpoint, if another process writes it, or
            if it holds a finished result with other settings.
    """
    folder = place(config)
    if not first:
        yield folder
        return
    with claimed_folder(folder, wanted, config.overwrite):
        yield folder


@contextmanager
def claimed_folder(folder: Path, wanted: Mapping[str, Any], overwrite: bool) -> Iterator[None]:
    """Lock a folder for an evaluation, if it may be written; the errors are those of `claimed`.

    Args:
        folder: The folder.
        wanted: What determines the result (`decided_by`).
        overwrite: Whether a finished result with other settings may be replaced.
    """
    # A run and a checkpoint have their own metrics.json and predictions. These took longer to make than an
    # evaluation.
    if any((folder / file).is_file() for file in (MANIFEST, "recipe.json")):
        raise FiglangError(
            f"{folder} belongs to a training or is a checkpoint, and its results are kept; choose "
            "another folder with output=DIR"
        )
    with folders.locked(folder, kind=ownership.RESULT):
        if not overwrite:
            _check_same(folder, wanted)
        yield


@contextmanager
def result(config: EvaluateConfig, wanted: Mapping[str, Any], first: bool = True) -> Iterator[Path]:
    """Give a folder to fill with an evaluation. Its files are moved into place when all of them are there.

    Arguments and errors are those of `claimed`.
    """
    with claimed(config, wanted, first) as folder:
        if not first:
            yield folder
            return
        with folders.staged(folder, ownership.RESULT, MADE) as new:
            yield new


def _check_same(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Check that a folder does not hold a finished result with other settings.

    Raises:
        FiglangError: If it does. It names the differences.
    """
    if not (folder / METRICS).is_file():
        return
    before = finished(folder)
    if "signature" not in before:
        raise FiglangError(
            f"{folder / METRICS} is not of an evaluation or is damaged; choose another folder, or "
            "overwrite=true"
        )
    known = known_of(before)
    changed = list(differences(known, _shared(wanted, known)))
    if changed:
        raise FiglangError(
            f"{folder} holds a finished result with other settings ({', '.join(changed)}); choose "
            "another folder with output=DIR, or replace it with overwrite=true"
        )


def finished(folder: Path) -> dict[str, Any]:
    """The content of the metrics.json in a folder; empty if there is none or if it cannot be read."""
    try:
        content = from_json((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def differences(before: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """The differences between the settings of an existing result and the wanted ones.

    For example `seed: 0 → 1`.
    """
    if isinstance(before, dict) and isinstance(wanted, dict):
        for key in sorted(before.keys() | wanted.keys()):
            yield from differences(before.get(key), wanted.get(key), f"{name}.{key}".lstrip("."))
    elif before != wanted:
        yield f"{name.removeprefix('settings.')}: {before} → {wanted}"


def known_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """What determined a finished result, as far as its metrics.json says it.

    That of a training, of a checkpoint or of an early version has no `decided_by`.
    """
    if found := _part(content, "decided_by"):
        return found
    known: dict[str, Any] = {
        "settings": {name: content[name] for name in ("seed", "split") if name in content}
    }
    data = _part(_part(content, "data"), str(content.get("split")))
    known["data"] = {name: data[name] for name in ("sha256", "items") if name in data}
    facts = _part(content, "facts")
    known["model"] = {name: facts[name] for name in ("model", "base", "trained") if name in facts}
    return known


def _part(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = content.get(name)
    return section if isinstance(section, dict) else {}


def _shared(wanted: Any, known: Any) -> Any:
    """The settings that an earlier result also has. A setting that was added since is not a difference."""
    if not isinstance(wanted, dict) or not isinstance(known, dict):
        return wanted
    return {key: _shared(value, known[key]) for key, value in wanted.items() if key in known}

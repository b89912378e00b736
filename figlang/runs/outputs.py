"""Folders of evaluations: where each goes, what decided its result, and that no finished one is replaced in
silence."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.files import folders
from figlang.config import EvaluateConfig
from figlang.errors import FiglangError
from figlang.models.recipe import RECIPE
from figlang.files.whole import slug
from figlang.runs.predictions import BACKWARD, BLIND, FORWARD, JUDGEMENTS, MEASURED, REPLIES
from figlang.files.redaction import redacted_values
from figlang.types import Split

METRICS = "metrics.json"
# What an evaluation may hold, for folders of versions that kept no list of it.
MADE = (METRICS, FORWARD, BACKWARD, BLIND, JUDGEMENTS, MEASURED, REPLIES, "submission.json")
# Settings that change no result, or are said better by what was loaded: its weights, the hashes of its data.
FREE = (
    *("paths", "output", "name", "overwrite", "batch_size", "trainer", "method", "checkpoint"),
    *("allow_pickle", "vectors", "rated", "ratings", "one_by_one"),
)
FREE_OF_MODEL = (
    *("name_or_path", "allow_bin", "trust_remote_code", "key_env", "concurrency", "timeout", "retries"),
    *("input_price", "output_price", "max_cost", "device_map"),
)
FREE_OF_DATA = ("root", "train", "validation", "test", "test_labels")


def place(config: EvaluateConfig) -> Path:
    """Where an evaluation goes: `output`, else `name` in the run folder, else `name` below the folder of
    runs."""
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
    """A checkpoint's name as that of a folder: folders of one name in two places have two."""
    folder = Path(checkpoint).expanduser().resolve()
    if folder.exists():
        checkpoint = str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
    return checkpoint.strip("/.~").replace("/", "~").replace(":", "~")


def decided_by(config: EvaluateConfig, split: Split, origin: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the result of an evaluation: its settings, the items, and what a model is
    (`predicting.origin`)."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE}
    for group, free in (("model", FREE_OF_MODEL), ("data", FREE_OF_DATA)):
        settings[group] = {name: value for name, value in settings[group].items() if name not in free}
    data = {"sha256": split.sha256, "items": len(split.items), "labels_sha256": split.labels_sha256}
    plain = {"settings": settings, "data": data, "model": dict(origin)}
    found: dict[str, Any] = redacted_values(json.loads(json.dumps(plain, default=str)))
    return found


@contextmanager
def claimed(config: EvaluateConfig, wanted: Mapping[str, Any], first: bool = True) -> Iterator[Path]:
    """The folder of an evaluation, locked, once its finished result is found to be of the same settings or
    may be replaced.

    Of several processes only the first one writes. Raises FiglangError for a folder that is a training's or a
    checkpoint's, that another process writes, or that holds a finished result of other settings.
    """
    folder = place(config)
    if not first:
        yield folder
        return
    # Both have a metrics.json and predictions of their own, which took longer to make than those of an
    # evaluation.
    if any((folder / file).is_file() for file in (RECIPE, "recipe.json")):
        raise FiglangError(f"{folder} is a training's or a checkpoint's, whose results stay; choose another folder with output=DIR")
    with folders.locked(folder):
        if not config.overwrite:
            check_same(folder, wanted)
        yield folder


@contextmanager
def result(config: EvaluateConfig, wanted: Mapping[str, Any], first: bool = True) -> Iterator[Path]:
    """A folder to fill with an evaluation, whose files are moved to its place together when all are there."""
    with claimed(config, wanted, first) as folder:
        if not first:
            yield folder
            return
        with folders.staged(folder, MADE) as new:
            yield new


def check_same(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Raises FiglangError, which names the difference, if a folder holds a finished result of other
    settings."""
    if not (folder / METRICS).is_file():
        return
    before = finished(folder)
    if "signature" not in before:
        raise FiglangError(f"{folder / METRICS} is no evaluation's, or damaged; choose another folder, or overwrite=true")
    known = before.get("decided_by") or _of_earlier_versions(before)
    changed = list(differences(known, _shared(wanted, known)))
    if changed:
        raise FiglangError(
            f"{folder} holds a finished result of other settings ({', '.join(changed)}); choose another "
            "folder with output=DIR, or replace it with overwrite=true"
        )


def finished(folder: Path) -> dict[str, Any]:
    """What the metrics.json in a folder says; nothing if there is none, or none that can be read."""
    try:
        content = from_json((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def differences(before: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """What differs between the settings of a result that is there and those that are wanted, by name: `seed:
    0 → 1`."""
    if isinstance(before, dict) and isinstance(wanted, dict):
        for key in sorted(before.keys() | wanted.keys()):
            yield from differences(before.get(key), wanted.get(key), f"{name}.{key}".lstrip("."))
    elif before != wanted:
        yield f"{name.removeprefix('settings.')}: {before} → {wanted}"


def _of_earlier_versions(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a metrics.json without its settings tells of them."""
    found: dict[str, Any] = {"settings": {name: content[name] for name in ("seed", "split") if name in content}}
    data = content.get("data", {}).get(content.get("split"), {})
    found["data"] = {name: data[name] for name in ("sha256", "items") if name in data}
    facts = content.get("facts", {})
    found["model"] = {name: facts[name] for name in ("model", "base", "trained") if name in facts}
    return found


def _shared(wanted: Any, known: Any) -> Any:
    """Of settings those that an earlier result has too: a setting of a later version is no difference."""
    if not isinstance(wanted, dict) or not isinstance(known, dict):
        return wanted
    return {key: _shared(value, known[key]) for key, value in wanted.items() if key in known}

"""Logs of inspect_ai, of tasks with the scorer `choice`: `.eval` archives and `.json` files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from figlang.errors import FiglangError
from figlang.runs.foreign.archives import member
from figlang.runs.foreign.rows import at, identifier, one_hot, option
from figlang.types import Prediction

CONVERT = "`inspect log convert FILE.eval --to json --output-dir DIR` makes a JSON file, which is read"


def read(path: Path, join: str | None) -> tuple[str, list[Prediction]]:
    """The name of the model, and a prediction for each sample.

    With several epochs, the ids are `<id>/<epoch>` and the epochs of a sample are a cluster.

    Args:
        path: The log.
        join: The place of the ids in a sample, for example `metadata.item`; None: its own id.

    Raises:
        FiglangError: The file is not such a log, or a sample has no options or no target among them.
    """
    header, samples = _archive(path) if path.suffix == ".eval" else _json(path)
    model = header.get("eval", {}).get("model") if isinstance(header.get("eval"), Mapping) else None
    several = len({str(sample.get("epoch", 1)) for sample in samples}) > 1
    predictions = [_prediction(path, sample, join, several) for sample in samples]
    return str(model or path.stem), predictions


def _prediction(path: Path, sample: Mapping[str, Any], join: str | None, several: bool) -> Prediction:
    name = identifier(sample, ("id",) if join is None else (join,), f"{path}: a sample")
    where = f"{path}: sample {name}"
    options = sample.get("choices")
    if not isinstance(options, list) or len(options) < 2:
        raise FiglangError(f"{where} has no options to choose from; give a log of multiple choice")
    target = sample.get("target")
    gold = option(target[0] if isinstance(target, list) and len(target) == 1 else target, options)
    if gold is None or gold >= len(options):
        raise FiglangError(f"{where}: the target {target!r} is not one of its {len(options)} options")
    own = f"{name}/{sample.get('epoch', 1)}" if several else name
    choice, places = _choice(sample, options), _places(sample, len(options))
    chosen = None if choice is None else places[choice]
    return Prediction(own, name, places[gold], one_hot(chosen, len(options)), paired=False)


def _places(sample: Mapping[str, Any], count: int) -> Sequence[int]:
    """The place of each shown option in figlang's item, which a task by `figlang export` keeps as metadata.
    Other logs have the order of their own items."""
    kept = at(sample, "metadata.options")
    if isinstance(kept, list) and all(type(place) is int for place in kept):
        places: list[int] = kept
        return places if sorted(places) == list(range(count)) else range(count)
    return range(count)


def _choice(sample: Mapping[str, Any], options: Sequence[str]) -> int | None:
    """The option that a scorer read from the reply; None if it read none."""
    scores = sample.get("scores")
    for score in scores.values() if isinstance(scores, Mapping) else ():
        if isinstance(score, Mapping) and (answer := score.get("answer")):
            choice = option(answer, options)
            return choice if choice is not None and choice < len(options) else None
    return None


def _json(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FiglangError(
            f"{path} cannot be read as JSON ({type(error).__name__}); give another file"
        ) from error
    samples = content.get("samples") if isinstance(content, dict) else None
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise FiglangError(
            f"{path} is not a log of inspect_ai with samples; give a log, a run, samples_*.jsonl of "
            "lm-evaluation-harness, or a table in CSV or JSONL"
        )
    return content, samples


def _archive(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    try:
        with ZipFile(path) as archive:
            header = json.loads(member(archive, "header.json"))
            samples = list(_samples(archive))
    except (OSError, ValueError, KeyError, RecursionError, NotImplementedError, BadZipFile) as error:
        raise FiglangError(
            f"{path} is not a log of inspect_ai ({type(error).__name__}); {CONVERT}"
        ) from error
    return header if isinstance(header, dict) else {}, samples


def _samples(archive: ZipFile) -> Iterator[Any]:
    for name in sorted(archive.namelist()):
        if name.startswith("samples/") and name.endswith(".json"):
            sample = json.loads(member(archive, name))
            if isinstance(sample, dict):
                yield sample

"""How every evaluation begins: libraries are set up, the items are loaded, the model is opened and placed."""

import gc
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from figlang.config import (
    AverageConfig,
    DataConfig,
    EvaluateConfig,
    ReleaseConfig,
    TrainConfig,
    settings_of_data,
)
from figlang.config.signature import digest
from figlang.cpu.memory import give_back
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.machine.several import one_of_several
from figlang.models import checkpoint, layout
from figlang.models.adapters import SETTINGS
from figlang.models.checkpoint import Loaded, Served
from figlang.models.hosted.opened import Opened, hosted
from figlang.runs import recomputed, unfinished
from figlang.tasks import registry as data
from figlang.tasks import unread
from figlang.types import Split


def opened(config: EvaluateConfig, needed: str | None = None) -> tuple[Split, Opened]:
    """The items and the model of an evaluation.

    Args:
        config: The options of the command.
        needed: The ability that a served model needs, as in `checkpoint.model_of`.

    Returns:
        The split with its notes logged, and the model on its device.

    Raises:
        FiglangError: The items or the model cannot be opened.
    """
    return items(config), model(config, needed)


def items(config: EvaluateConfig) -> Split:
    """Set up the libraries with the seed of the command, and load its items.

    Args:
        config: The options of the command.

    Returns:
        The split. Its first notes are logged.

    Raises:
        FiglangError: The device is not on this machine, a setting of the data has no effect, the items cannot
            be loaded, or the checkpoint was trained on another random division of them.
    """
    if config.checkpoint is not None or not config.model.served:
        runtime.device(config.trainer)  # refuses one that is not here before anything is read
    runtime.start(config.seed, config.trainer)
    unread.check([config.data], config.paths)
    split = unseen(config, data.load(config.split, config.data, config.paths))
    runtime.log_notes(split.notes)
    give_back()
    return split


def usage(model: Opened) -> dict[str, Any]:
    """Tokens and cost of an endpoint's answers since it was last asked, as a part of metrics.json.

    Args:
        model: The model of an evaluation.

    Returns:
        `usage` alone (`Meter.taken`). Empty for a local model, and if no answer was used.
    """
    took = model.endpoint.taken() if isinstance(model, Served) else {}
    return {"usage": took} if took else {}


def model(config: EvaluateConfig, needed: str | None = None, kept: Sequence[Loaded] = ()) -> Opened:
    """Open the model of an evaluation and put it on its device; call after `items`.

    A network whose loading has already laid out its weights (over several devices, or quantized) stays where
    it is.

    Args:
        config: The options of the command.
        needed: The ability that a served model needs, as in `checkpoint.model_of`.
        kept: The same model as it was opened before, as in `checkpoint.model_of`.

    Returns:
        The opened network, or a connection to the served model.

    Raises:
        FiglangError: The model cannot be opened.
    """
    if config.checkpoint is not None:
        unfinished.check(config.checkpoint)
    if config.model.engine != "transformers":
        return hosted(config)
    if one_of_several() and not kept:
        loaded = _open(config, needed)
    else:
        _opened.clear()
        loaded = checkpoint.model_of(config, needed, kept)
    if isinstance(loaded, Loaded):
        layout.place(loaded.network, runtime.device(config.trainer))
    return loaded


def export(folder: str | Path, config: TrainConfig | AverageConfig | ReleaseConfig) -> Loaded:
    """Open the network that a command has made and put it on the command's device.

    Args:
        folder: The folder that holds it.
        config: The options of the command.

    Returns:
        The network and its tokenizer.
    """
    settings = config.model if isinstance(config, TrainConfig) else None
    if settings is not None and settings.base and not (Path(folder) / SETTINGS).is_file():
        settings = replace(settings, base=None)  # it was the network below the earlier adapters
    gc.collect()  # a trainer and its network hold each other
    give_back()
    loaded = checkpoint.load(str(folder), settings, config.paths.cache)
    layout.place(loaded.network, runtime.device(config.trainer))
    return loaded


# The models of the last run of several, and what they were opened from. A multirun over data sets or scorings
# opens its model once.
_opened: dict[str, list[Loaded]] = {}


def _open(config: EvaluateConfig, needed: str | None) -> Loaded | Served:
    """Open the model of one of several runs, or take the one that the run before has opened."""
    source = Path(config.checkpoint or config.model.name_or_path)
    files = sorted(source.rglob("*")) if source.is_dir() else [source] if source.is_file() else []
    changed = [(str(path), _changed(path)) for path in files]
    asked = [config.checkpoint, config.revision, config.paths.cache, config.seed, changed]
    key = digest([*asked, asdict(config.model), asdict(config.trainer)])
    if key not in _opened:
        _opened.clear()  # before another model is opened: two may be more than the memory holds
    before = _opened.setdefault(key, [])
    loaded = checkpoint.model_of(config, needed, before)
    if isinstance(loaded, Loaded):
        before.append(loaded)
    return loaded


def _changed(path: Path) -> int | None:
    """When a file was changed; None of a link that leads nowhere, which is told when the model is opened."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def unseen(config: EvaluateConfig, split: Split) -> Split:
    """The split as it is, or with a note that the checkpoint was trained on sentences in it.

    Only a `divided` task draws its training part, with `data.seed` and `data.held_out`; other tasks have
    files.

    Args:
        config: The options of the command.
        split: Its items.

    Raises:
        FiglangError: The training used another division.
    """
    task = data.task(config.data.dataset)
    if not task.divided or config.split == "train":
        return split
    trained = trained_on(config)
    if trained is None or all(part.dataset != config.data.dataset for part in data.parts(trained)):
        return split
    if config.data.question != task.mixed_as:
        note = (
            f"{config.checkpoint} was trained on sentences of {task.title} that are among these; unseen are "
            f"those of data={task.name}_{task.mixed_as}"
        )
        return replace(split, notes=(note, *split.notes))
    if (config.data.seed, config.data.held_out) != (trained.seed, trained.held_out):
        draw = f"data.seed={trained.seed} data.held_out={trained.held_out:g}"
        raise FiglangError(
            f"{config.checkpoint} was trained on {task.title} with {draw}; give both, so that it is "
            "evaluated on items that it has not seen"
        )
    return split


def trained_on(config: EvaluateConfig) -> DataConfig | None:
    """The settings of the data of a checkpoint's last training; None if its folder does not have them."""
    if config.checkpoint is None:
        return None
    folder = Path(config.checkpoint)
    document = (folder.parent if folder.name == "model" else folder) / "metrics.json"
    content = recomputed.read(document) if document.is_file() else {}
    settings = content.get("data", {}).get("settings") if "training" in content else None
    return None if settings is None else settings_of_data(settings, str(document))

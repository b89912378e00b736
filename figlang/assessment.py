"""One evaluation, from a configuration to metrics.json."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from figlang import data, predicting, prompting, results, runs, runtime, sharding, submission
from figlang.config import DataConfig, EvaluateConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.exports import checkpoint
from figlang.exports.checkpoint import Loaded, Served
from figlang.models import layout
from figlang.predictions import FORWARD, read_predictions
from figlang.types import Split


def causal(config: EvaluateConfig) -> tuple[Split, Loaded | Served, Path]:
    """The items, the model and the folder of a command that only a causal model can do.

    Raises FiglangError for another model.
    """
    split, loaded, folder = opened(config)
    if loaded.recipe.format != "causal":
        raise FiglangError(f"{loaded.recipe.name} is no causal model, which this needs; evaluate.py data={config.data.name} may do")
    return split, loaded, folder


def opened(config: EvaluateConfig, needed: str | None = None) -> tuple[Split, Loaded | Served, Path]:
    """The items, the model and the folder of an evaluation; `needed` as in checkpoint.named_by."""
    runtime.start(config.seed, config.trainer)
    split = data.load(config.split, config.data, config.paths)
    runtime.log_notes(split.notes)
    loaded = checkpoint.named_by(config, needed)
    if isinstance(loaded, Loaded):
        layout.place(loaded.network, runtime.device(config.trainer))
    return split, loaded, runs.evaluation_folder(config)


def assess(config: EvaluateConfig) -> tuple[dict[str, Any], Path] | None:
    """Load, predict, measure; returns what metrics.json says and the folder it is in.

    Of several processes all but the first return None. Raises FiglangError for whatever cannot be evaluated as asked.
    """
    runtime.start(config.seed, config.trainer)
    processes = sharding.join()
    if processes.size > 1 and config.model.family == "served":
        raise FiglangError("model=served is asked by one process, with model.concurrency requests in flight; leave torchrun out")
    split = data.load(config.split, config.data, config.paths)
    runtime.log_notes(split.notes)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    loaded = checkpoint.named_by(config)
    if isinstance(loaded, Loaded):
        layout.place(loaded.network, runtime.device(config.trainer))
    folder = runs.evaluation_folder(config)
    progress = config.trainer.progress and processes.first
    how = predicting.How(
        progress, config.batch_size, config.scoring, config.prompt, pool, config.nli, processes, max_length=config.max_length
    )
    facts = predicting.predict(loaded, split, folder, how)
    if not processes.first:
        return None
    evaluated = results.Evaluated(loaded.recipe.name, facts, split, config.split, config.data.name, config.seed)
    content = evaluated.document(folder) | {"data": results.about_data(config.data, {config.split: split}, split.notes)}
    results.write(folder / "metrics.json", content)
    if config.split == "test" and config.data.dataset.startswith("figqa"):
        submission.write(folder / "submission.json", split.items, read_predictions(folder / FORWARD))
    return content, folder


def beside(
    config: TrainConfig, others: Sequence[tuple[DataConfig, Split]], loaded: Loaded | None = None
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Evaluate a training's export on other data sets too, as evaluate.py would: what their metrics.json say, and their folders.

    With `loaded`, the export, all are evaluated; without, the export is loaded for those that have not been.
    """
    for settings, split in others:
        asked = EvaluateConfig(checkpoint=config.run, data=settings)
        folder = runs.evaluation_folder(asked)
        if loaded is None and (folder / "metrics.json").is_file():
            yield results.read(folder / "metrics.json"), folder
            continue
        loaded = loaded or checkpoint.load(f"{config.run}/model", config.model, config.paths.cache)
        facts = predicting.predict(loaded, split, folder, predicting.How(config.trainer.progress))
        evaluated = results.Evaluated(loaded.recipe.name, facts, split, asked.split, settings.name, asked.seed)
        content = evaluated.document(folder) | {"data": results.about_data(settings, {asked.split: split}, split.notes)}
        results.write(folder / "metrics.json", content)
        yield content, folder

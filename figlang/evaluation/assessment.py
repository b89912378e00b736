"""One evaluation, from a configuration to metrics.json."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, EvaluateConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.evaluation import opening, predicting, soundness
from figlang.evaluation import processes as sharding
from figlang.files import folders
from figlang.models import checkpoint
from figlang.models.checkpoint import Loaded
from figlang.runs import outputs, recomputed, results
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.tasks import prompting, registry
from figlang.types import Split


def assess(config: EvaluateConfig) -> tuple[dict[str, Any], Path] | None:
    """Load, predict, measure; returns what metrics.json says and the folder it is in.

    Of several processes all but the first return None. Raises FiglangError for whatever cannot be evaluated
    as asked.
    """
    processes = sharding.join()
    if processes.size > 1 and config.model.family == "served":
        raise FiglangError(
            "model=served is asked by one process, with model.concurrency requests in flight; leave torchrun "
            "out"
        )
    split = opening.items(config)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    loaded = opening.model(config)
    progress = config.trainer.progress and processes.first
    how = predicting.How(
        progress=progress,
        batch_size=config.batch_size,
        scoring=config.scoring,
        prompt=config.prompt,
        pool=pool,
        nli=config.nli,
        processes=processes,
        max_length=config.max_length,
        blind=config.blind,
    )
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.result(config, wanted, processes.first) as new:
        facts = predicting.predict(loaded, split, new, how)
        if not processes.first:
            return None
        evaluated = results.Evaluated(
            loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
        )
        task = registry.task(config.data.dataset)
        if config.split in task.submitted:
            task.submit(new, split, read_predictions(new / FORWARD))
        about = {
            "data": results.about_data(config.data, {config.split: split}, split.notes),
            "decided_by": wanted,
        }
        content = evaluated.document(new) | about | soundness.texts(loaded, split.items)
        results.write(new / "metrics.json", content)
    return content, outputs.place(config)


def beside(
    config: TrainConfig, others: Sequence[tuple[DataConfig, Split]], loaded: Loaded | None = None
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Evaluate a training's export on other data sets too, as evaluate.py would: what their metrics.json say,
    and their folders.

    With `loaded`, the export, all are evaluated; without, the export is loaded for those that have not been.
    """
    for settings, split in others:
        asked = EvaluateConfig(checkpoint=config.run, data=settings, blind=config.blind, overwrite=True)
        folder = outputs.place(asked)
        folders.settle(folder)
        if loaded is None and (folder / "metrics.json").is_file():
            before = recomputed.checked(folder / "metrics.json")
            if before.get("data", {}).get(asked.split, {}).get("sha256") == split.sha256:
                yield before, folder
                continue
        loaded = loaded or checkpoint.load(f"{config.run}/model", config.model, config.paths.cache)
        wanted = outputs.decided_by(asked, split, predicting.origin(loaded))
        with outputs.result(asked, wanted) as new:
            facts = predicting.predict(
                loaded, split, new, predicting.How(config.trainer.progress, blind=config.blind)
            )
            evaluated = results.Evaluated(
                loaded.manifest.name, facts, split, asked.split, settings.name, asked.seed
            )
            about = {
                "data": results.about_data(settings, {asked.split: split}, split.notes),
                "decided_by": wanted,
            }
            content = evaluated.document(new) | about | soundness.texts(loaded, split.items)
            results.write(new / "metrics.json", content)
        yield content, folder

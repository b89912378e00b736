"""One evaluation, from a configuration to metrics.json."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, EvaluateConfig, TrainConfig
from figlang.cpu.memory import give_back
from figlang.errors import FiglangError
from figlang.evaluation import cleanness, opening, predicting, soundness
from figlang.evaluation import processes as sharding
from figlang.evaluation.processes import Processes
from figlang.files import folders
from figlang.models.checkpoint import Loaded, Served
from figlang.models.hosted.opened import Opened
from figlang.runs import outputs, recomputed, results
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.tasks import prompting, registry
from figlang.tasks.examples import Pool
from figlang.types import Split

log = logging.getLogger("figlang")


def assess(config: EvaluateConfig) -> tuple[dict[str, Any], Path] | None:
    """Load, predict and measure.

    Args:
        config: The options of the command.

    Returns:
        What metrics.json says, and its folder; None in all processes but the first, and after a dry run.

    Raises:
        FiglangError: The items or the model cannot be evaluated as asked, or the folder holds another result.
    """
    processes = sharding.join()
    if processes.size > 1 and config.model.served:
        raise FiglangError(
            "model=served is asked by one process, with model.concurrency requests in flight; leave torchrun "
            "out"
        )
    if processes.size > 1 and config.model.engine != "transformers":
        raise FiglangError(
            f"model.engine={config.model.engine} starts its own processes (model.tensor_parallel); leave "
            "torchrun out"
        )
    split = opening.items(config)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    loaded = opening.model(config)
    way = how(config, pool, processes)
    if isinstance(loaded, Served) and config.model.dry_run:
        loaded.endpoint.client.plan.rehearse(lambda: predicting.answer(loaded, split, way))
        return None
    content = _write(config, split, loaded, way)
    return None if content is None else (content, outputs.place(config))


def how(config: EvaluateConfig, pool: Pool, processes: Processes | None = None) -> predicting.How:
    """How an evaluation predicts.

    Args:
        config: The options of the evaluation.
        pool: What the examples of its prompt are drawn from.
        processes: The processes that share the items; None for this one alone.
    """
    processes = processes or Processes()
    return predicting.How(
        progress=config.trainer.progress and processes.first,
        batch_size=config.batch_size,
        scoring=config.scoring,
        prompt=config.prompt,
        pool=pool,
        nli=config.nli,
        processes=processes,
        max_length=config.max_length,
        blind=config.blind,
        protocol=config.protocol,
    )


def described(
    config: EvaluateConfig,
    split: Split,
    loaded: Opened,
    facts: Mapping[str, Any],
    wanted: Mapping[str, Any],
) -> dict[str, Any]:
    """The part of metrics.json without numbers of the predictions.

    Args:
        config: The options of the evaluation.
        split: Its items.
        loaded: Its model.
        facts: The settings that can change a score, by name.
        wanted: What determines the result (`outputs.decided_by`), taken before the prediction.
    """
    evaluated = results.Evaluated(
        loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
    )
    return {
        **evaluated.about(),
        "data": results.about_data(config.data, {config.split: split}, split.notes),
        "decided_by": dict(wanted),
        **soundness.texts(loaded, split.items),
        **opening.usage(loaded),
    }


def beside(
    config: TrainConfig, others: Sequence[tuple[DataConfig, Split]], loaded: Loaded | None = None
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Evaluate a training's export on other data sets too, as evaluate.py does.

    Args:
        config: The options of the training.
        others: Settings and items of each data set.
        loaded: The export. None: it is loaded if a data set was not evaluated before.

    Yields:
        What each metrics.json says, and its folder.

    Raises:
        FiglangError: The export cannot be evaluated on a data set.
    """
    for settings, split in others:
        asked = EvaluateConfig(
            checkpoint=config.run, data=settings, blind=config.blind, overwrite=True, paths=config.paths
        )
        folder = outputs.place(asked)
        folders.settle(folder)
        if loaded is None and (folder / "metrics.json").is_file():
            before = recomputed.checked(folder / "metrics.json")
            if before.get("data", {}).get(asked.split, {}).get("sha256") == split.sha256:
                yield before, folder
                continue
        loaded = loaded or opening.export(f"{config.run}/model", config)
        way = predicting.How(config.trainer.progress, blind=config.blind)
        content = _write(asked, split, loaded, way)
        assert content is not None, "one process alone evaluates"
        yield content, folder


def _write(
    config: EvaluateConfig, split: Split, loaded: Opened, way: predicting.How
) -> dict[str, Any] | None:
    """Predict and measure. The first process writes the folder and returns what metrics.json says."""
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.result(config, wanted, way.processes.first) as new:
        facts = predicting.predict(loaded, split, new, way)
        give_back()
        if not way.processes.first:
            return None
        task = registry.task(config.data.dataset)
        if config.split in task.submitted:
            task.submit(new, split, read_predictions(new / FORWARD))
        search = cleanness.of_checkpoint(config, loaded.manifest, split)
        content = described(config, split, loaded, facts, wanted) | recomputed.measured(new, search)
        results.write(new / "metrics.json", content)
    return content

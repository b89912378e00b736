"""One evaluation, from a configuration to metrics.json."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, EvaluateConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting, runtime, soundness
from figlang.evaluation import processes as sharding
from figlang.files import folders
from figlang.models import checkpoint, layout
from figlang.models.checkpoint import Loaded, Served
from figlang.runs import outputs, recomputed, results
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.tasks import mix, prompting
from figlang.tasks import registry as data
from figlang.tasks.figqa import submission
from figlang.types import Split


def causal(config: EvaluateConfig) -> tuple[Split, Loaded | Served]:
    """The items and the model of a command that only a causal model can do.

    Raises FiglangError for another model.
    """
    split, loaded = opened(config)
    if loaded.recipe.format != "causal":
        raise FiglangError(
            f"{loaded.recipe.name} is no causal model, which this needs; evaluate.py data={config.data.name} "
            "may do"
        )
    return split, loaded


def opened(config: EvaluateConfig, needed: str | None = None) -> tuple[Split, Loaded | Served]:
    """The items and the model of an evaluation; `needed` as in checkpoint.named_by."""
    runtime.start(config.seed, config.trainer)
    split = _unseen(config, data.load(config.split, config.data, config.paths))
    runtime.log_notes(split.notes)
    loaded = checkpoint.named_by(config, needed)
    if isinstance(loaded, Loaded):
        layout.place(loaded.network, runtime.device(config.trainer))
    return split, loaded


def assess(config: EvaluateConfig) -> tuple[dict[str, Any], Path] | None:
    """Load, predict, measure; returns what metrics.json says and the folder it is in.

    Of several processes all but the first return None. Raises FiglangError for whatever cannot be evaluated
    as asked.
    """
    runtime.start(config.seed, config.trainer)
    processes = sharding.join()
    if processes.size > 1 and config.model.family == "served":
        raise FiglangError(
            "model=served is asked by one process, with model.concurrency requests in flight; leave torchrun "
            "out"
        )
    split = _unseen(config, data.load(config.split, config.data, config.paths))
    runtime.log_notes(split.notes)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    loaded = checkpoint.named_by(config)
    if isinstance(loaded, Loaded):
        layout.place(loaded.network, runtime.device(config.trainer))
    progress = config.trainer.progress and processes.first
    how = predicting.How(
        progress,
        config.batch_size,
        config.scoring,
        config.prompt,
        pool,
        config.nli,
        processes,
        config.max_length,
        config.blind,
    )
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.result(config, wanted, processes.first) as new:
        facts = predicting.predict(loaded, split, new, how)
        if not processes.first:
            return None
        evaluated = results.Evaluated(
            loaded.recipe.name, facts, split, config.split, config.data.name, config.seed
        )
        if config.split == "test" and config.data.dataset.startswith("figqa"):
            submission.write(new / "submission.json", split.items, read_predictions(new / FORWARD))
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
                loaded.recipe.name, facts, split, asked.split, settings.name, asked.seed
            )
            about = {
                "data": results.about_data(settings, {asked.split: split}, split.notes),
                "decided_by": wanted,
            }
            content = evaluated.document(new) | about | soundness.texts(loaded, split.items)
            results.write(new / "metrics.json", content)
        yield content, folder


def _unseen(config: EvaluateConfig, split: Split) -> Split:
    """The split as it is, or with a note that the checkpoint was trained on sentences in it.

    It is MUNCH's alone whose training part is drawn by settings, `data.seed` and `data.held_out`, and not a
    file of its own. Raises FiglangError for a part that another draw holds out than that of the training.
    """
    trained = _trained_on_munch(config)
    if trained is None or config.data.dataset != "munch" or config.split == "train":
        return split
    if config.data.question != "paraphrase":
        note = (
            f"{config.checkpoint} was trained on sentences of MUNCH that are among these; unseen are "
            "those of data=munch_paraphrase"
        )
        return replace(split, notes=(note, *split.notes))
    if (config.data.seed, config.data.held_out) != (trained.seed, trained.held_out):
        draw = f"data.seed={trained.seed} data.held_out={trained.held_out:g}"
        raise FiglangError(
            f"{config.checkpoint} was trained on MUNCH with {draw}; give both, to ask it what it has not seen"
        )
    return split


def _trained_on_munch(config: EvaluateConfig) -> DataConfig | None:
    """Settings of the data of a checkpoint's last training, if MUNCH was among them and its folder says
    so."""
    if config.checkpoint is None:
        return None
    folder = Path(config.checkpoint)
    document = (folder.parent if folder.name == "model" else folder) / "metrics.json"
    content = recomputed.read(document) if document.is_file() else {}
    settings = content.get("data", {}).get("settings") if "training" in content else None
    if settings is None:
        return None
    trained = DataConfig(**settings)
    return trained if any(part.dataset == "munch" for part in mix.parts(trained)) else None

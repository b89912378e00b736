"""Train a model, export it, evaluate the export and report: `model=minilm data=NAME`."""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from figlang.config import DataConfig, MethodConfig, TrainConfig, composing, multirun
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import assessment, cleanness, opening, predicting, runtime, soundness
from figlang.files.whole import write_text
from figlang.machine.faults import lacks_memory
from figlang.models import checkpoint
from figlang.release import card
from figlang.reports import concluding, figures, plots, showing, terminal
from figlang.runs import recomputed, results, spelled, stages, teacher_models, teachers, teaching
from figlang.runs import training as runs
from figlang.tasks import overlap_table, unread
from figlang.tasks import registry as data
from figlang.training import agreement
from figlang.types import Split

if TYPE_CHECKING:
    from figlang.training.preparation import Prepared

log = logging.getLogger("figlang")


@entry("train", concluding.conclude_multirun)
def main(config: TrainConfig) -> None:
    console = Console()
    if multirun.begins():
        multirun.check_folder(sys.argv[1:])
    config = agreement.settled(runtime.settled(config))
    if config.method.selection == "none" and multirun.search_begins():
        log.warning(
            "no setting will be marked as the best: method.selection=heldout measures what chooses it"
        )
    agreement.check(config)
    if config.overwrite or not runs.Run(Path(str(config.run))).metrics.exists():
        runtime.device(config.trainer)  # a finished run is shown again without it
    also = composing.beside(config)
    unread.check([config.data, *also], config.paths)
    train, validation = data.for_training(config.data, config.paths)
    others = [(one, data.load("validation", one, config.paths)) for one in also]
    if runs.finished(config, train, validation):
        return _show_again(config, others, console)
    # Lightning takes a second to import, and a finished run is shown without it.
    from figlang.training import fitting, preparation, tracking

    runtime.start(config.seed, config.trainer)
    ready = preparation.prepare(config, train, validation)
    runtime.log_notes(ready.notes)

    with runs.claim(config, train, validation) as run:
        fitted = fitting.fit(config, run, ready)
        if fitted is None:
            return  # one of several processes: the first one goes on
        _export(config, run, ready, validation)
        notes, options = ready.notes, ready.manifest.options
        del ready  # the evaluation opens the network again: two may be more than the memory holds
        # The export is loaded again and evaluated: the numbers are the folder's, not those of the network in
        # memory.
        with _its_evaluation_fits(run):
            loaded = opening.export(run.model, config)
        overlaps, search = _contamination(config, run, loaded, train, validation)
        with _its_evaluation_fits(run):
            evaluated = _evaluate(config, loaded, validation, run.folder, search)
        content = evaluated | {
            "data": results.about_data(config.data, {"train": train, "validation": validation}, notes),
            "training": fitted.facts(),
            "contamination": overlaps,
            "health": fitted.health,
            **_teachers(config, train),
            "commands_before": stages.commands(run.folder),
        }
        content |= soundness.texts(loaded, validation.items)
        write_text(run.model / "README.md", card.card(loaded.manifest, content))
        called = spelled.split_in_words("validation", validation.name)
        figures.curves(fitted.history, 1 / options, run.figures, called)
        measured = list(assessment.beside(config, others, loaded))
        tracking.finish(config, run, content, fitted.history)
        results.write(run.metrics, content)  # last: with it the run is finished
        plots.learning_curve_beside(run.folder)
    for shown, folder in [(content, run.folder), *measured]:
        showing.show(shown, folder, console)
    terminal.seeds(run.folder, console)


@contextmanager
def _its_evaluation_fits(run: runs.Run) -> Iterator[None]:
    """While the block runs, a lack of memory is said to be one of the evaluation, since the training is over.

    Raises:
        FiglangError: If memory lacks.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
        if not lacks_memory(error):
            raise
        raise FiglangError(
            f"out of memory in the evaluation; {run.folder} is trained and exported. The same command "
            "evaluates it where there is more memory; a causal model needs half with figlang evaluate "
            f"model={run.model} model.dtype=bfloat16"
        ) from error


def _show_again(config: TrainConfig, others: Sequence[tuple[DataConfig, Split]], console: Console) -> None:
    """Show the results of a finished run, and of its export on other data sets."""
    folder = Path(str(config.run))
    showing.show(recomputed.checked(folder / "metrics.json"), folder, console)
    for content, place in assessment.beside(config, others):
        showing.show(content, place, console)
    plots.learning_curve_beside(folder)
    log.info("this run was finished before and is unchanged; overwrite=true replaces it")
    terminal.seeds(folder, console)


def _export(config: TrainConfig, run: runs.Run, ready: "Prepared", validation: Split) -> None:
    """Write the settings and the network. Merge adapters into it if peft.merge=true."""
    write_text(run.folder / "config.yaml", composing.to_yaml(config))
    checkpoint.export(ready.network, ready.tokenizer, ready.manifest, run.model)
    if ready.merges:
        from figlang.release import merging  # needs peft

        unmerged = checkpoint.load_unmerged(str(run.model), config.model, config.paths.cache)
        merging.merge(unmerged, validation, run.model)


def _learnt(method: MethodConfig) -> tuple[list[str], list[str]]:
    """The results and the networks that changed the training: `method.teacher` and `method.teacher_model`,
    without those that have no weight."""
    given = method.teacher if method.teacher_weight else []
    networks = method.teacher_model if method.teacher_weight or method.similarity_weight else []
    return given, networks


def _teachers(config: TrainConfig, train: Split) -> dict[str, Any]:
    """The part of metrics.json about teachers; empty if none was learnt from."""
    given, networks = _learnt(config.method)
    found = teachers.described(given)
    found += teacher_models.described(networks, config.data.name, len(train.items))
    return {"teachers": found} if found else {}


def _contamination(
    config: TrainConfig, run: runs.Run, loaded: checkpoint.Loaded, train: Split, validation: Split
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Search all stages, and those of teachers, for evaluation text.

    Returns the result, and the part of it for the validation split, which is empty if a stage or the training
    of a teacher is not known.
    """
    before = cleanness.before_training(run.folder, loaded.manifest, train, config.paths)
    splits = overlap_table.evaluated(config.data, [config.data], config.paths)
    given, networks = _learnt(config.method)
    folders = [*map(Path, given), *map(teacher_models.folder, networks)]
    taught = teaching.by(folders, config.paths) if folders else None
    overlaps = cleanness.search(train, splits, before or (), taught)
    if config.method.reads_texts:
        overlaps[cleanness.ANCHOR_DATA] = config.method.anchor_data
    if unknown := overlaps.get("teachers_unknown"):
        log.warning("contamination: %s", cleanness.not_looked_at(unknown))
    return overlaps, {} if before is None else cleanness.of_overlaps(overlaps, validation)


def _evaluate(
    config: TrainConfig,
    loaded: checkpoint.Loaded,
    validation: Split,
    folder: Path,
    search: Mapping[str, Any],
) -> dict[str, Any]:
    """Evaluate the export on the validation split. Returns the content of metrics.json."""
    how = predicting.How(config.trainer.progress, blind=config.blind)
    facts = predicting.predict(loaded, validation, folder, how)
    evaluated = results.Evaluated(
        config.model.name, facts, validation, "validation", config.data.name, config.seed
    )
    return evaluated.document(folder, search)


if __name__ == "__main__":
    main()

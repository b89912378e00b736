"""The best weights of a run that is not finished, exported so that they can be evaluated."""

import logging
from pathlib import Path

from figlang.config import PathsConfig, TrainConfig
from figlang.config.composing import of_plain
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.files import stored
from figlang.models import checkpoint
from figlang.runs import unfinished
from figlang.runs.training import Run
from figlang.tasks import registry
from figlang.training import fitting, preparation

log = logging.getLogger("figlang")

# It lies in the folder of the state to resume from. Both are removed when the run is finished.
FOLDER = "checkpoints/best"


def export(source: str, paths: PathsConfig) -> str:
    """Export the weights of the best epoch so far.

    The network is built as the run built it, by its recipe, and gets the weights that the run keeps.

    Args:
        source: The folder of a run.
        paths: Folders of data and caches.

    Returns:
        The folder of the export. It is the run itself if that is finished: its export is of the best epoch.

    Raises:
        FiglangError: The run keeps no best weights, or its training items are not here any more.
    """
    run = Run(Path(source).expanduser())
    if run.metrics.is_file():
        return source
    if not run.best.is_file():
        raise FiglangError(
            f"{source} has no weights of a best epoch; an unfinished run keeps them from its first epoch on "
            "if it was started with method.selection=heldout or validation"
        )
    recipe = stored.document(run.folder / "recipe.json", stored.RECIPE, "overwrite=true starts the run again")
    config = of_plain(recipe["settings"], TrainConfig)
    config.run, config.paths, config.data.file = str(run.folder), paths, unfinished.file_of(run.folder)
    train, validation = registry.for_training(config.data, paths)
    if (train.sha256, validation.sha256) != (recipe["data"]["train"], recipe["data"]["validation"]):
        raise FiglangError(f"{source}: {train.source} or {validation.source} changed since the run began")
    # Built as for the training: weights that are not trained may be random.
    runtime.start(config.seed, config.trainer)
    ready = preparation.prepare(config, train, validation)
    epoch = fitting.take_best(config, run, ready)
    folder = run.folder / FOLDER
    checkpoint.export(ready.network, ready.tokenizer, ready.manifest, folder)
    log.info("%s is unfinished; its best weights so far are those of epoch %d", source, epoch)
    return str(folder)

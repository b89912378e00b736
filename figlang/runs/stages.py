"""The training items of the stages of a training, read from the folders of its runs."""

from pathlib import Path
from typing import Any

from figlang.config import PathsConfig, settings_of_data
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.tasks import registry as readers
from figlang.types import Split


def before(run: Path, paths: PathsConfig) -> list[Split]:
    """The training items of the runs that a run continued from, first stage first.

    Args:
        run: Folder of a run.
        paths: Where the data are.

    Returns:
        An empty list if the run began from other weights.

    Raises:
        FiglangError: If the settings of a run cannot be read, or if its data have changed.
    """
    started = _source(run)
    return [] if started is None else [*before(started, paths), trained(started, paths)]


def trained(run: Path, paths: PathsConfig) -> Split:
    """The training items of a run itself."""
    recipe = _recipe(run)
    train, _ = readers.for_training(
        settings_of_data(recipe["settings"].get("data"), str(run / "recipe.json")), paths
    )
    if train.sha256 != recipe["data"]["train"]:
        raise FiglangError(
            f"{train.source} is not the training data of {run}; set paths.data= to those it was made with"
        )
    return train


def _source(run: Path) -> Path | None:
    model = _recipe(run)["settings"].get("model")
    if (
        not isinstance(model, dict)
        or model.get("init") == "tiny"
        or not isinstance(model.get("name_or_path"), str)
    ):
        return None
    folder = Path(model["name_or_path"]).expanduser()
    return next((path for path in (folder, folder.parent) if (path / "recipe.json").is_file()), None)


def _recipe(run: Path) -> dict[str, Any]:
    return stored.document(run / "recipe.json", stored.RECIPE, "give the folder of a run of train.py")

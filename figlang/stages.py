"""What the stages of a training were trained on, one after the other, read from the folders of its runs."""

import json
from pathlib import Path
from typing import Any

from figlang import data as readers
from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError, one_line
from figlang.types import Split


def before(run: Path, paths: PathsConfig) -> list[Split]:
    """The training items of the runs that a run went on from, first stage first; none if it began from other weights.

    Raises FiglangError if the settings of one of the runs cannot be read, or its data are not those it was made with.
    """
    started = _source(run)
    return [] if started is None else [*before(started, paths), trained(started, paths)]


def trained(run: Path, paths: PathsConfig) -> Split:
    """The training items of a run itself."""
    recipe = _recipe(run)
    train, _ = readers.for_training(DataConfig(**recipe["settings"]["data"]), paths)
    if train.sha256 != recipe["data"]["train"]:
        raise FiglangError(f"{train.source} is not the training data of {run}; set paths.data= to those it was made with")
    return train


def _source(run: Path) -> Path | None:
    model = _recipe(run)["settings"]["model"]
    if model["init"] == "tiny":
        return None
    folder = Path(model["name_or_path"]).expanduser()
    return next((path for path in (folder, folder.parent) if (path / "recipe.json").is_file()), None)


def _recipe(run: Path) -> dict[str, Any]:
    path = run / "recipe.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise FiglangError(f"{path} cannot be read ({one_line(error)}); give the folder of a run of train.py") from error

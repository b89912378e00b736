"""Names of models and data sets that differ from their preset, so that a report does not call them by the
preset's name."""

import re
import unicodedata
from pathlib import Path

from figlang.config import idle, placing
from figlang.config.data import DataConfig
from figlang.config.given import Given
from figlang.config.groups.model import ModelConfig
from figlang.config.presets import bundled
from figlang.config.section import plain
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig


def name(config: TrainConfig | EvaluateConfig, given: Given, preset: DataConfig | None) -> None:
    """Fill in the names that were not given, in place.

    Args:
        config: The options of the command.
        given: The command line.
        preset: The preset of data=; needed where data.size= was typed without data.name=.

    Raises:
        FiglangError: An option has no effect, or a multirun would run it several times.
    """
    _name_model(config.model, given)
    name_by_file(config.data, given)
    name_by_dataset(config.data, given)
    if preset is not None and config.data.size != preset.size:
        config.data.name += f"-{config.data.size}"
    name_data(config.data, given)
    if isinstance(config, TrainConfig):
        idle.check_training(config, given)
        placing.place_run(config, given)
    else:
        idle.check_evaluation(config, given)
        placing.place_evaluation(config, given)


def name_by_dataset(data: DataConfig, given: Given) -> None:
    """Call data by the benchmark that was typed, in place: the preset, and so its name, is of another one."""
    if "data.dataset" in given.names and "data.name" not in given.names:
        data.name = data.dataset


def name_by_file(data: DataConfig, given: Given) -> None:
    """Call data by the name of its file, or of its data set on the hub, in place, unless a name was typed.

    Results of `mine/train.csv` are of other items than those in it, so "mine" is its name; "sayings" is that
    of `sayings-train.csv`. Tasks of BIG-bench are folders with a `task.json`.
    """
    if "data.name" in given.names:
        return
    if data.file is not None:
        file = Path(data.file)
        stem = "" if file.name == "task.json" else re.sub(r"(^|[-_.])train(ing)?$", "", file.stem)
        stem = stem or file.absolute().parent.name
    else:
        stem = (data.hub or "").rstrip("/").rpartition("/")[2]
    if stem:
        data.name = re.sub(r"[^\w.~-]+", "-", _unaccented(stem), flags=re.ASCII).strip("-.")[:60] or "file"


def _unaccented(text: str) -> str:
    """A text without the accents of its letters: "metáforas" becomes "metaforas"."""
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def name_data(data: DataConfig, given: Given) -> None:
    """Mark the name of a data set, in place, if debug= puts the bundled samples in place of its files.

    No sample stands in for files of the user's own, or for a benchmark of a folder or another package.
    """
    if data.file is not None or data.hub is not None or data.dataset not in bundled():
        return
    if "debug" in given.choices and data.root and data.root.endswith("samples") and "sample" not in data.name:
        data.name += "_sample"


def _name_model(model: ModelConfig, given: Given) -> None:
    """Call a model by its folder, in place, and a tiny random network by a name that no model has."""
    if "model.name" in given.names:
        return
    if "model.name_or_path" in given.names:
        model.name = of_folder(model.name_or_path) or model.name
        plain("model.", name=model.name)
    if model.init == "tiny":
        model.name += "-tiny"


def of_folder(folder: str) -> str:
    """The name of a model that is called after its folder or its id on a hub.

    Args:
        folder: The folder of a model or of a run, or an id.

    Returns:
        The last part of it, for the seed of a recipe the last two. Empty if it has none.
    """
    parts = [part for part in folder.removesuffix("/model").split("/") if part]
    return "-".join(parts[-2:] if re.fullmatch(r"seed\d+", "".join(parts[-1:])) else parts[-1:])

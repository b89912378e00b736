"""The training items of the stages of a training, found through the folders of its runs and checkpoints.

A run says in recipe.json what it was trained on and from which weights. A released checkpoint has no
recipe.json; its metrics.json and config.yaml say the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from figlang.config import PathsConfig, settings_of_data
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.runs.origins import METRICS, RECIPE, SETTINGS, folder_of, identity, near
from figlang.tasks import registry as readers
from figlang.types import Split

GIVE = "give the folder of a run of figlang train"


@dataclass(frozen=True)
class _Stage:
    """The training of a network, as its folder describes it.

    Attributes:
        file: The file that names the data.
        data: The settings of the data.
        sha256: Hash of the training file.
        model: The settings of the model. Their `name_or_path` is where training began.
        start: The identity of the network with which it began (see `identity`); None if it is not known.
    """

    file: Path
    data: Any
    sha256: str
    model: Any
    start: str | None = None


def before(run: Path, paths: PathsConfig) -> list[Split]:
    """The training items of the runs and checkpoints that a run continued from, first stage first.

    Args:
        run: Folder of a run or of a released checkpoint.
        paths: Where the data are.

    Returns:
        An empty list if the run began from other weights.

    Raises:
        FiglangError: If the settings of a run cannot be read, or if its data have changed.
    """
    started = began(run)
    return [] if started is None else [*before(started, paths), trained(started, paths)]


def trained(run: Path, paths: PathsConfig) -> Split:
    """The training items of a run or a released checkpoint itself."""
    stage = _read(run)
    train, _ = readers.for_training(settings_of_data(stage.data, str(stage.file)), paths)
    if train.sha256 != stage.sha256:
        raise FiglangError(
            f"{train.source} is not the training data of {run}; set paths.data= to those it was made with"
        )
    return train


def typed(document: Mapping[str, Any]) -> list[str]:
    """The commands that made a run, in their order: for a mean, those of its runs and its own.

    Args:
        document: Its metrics.json.
    """
    # A multirun of several seeds is one command.
    return list(dict.fromkeys((*document.get("commands", []), document["command"])))


def commands(run: Path) -> list[list[str]]:
    """The commands of the runs and checkpoints that a run continued from, first stage first.

    Args:
        run: Folder of a run or of a released checkpoint.

    Returns:
        Those of each stage before its own, down to the first one whose metrics.json is not here.
    """
    try:
        if "commands_before" in (kept := _document(run)):
            found: list[list[str]] = kept["commands_before"]
            return found
        started = began(run)
        document = {} if started is None else _document(started)
        return [*commands(started), typed(document)] if started and "command" in document else []
    except FiglangError:  # what an earlier run says of itself stops no training and no release
        return []


def shared(several: Iterable[list[list[str]]]) -> list[list[str]]:
    """The commands of the stages before the runs of a mean.

    Args:
        several: For each run, what `commands` returns.

    Returns:
        For each stage the commands of all runs, once each.
    """
    backwards = zip_longest(*(reversed(each) for each in several), fillvalue=[])
    return [list(dict.fromkeys(chain(*stage))) for stage in backwards][::-1]


def _document(folder: Path) -> dict[str, Any]:
    """The metrics.json of a folder; empty if it has none."""
    path = folder / METRICS
    return stored.document(path, stored.DOCUMENT, GIVE) if path.is_file() else {}


def placed(folder: Path, settings: Any) -> Any:
    """The settings of the data of a run or checkpoint, with its files where they are now.

    recipe.json has the hash of the training items in place of `data.file`, which config.yaml has.

    Args:
        folder: The folder of the run or checkpoint.
        settings: The settings of its data, as its recipe.json or metrics.json has them.

    Returns:
        The settings. A relative path that was typed in another folder leads to the file from here. What is
        not a dictionary is returned as it is.
    """
    if not isinstance(settings, dict):
        return settings
    typed = stored.settings(folder / SETTINGS, GIVE).get("data") if (folder / SETTINGS).is_file() else None
    whole = {"file": typed.get("file"), **settings} if isinstance(typed, dict) else settings
    return whole | {
        name: next((str(place) for place in near(whole[name], folder) if place.is_file()), whole[name])
        for name in readers.FILES
        if isinstance(whole.get(name), str)
    }


def averaged(run: Path, named: Iterable[str]) -> list[Path]:
    """The folders of the runs that a run is the mean of.

    Args:
        run: The mean.
        named: The runs, as its metrics.json names them.

    Returns:
        A folder for each, in their order. One that is not here is as it is named.
    """
    return [next((place for place in near(one, run) if place.is_dir()), Path(one)) for one in named]


def began(run: Path) -> Path | None:
    """The run or released checkpoint from which the training of a run or checkpoint began.

    Args:
        run: Its folder.

    Returns:
        The folder; None if it began from a network as it comes, or if what it began from is not here.

    Raises:
        FiglangError: If a file of one of them is damaged.
    """
    stage = _read(run)
    model = stage.model
    if (
        not isinstance(model, dict)
        or model.get("init") == "tiny"
        or not isinstance(model.get("name_or_path"), str)
    ):
        return None
    for path in _places(run, model["name_or_path"], stage.start):
        # Another network may lie there by now.
        if (folder := folder_of(path)) and (stage.start is None or identity(folder) in (None, stage.start)):
            return folder
    return None


def _places(run: Path, source: str, start: str | None) -> Iterator[Path]:
    """The places where the network may be from which a training began.

    It is where the path that was named leads, or beside the released checkpoint that was trained from it.
    """
    yield Path(source)
    if start is not None:  # it began from a run or a checkpoint, and not from a network as it comes
        yield from (
            place for place in near(source, run) if place.is_dir() and place.resolve() != run.resolve()
        )
    if not (run / RECIPE).is_file():
        yield run.resolve().parent / Path(source).name


def _read(folder: Path) -> _Stage:
    if (folder / RECIPE).is_file():
        recipe = stored.document(folder / RECIPE, stored.RECIPE, GIVE)
        settings = recipe["settings"]
        data, model = placed(folder, settings.get("data")), settings.get("model")
        return _Stage(folder / RECIPE, data, recipe["data"]["train"], model, recipe.get("start"))
    document: Any = stored.document(folder / METRICS, stored.DOCUMENT, GIVE)
    train = document.get("data", {}).get("train")
    if train is None:
        raise FiglangError(f"{folder / METRICS} does not name its training data; {GIVE}")
    model = stored.settings(folder / SETTINGS, GIVE).get("model")
    data = placed(folder, document["data"].get("settings"))
    return _Stage(folder / METRICS, data, train["sha256"], model)


def counted(trained_on: str) -> int:
    """The number of stages that a manifest's `trained_on` names."""
    return len(trained_on.split(">"))


def known(folder: Path, trained_on: str, paths: PathsConfig) -> list[Split]:
    """The training items of all stages of a network, first stage first.

    Args:
        folder: Folder of its run or released checkpoint.
        trained_on: What its manifest says that it was trained on.
        paths: Where the data are.

    Raises:
        FiglangError: If the items of a stage are not known.
    """
    stages = [*before(folder, paths), trained(folder, paths)]
    if len(stages) < counted(trained_on):
        raise FiglangError(
            f"{folder} was trained on {trained_on}, but only the last {len(stages)} of these "
            f"{counted(trained_on)} stages are known; put the checkpoint that it began from beside it"
        )
    return stages

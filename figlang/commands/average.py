"""Average the weights of several seeds into one network: `runs=[a/seed0,a/seed1] output=a/mean`.

With `shares=0.7,0.3` the runs may be of several recipes, and released checkpoints too. With `start=0.5`,
half of the mean is what the runs started from: a checkpoint, or for LoRA without a head the network as it
comes. A single run can be averaged with it too. Shares that are less than one leave the rest to the network
as it comes. The result is a run folder, which `figlang release` takes.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from peft.utils import CONFIG_NAME
from rich.console import Console
from safetensors.torch import save_file
from torch import Tensor

from figlang.config import AverageConfig, ModelConfig, PathsConfig, settings_of_data
from figlang.config.entry import entry
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.evaluation import cleanness, opening, predicting, runtime
from figlang.files import stored
from figlang.files.folders import copied, whole_folder
from figlang.files.ownership import OWN
from figlang.files.sources import PACKAGE, local_path
from figlang.files.whole import write_text
from figlang.models import manifest as manifests
from figlang.models.manifest import Manifest
from figlang.release import averaging, card, narrowing
from figlang.reports import showing
from figlang.runs import origins, recipes, results, stages, systems
from figlang.runs.systems import System
from figlang.tasks import registry as data
from figlang.training import displacement, likelihood
from figlang.training.displacement import DISPLACED, Likelihood
from figlang.types import Split

# The entries of `training` in metrics.json that are measured per second.
RATES = ("examples_per_second", "tokens_per_second", "peak_share")
# What a manifest says of how a network was trained, in which runs with shares may differ.
TRAINED = ("name", "method", "settings", "seed")

# What may lie beside the files of a network.
BESIDE = ("README.md", OWN, "config.yaml", "metrics.json", "predictions*.jsonl")


@dataclass(frozen=True)
class Parts:
    """The parts of a mean: exports, the share of each, and their manifests."""

    models: Sequence[Path]
    shares: Sequence[float]
    manifests: Sequence[Manifest]


@entry("average")
def main(config: AverageConfig) -> None:
    folder = Path(config.output)
    check = partial(_check_free, folder)
    check()
    runtime.device(config.trainer)  # refuses one that is not here before anything is read
    runtime.start(0, config.trainer)
    finished = _finished(config)
    # Tells networks that differ before it is asked for their data.
    parts = _parts(config, not systems.unlike(finished))
    _check_data(finished)
    contents = [system.content for system in finished]
    model = contents[0]["model"]
    if any(content["model"] != model for content in contents) and not config.shares:
        model = recipes.of_all_seeds(model, finished[0].seed)  # each is called after the seed it began from
    weights, adapters = averaging.mean(parts.models, config.rank, parts.shares, config.way, config.density)
    validation = _validation(config.runs[0], contents[0], config.paths)
    with whole_folder(folder, check) as beside:
        _write_model(beside / "model", config, model, parts, weights, adapters)
        loaded = opening.export(beside / "model", config)
        likely = likelihood.of_export(loaded, validation.items)  # scoring may lay the weights out anew
        facts = predicting.predict(loaded, validation, beside, predicting.How(config.trainer.progress))
        clean = cleanness.of_mean([*map(Path, config.runs)], parts.manifests[: len(contents)], validation)
        document = _document(config, model, contents, facts, validation, beside, clean)
        document |= _measured(contents, likely)
        for file in (Path(config.runs[0]) / name for name in ("config.yaml", "recipe.json")):
            if file.is_file():  # a released checkpoint has no recipe.json
                shutil.copyfile(file, beside / file.name)
        write_text(beside / "model" / "README.md", card.card(loaded.manifest, document))
        results.write(beside / "metrics.json", document)
    showing.show(document, folder, Console())


def _check_free(folder: Path) -> None:
    if folder.exists():
        raise FiglangError(f"{folder} already exists; take another output=FOLDER")


def _parts(config: AverageConfig, alike: bool) -> Parts:
    """The exports of the runs and, with a share, what they started from. Raises FiglangError for adapters of
    different networks.

    Args:
        config: The options.
        alike: Whether the runs are seeds of one recipe. Each of these may name its own start as its base.
    """
    runs = [Path(run) for run in config.runs]
    models = [_export(run) for run in runs]
    if config.rest and (whole := [model for model in models if not averaging.adds_only(model)]):
        raise FiglangError(
            f"the numbers of shares= are {1 - config.rest:g} together, and {whole[0]} is not LoRA without a "
            "head, which alone can leave the rest to the network as it comes; give numbers that are 1"
        )
    shares = [*config.shares] or [(1 - config.start) / len(runs)] * len(runs)
    # Seeds of one recipe may have begun from seeds of another one.
    began = [start for run in runs if (start := _origin(run)) is not None] if config.start else []
    models = [*models, *dict.fromkeys(began)]
    shares += [config.start * began.count(start) / len(began) for start in dict.fromkeys(began)]
    known = [manifests.read(str(model), str(model), None) for model in models]
    for model, manifest in zip(models, known, strict=True):
        if manifest.base_sha256 != known[0].base_sha256:
            raise FiglangError(
                f"the adapters of {models[0]} and {model} are for different networks and have no mean; "
                "average adapters of one network"
            )
        if config.shares and not alike and (differs := _differing(manifest, known[0])):
            raise FiglangError(
                f"{models[0]} and {model} differ in {' and '.join(differs)} and have no mean; average runs "
                "of one network and one scoring"
            )
    return Parts(models, shares, known)


def _export(run: Path) -> Path:
    """The network of a run, or of a released checkpoint, which has it beside its other files."""
    return run / "model" if (run / "model").is_dir() else run


def _differing(manifest: Manifest, other: Manifest) -> list[str]:
    """What of two networks differs, beside how they were trained."""
    return [
        field.name
        for field in fields(manifest)
        if field.name not in TRAINED and getattr(manifest, field.name) != getattr(other, field.name)
    ]


def _validation(run: str, content: Mapping[str, Any], paths: PathsConfig) -> Split:
    """The validation data of a run with this metrics.json. Raises FiglangError if the data have changed."""
    known = stages.placed(Path(run), content["data"]["settings"])
    settings = settings_of_data(known, str(Path(run) / "metrics.json"))
    _, validation = data.for_training(settings, paths)
    if validation.sha256 != content["data"]["validation"]["sha256"]:
        raise FiglangError(
            f"{validation.source} is not the validation data of the runs; set paths.data= to what they had"
        )
    return validation


def _write_model(
    folder: Path,
    config: AverageConfig,
    name: str,
    parts: Parts,
    weights: Mapping[str, Tensor],
    adapters: Mapping[str, Any] | None,
) -> None:
    """Write the export of the mean: a copy of the first run's, with new weights, settings of adapters and
    manifest; or adapters that stand for whole networks."""
    first, start = parts.manifests[0], [config.start] if config.start else []
    way: list[Any] = [] if config.way == "mean" else [config.way, config.density]
    told = [config.rank, *way, *start, *config.shares, *(manifest.settings for manifest in parts.manifests)]
    manifest = replace(
        first,
        name=name,
        method=", ".join([first.method, *made_by(config, adapters is None)]),
        settings=digest(told),
        seed=first.seed if len(config.runs) == 1 else None,
    )
    if adapters is None and config.rank is not None:
        below = _below(Path(config.runs[0]))
        narrowing.export(weights, below, manifest, config.rank, folder, config.paths.cache)
        return
    copied(parts.models[0], folder, without=BESIDE)
    save_file(dict(weights), folder / averaging.weights_file(folder), {"format": "pt"})
    if adapters is not None:
        write_text(folder / CONFIG_NAME, json.dumps(adapters, indent=2) + "\n")
    manifests.write(folder, manifest)


def made_by(config: AverageConfig, whole: bool) -> list[str]:
    """The words for a mean in signatures and on cards.

    Args:
        config: The options.
        whole: Whether whole networks were averaged, and not adapters.

    Returns:
        The shares, the rank to which whole networks were cut, and the way if it is not the mean.
    """
    narrow = [f"rank {config.rank}"] if whole and config.rank is not None else []
    way = [] if config.way == "mean" else [f"{config.way} at density {config.density:g}"]
    return [card.mean_of(len(config.runs), config.start, config.shares), *narrow, *way]


def _below(run: Path) -> ModelConfig:
    """The network as it comes that a run trained.

    Raises:
        FiglangError: The run began from another run or checkpoint, over which adapters would need it.
    """
    recipe = origins.recipe(run)
    if "start" in recipe:
        raise FiglangError(
            f"{run} began from {recipe['settings']['model']['name_or_path']}, which is itself trained; rank= "
            "takes whole networks that began from one as it comes"
        )
    return ModelConfig(**recipe["settings"]["model"])


def _document(
    config: AverageConfig,
    model: str,
    contents: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
    validation: Split,
    folder: Path,
    clean: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of metrics.json: what was measured of the mean, and what is known of the runs."""
    first = contents[0]
    evaluated = results.Evaluated(model, facts, validation, "validation", first["data_name"], first["seed"])
    teachers = {each["sha256"]: each for content in contents for each in content.get("teachers", [])}
    commands = [[*content.get("commands", []), content["command"]] for content in contents]
    return evaluated.document(folder, clean) | {
        "data": first["data"],
        "commands": [command for several in commands for command in several],
        "commands_before": stages.shared(stages.commands(Path(run)) for run in config.runs),
        "contamination": first.get("contamination"),
        "averaged": [str(Path(run)) for run in config.runs],
        "start_share": config.start,
        **({"shares": config.shares} if config.shares else {}),
        **({"teachers": list(teachers.values())} if teachers else {}),
    }


def _measured(contents: Sequence[Mapping[str, Any]], likely: Likelihood | None) -> dict[str, Any]:
    """The parts of metrics.json on the trainings: their cost, the findings in them, and how likely a causal
    network found answers before, and the mean finds them now."""
    trainings = [content["training"] for content in contents]
    training = trainings[0] | _cost(trainings)
    found = [finding for content in contents for finding in content["health"]]
    if before := training.get("log_probs", {}).get("before"):
        training["log_probs"] = displacement.facts(Likelihood(**before), likely)
        found = [finding for finding in found if finding["code"] != DISPLACED]
        if lower := displacement.warning(training["log_probs"]):
            found.append({"code": DISPLACED, "epoch": training["exported_epoch"], "message": lower})
    return {"training": training, "health": found}


def _origin(run: Path) -> Path | None:
    """Find the export that a run began from.

    Returns:
        Its folder. None if the run has adapters that began as nothing, over a network as it comes.

    Raises:
        FiglangError: If a whole network, or one with a head, began from no export, or if the export holds
            another network now; or if the folder is a released checkpoint, which does not say.
    """
    if not (run / "recipe.json").is_file():
        raise FiglangError(
            f"{run} does not say what it began from, since it has no recipe.json; leave start= out, or give "
            "the run itself"
        )
    recipe = origins.recipe(run)
    name, began = recipe["settings"].get("model", {}).get("name_or_path"), recipe.get("start")
    added = averaging.adds_only(run / "model")
    if began is None and added:
        return None
    if began is None or name is None:
        raise FiglangError(
            f"{run} began from {name}, which is not a run or checkpoint; start= also takes LoRA adapters "
            "without a head, and nothing else; leave start= out"
        )
    places = [local_path(name)] if name.startswith(PACKAGE) else origins.near(name, run)
    folder = next((origins.network(place) for place in places if origins.identity(place) == began), None)
    if folder is None:
        raise FiglangError(
            f"{name} is not here as the network that {run} began from; put it back, or leave start= out"
        )
    # New adapters over a whole network begin at zero as well.
    return None if added and averaging.weights_file(folder) == averaging.WHOLE else folder


def _cost(trainings: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Time of all runs together, rates over that time (None where a run has not measured one), and the
    largest memory."""
    seconds = sum(training["seconds"] for training in trainings)
    memory = max(
        (one["peak_memory_mb"] for one in trainings if one.get("peak_memory_mb") is not None), default=None
    )
    cost: dict[str, float | None] = {"seconds": seconds, "peak_memory_mb": memory}
    for name in RATES:
        measured = [one[name] * one["seconds"] for one in trainings if one.get(name) is not None]
        cost[name] = sum(measured) / seconds if len(measured) == len(trainings) else None
    return cost


def _finished(config: AverageConfig) -> list[System]:
    """Read the runs.

    Raises:
        FiglangError: One is not finished; or runs without shares have the same seed, or differ in another
            setting.
    """
    runs = config.runs
    if missing := [run for run in runs if not Path(run).is_dir()]:
        raise FiglangError(f"there is no folder {missing[0]}; give finished runs or released checkpoints")
    read = systems.read(runs)
    if unfinished := [system for system in read if "training" not in system.content]:
        raise FiglangError(f"{unfinished[0].folder} is not a finished run; figlang train makes one")
    for system in read:
        stored.check_training(system.folder / "metrics.json", system.content)
    if config.shares:
        return read
    if other := systems.unlike(read):
        raise FiglangError(
            f"{other[0].folder} differs from {runs[0]} in more than its seed; average seeds of one recipe, "
            "or say how much of each with shares=0.7,0.3"
        )
    systems.check_seeds(read)
    return read


def _check_data(finished: Sequence[System]) -> None:
    """Raise FiglangError if runs have other items than the first one, wherever their files lie."""
    first = finished[0]
    for system in finished:
        if _data(system) != _data(first):
            raise FiglangError(
                f"{system.folder} and {first.folder} have other training or validation items; average runs "
                "of the same data"
            )


def _data(system: System) -> tuple[Any, ...]:
    """What decides which items a run was trained and validated on. Settings that came later than the run have
    their default."""
    data = system.content["data"]
    settings = replace(systems.data_of(system), root=None)
    return settings, data["train"]["sha256"], data["validation"]["sha256"]


if __name__ == "__main__":
    main()

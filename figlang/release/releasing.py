"""Turn a finished run into a folder that others can load.

Its weights are stored in fewer bits and evaluated again. The folder holds everything that its card says, but
no text of a data set: only ids, scores and counts.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from peft.utils import CONFIG_NAME
from safetensors.torch import load_file, save_file

from figlang.config import DataConfig, ReleaseConfig, settings_of_data
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.evaluation import cleanness, opening, predicting
from figlang.files import ownership, stored
from figlang.files.folders import copied, locked, whole_folder
from figlang.files.sources import PACKAGE
from figlang.files.whole import write_text
from figlang.models import adapters, carried
from figlang.models import manifest as manifests
from figlang.models.manifest import MANIFEST, Manifest
from figlang.release import beside as beside_base
from figlang.release import card, portable
from figlang.runs import recomputed, results, stages, systems, teaching
from figlang.runs.predictions import MEASURED
from figlang.runs.systems import System
from figlang.tasks import overlap_table
from figlang.tasks import registry as data
from figlang.types import Split

log = logging.getLogger("figlang")

MEGABYTE = 2**20
METRICS = ("accuracy", "pair_accuracy")
# Keys of a run's metrics.json that the checkpoint keeps. The others are measured again.
KEPT = (
    *("command", "commands", "data", "training", "health"),
    *("averaged", "start_share", "shares", "teachers"),
)
# Files of a network that may name the folder that it came from.
SETTINGS = (MANIFEST, CONFIG_NAME, "config.json", "tokenizer_config.json", "generation_config.json")
TEXT = (".json", ".jsonl", ".md", ".yaml")


def release(config: ReleaseConfig, against: Sequence[DataConfig]) -> Path:
    """Write the checkpoint.

    Args:
        config: Settings of the command.
        against: Data sets in which contamination is searched for.

    Returns:
        Its folder.

    Raises:
        FiglangError: If the run is not finished, if a seed is of another recipe, if its adapters lie over a
            network that others do not have, or if the checkpoint is larger than `config.limit_mb`. Then
            nothing is written.
    """
    run, folder = Path(config.run), Path(config.output) / config.name
    check = partial(_check_free, folder, config.overwrite)
    check()
    content = _finished(run)
    seeds = _seeds(run, config.seeds, content)
    settings = settings_of_data(stages.placed(run, content["data"]["settings"]), str(run / "metrics.json"))
    of_run = manifests.read(str(run / "model"), str(run), None)
    train, validation = data.for_training(settings, config.paths)
    _check_data(content, train, validation)
    splits = overlap_table.evaluated(settings, [settings, *against], config.paths)
    earlier = stages.before(run, config.paths) if (run / "recipe.json").is_file() else []
    taught = teaching.of_run(run, config.paths) if teaching.hashes(run) else None
    with whole_folder(folder, check) as beside:
        copied(run / "model", beside, without=("README.md",))
        _name_base(beside)
        _cast(beside, config.dtype)
        _check_size(beside, config.limit_mb)
        # The released weights are evaluated: rounding moves a score in its third decimal.
        loaded = opening.export(beside, config)
        facts = predicting.predict(loaded, validation, beside, predicting.How(config.trainer.progress))
        evaluated = results.Evaluated(
            content["model"], facts, validation, "validation", content["data_name"], content["seed"]
        )
        overlaps = cleanness.search(train, splits, earlier, taught, config.n)
        if anchor := (content.get("contamination") or {}).get(cleanness.ANCHOR_DATA):
            overlaps[cleanness.ANCHOR_DATA] = anchor
        document: dict[str, Any] = {
            **evaluated.document(beside, cleanness.of_overlaps(overlaps, validation)),
            **{name: content[name] for name in KEPT if name in content},
            "commands_before": stages.commands(run),
            "contamination": overlaps,
            "release": {
                "name": config.name,
                "command": evaluated.about()["command"],
                "dtype": config.dtype,
                **_history(config, content, seeds, of_run),
            },
        }
        (beside / MEASURED).unlink(missing_ok=True)
        _describe(beside, run, portable.places(run, config.paths.data), document)
    return folder


def _describe(folder: Path, run: Path, places: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Write the settings, the card and metrics.json of a checkpoint, without folders of this machine."""
    write_text(
        folder / "config.yaml",
        stored.text(run / "config.yaml", "put the file back, or train the run again"),
    )
    _make_portable(folder, places)
    content = portable.document(json.loads(portable.named(json.dumps(document, ensure_ascii=False), places)))
    manifest = manifests.read(str(folder), str(folder), None)
    write_text(folder / "README.md", card.card(manifest, content))
    results.write(folder / "metrics.json", content)


def annotate(config: ReleaseConfig) -> Path:
    """Write the card of a released checkpoint again, with `config.note`, `config.licence` and the evaluations
    of `config.beside` on it if they are given. A checkpoint of an earlier version gets the commands of its
    earlier stages, if the checkpoint that it began from lies beside it.

    Returns:
        Its folder.

    Raises:
        FiglangError: If the folder is not a checkpoint, and as `beside.rows` does.
    """
    folder = Path(config.output) / config.name
    if not (folder / MANIFEST).is_file():
        raise FiglangError(f"{folder} is not a checkpoint; give run=FOLDER to release one")
    with locked(folder, "name=NAME"):
        manifest = manifests.read(str(folder), str(folder), None)
        content = recomputed.read(folder / "metrics.json")
        if not isinstance(content.get("release"), dict):
            raise FiglangError(f"{folder} was not made by figlang release; give run=FOLDER to release one")
        if config.beside:
            content["release"]["beside"] = beside_base.rows(config.beside, manifest)
        for name in ("note", "licence"):
            if (given := getattr(config, name)) is not None:
                content["release"][name] = given
        if "commands_before" not in content and (before := stages.commands(folder)):
            content["commands_before"] = before
        results.write(folder / "metrics.json", content)
        _name_base(folder)
        write_text(folder / "README.md", card.card(manifest, content))
        written = ("README.md", "metrics.json", CONFIG_NAME)
        ownership.note_again(folder, [name for name in written if (folder / name).is_file()])
    return folder


def _check_free(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not (overwrite and (folder / MANIFEST).is_file()):
        raise FiglangError(
            f"{folder} already exists; take another name=, or overwrite=true if it is a checkpoint"
        )


def _finished(run: Path) -> dict[str, Any]:
    if not (run / "metrics.json").is_file() or not (run / "model" / MANIFEST).is_file():
        raise FiglangError(
            f"{run} is not a finished run; figlang train makes one, and its folder has "
            "metrics.json and model/"
        )
    _check_base(run)
    content = recomputed.checked(run / "metrics.json")
    if "training" not in content or "settings" not in content.get("data", {}):
        raise FiglangError(f"{run} is an evaluation, not a training; give the folder of the run")
    stored.check_training(run / "metrics.json", content)
    return content


def _check_base(run: Path) -> None:
    """Check that adapters do not lie over a network in a local folder, which nobody else has."""
    path = run / "model" / CONFIG_NAME
    if not path.is_file():
        return
    base = str(stored.plain(path, "put the file of the run back").get("base_model_name_or_path"))
    if base != adapters.OWN and not base.startswith(PACKAGE) and Path(base).exists():
        raise FiglangError(
            f"the adapters of {run} lie over the network in {base}, which nobody else has; train them "
            "over a hub id or a package: source"
        )


def _name_base(folder: Path) -> None:
    """Let adapters over a file of the hub that a package carries name the hub, which others have."""
    path = folder / CONFIG_NAME
    if not path.is_file():
        return
    settings = stored.plain(path, "put the file of the run back")
    base = str(settings.get("base_model_name_or_path"))
    if (name := carried.named(base)) != base:
        settings["base_model_name_or_path"] = name
        write_text(path, json.dumps(settings, indent=2, sort_keys=True) + "\n")


def _seeds(run: Path, given: Sequence[str], content: Mapping[str, Any]) -> list[System]:
    """The runs of one recipe by seed; for a mean with shares, its runs in their order.

    They are the given ones; otherwise, for a mean, the runs that it is of; otherwise all finished runs beside
    `run`. `run` is one of them, unless it is a mean of several.
    """
    averaged = content.get("averaged", [])
    if content.get("shares"):
        if given:
            raise FiglangError(f"{run} is a mean of several recipes and has no seeds; leave seeds= out")
        return systems.read(_averaged(run, averaged))
    beside = [str(path.parent) for path in sorted(run.parent.glob("seed*/metrics.json"))]
    own, others = ([], averaged) if len(averaged) > 1 else ([str(run)], beside)
    if not given and not own:
        others = _averaged(run, averaged)
    folders = list(dict.fromkeys([*own, *(str(Path(folder)) for folder in given or others)]))
    runs = systems.read(folders)
    other = systems.unlike(runs)
    if other and given:
        raise FiglangError(
            f"{other[0].folder} differs from {runs[0].folder} in more than its seed; give seeds of one recipe"
        )
    for system in other:
        log.info("left out of the mean, because it differs in more than its seed: %s", system.folder)
    seeds = sorted((system for system in runs if system not in other), key=lambda system: system.seed or 0)
    systems.check_seeds(seeds)
    return seeds


def _averaged(run: Path, named: Sequence[str]) -> list[str]:
    """The folders of the runs that a mean is of."""
    found = stages.averaged(run, named)
    if missing := [one for one in found if not one.is_dir()]:
        raise FiglangError(f"{run} is the mean of {missing[0]} and others, which is not here; put it back")
    return list(map(str, found))


def _check_data(content: dict[str, Any], train: Split, validation: Split) -> None:
    for role, split in (("train", train), ("validation", validation)):
        if content["data"][role]["sha256"] != split.sha256:
            raise FiglangError(
                f"{split.source} is not the {role} data of the run; set paths.data= to those it was made with"
            )


def _cast(folder: Path, dtype: str) -> None:
    """Round the weights, and change the settings in the manifest.

    A score of the rounded weights must not have the signature of the run's.
    """
    # The network below adapters keeps the weights on which they were trained.
    for path in folder.glob("*.safetensors"):
        weights = load_file(path)
        cast = {
            name: value.to(getattr(torch, dtype)) if value.is_floating_point() else value
            for name, value in weights.items()
        }
        if lost := [
            name for name, value in cast.items() if value.is_floating_point() and not value.isfinite().all()
        ]:
            raise FiglangError(
                f"{lost[0]} has a weight that {dtype} cannot hold; release it with dtype=float32"
            )
        save_file(cast, path, {"format": "pt"})
    if dtype != "float32":
        manifest = manifests.read(str(folder), str(folder), None)
        rounded = replace(manifest, settings=digest([manifest.settings, dtype]))
        manifests.write(folder, rounded)


def _check_size(folder: Path, limit: float) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MEGABYTE
    if size > limit:
        raise FiglangError(
            f"the checkpoint would have {size:.1f} MB, more than limit_mb={limit:g}; train adapters "
            "(peft=lora), or of a lower rank (peft.r=8), or raise the limit"
        )


def _values(content: Any) -> dict[str, Any]:
    """Seed and metrics of a run."""
    values: dict[str, Any] = {"seed": content["seed"]}
    for prefix, measured in (("", content["metrics"]), ("backward_", content.get("backward", {}))):
        values |= {f"{prefix}{name}": measured[name]["value"] for name in METRICS if name in measured}
    return values


def _history(
    config: ReleaseConfig, content: Any, seeds: Sequence[System], of_run: Manifest
) -> dict[str, Any]:
    """Measurements of the run before its release, beside its other seeds and its base."""
    return {
        **({} if config.note is None else {"note": config.note}),
        **({} if config.licence is None else {"licence": config.licence}),
        "run": _values(content),
        "seeds": [_values(system.content) for system in seeds],
        "evaluations": _evaluations(Path(config.run)),
        **({"beside": beside_base.rows(config.beside, of_run)} if config.beside else {}),
    }


def _evaluations(run: Path) -> list[dict[str, Any]]:
    """The results of the run on other data, from before it was released."""
    read = [recomputed.checked(path) for path in sorted(run.glob("evaluations/*/metrics.json"))]
    keys = ("data_name", "split", "signature")
    return [
        {
            **{key: content[key] for key in keys},
            **{name: content["metrics"][name] for name in METRICS if name in content["metrics"]},
            **({"blind": content["blind"]["accuracy"], "gain": content["gain"]} if "gain" in content else {}),
        }
        for content in read
    ]


def _make_portable(folder: Path, places: Mapping[str, str]) -> None:
    """Write the texts in `folder` again where they name folders of this machine."""
    for path in (path for path in folder.iterdir() if path.suffix in TEXT):
        before = stored.text(path, "put the file of the run back")
        if (after := _without_paths(path.name, portable.named(before, places))) != before:
            write_text(path, after)


def _without_paths(name: str, text: str) -> str:
    """The text of a file, without the paths of this machine that are left in its settings."""
    if name == "config.yaml":
        before = yaml.safe_load(text)
        after = portable.settings(before)
        return text if after == before else yaml.safe_dump(after, sort_keys=False, allow_unicode=True)
    if name in SETTINGS:
        before = json.loads(text)
        after = portable.settings(before)
        return text if after == before else json.dumps(after, indent=2, ensure_ascii=False) + "\n"
    return text

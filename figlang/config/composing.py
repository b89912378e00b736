"""Hydra composes a configuration; here it becomes the plain dataclasses of `figlang.config`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from figlang.config import naming
from figlang.config.data import DataConfig
from figlang.config.given import Given
from figlang.config.present import check_data
from figlang.config.presets import CONF
from figlang.config.roots import chosen, suggestion
from figlang.config.shorthand import TABLES, preset_of_table
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError

T = TypeVar("T")


def resolve(config: DictConfig, schema: type[T]) -> T:
    """Plain dataclasses from a composed configuration.

    The composed configuration is merged into a new schema, so that a key added with `+` is an error. Hydra
    alone would accept and drop it.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    return cast(T, OmegaConf.to_object(OmegaConf.unsafe_merge(OmegaConf.structured(schema), plain)))


def of_plain(settings: Mapping[str, Any], schema: type[T]) -> T:
    """Options from plain data, for example those of a recipe. What is missing has its default."""
    return resolve(OmegaConf.create(dict(settings)), schema)


def to_yaml(config: Any) -> str:
    """A configuration as YAML text."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def compose(verb: str, schema: type[T], overrides: list[str]) -> T:
    """Compose the configuration of a command line, without the names that `named` fills in.

    Args:
        verb: A verb of `ROOTS`.
        schema: The class of its options.
        overrides: Words of the command line, such as `seed=1`.

    Returns:
        The options.
    """
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return resolve(hydra.compose(chosen(verb, overrides)[0], overrides), schema)


def named(composed: DictConfig, schema: type[T]) -> T:
    """The options of a command line, with names for the model, the data and the folder of results.

    Args:
        composed: What Hydra composed.
        schema: The class of the options.

    Raises:
        FiglangError: An option is not valid, or has no effect.
    """
    config = resolve(composed, schema)
    if isinstance(config, TrainConfig | EvaluateConfig):
        given = _given()
        # Only if it may give the name, because a preset in a folder of the user's own is not found.
        sized = "data.size" in given.names and "data.name" not in given.names
        preset = data_presets([given.choices.get("data", "None")])[0] if sized else None
        naming.name(config, given, preset)
    elif isinstance(data := getattr(config, "data", None), DataConfig):
        naming.name_by_dataset(data, _given())
        naming.name_by_file(data, _given())
    return config


def data_presets(names: Sequence[str]) -> list[DataConfig]:
    """Presets of data= by name.

    Args:
        names: The presets.

    Returns:
        One group of options for each name.

    Raises:
        FiglangError: There is no preset of that name.
    """
    files = {path.stem: path for path in (CONF / "data").glob("*.yaml")}
    if unknown := [name for name in names if name not in files]:
        raise FiglangError(f"data={unknown[0]} is not a preset; choose some of {', '.join(sorted(files))}")
    merged = (
        OmegaConf.merge(OmegaConf.structured(DataConfig), OmegaConf.load(files[name])) for name in names
    )
    return [cast(DataConfig, OmegaConf.to_object(preset)) for preset in merged]


def beside(config: TrainConfig) -> list[DataConfig]:
    """The data sets of also=, with the limit, the seed and the held-out share of the training's.

    They are in its folder, unless a preset has a folder of its own.

    Raises:
        FiglangError: A name is neither a preset nor that of a table, a file does not exist, or two data sets
            have one name.
    """
    like = config.data
    also = list(dict.fromkeys(config.also))
    found = [
        replace(one, root=one.root or like.root, limit=like.limit, seed=like.seed, held_out=like.held_out)
        for one in data_sets(also)
    ]
    names: dict[str, str] = {}
    for one, typed in zip(found, also, strict=True):
        check_data(one)
        naming.name_data(one, _given())
        if (other := names.setdefault(one.name, typed)) != typed:
            raise FiglangError(
                f"also={other},{typed} are two data sets of one name, {one.name}, so their results would "
                "have one folder; give files different names"
            )
    return found


def data_sets(names: Sequence[str]) -> list[DataConfig]:
    """Data sets that a list such as against= names.

    Args:
        names: Presets of data=, and files of the user's own.

    Returns:
        One group of options for each name.

    Raises:
        FiglangError: A name is neither a preset nor that of a table.
    """
    files = {name: preset_of_table(name) for name in names if name.lower().endswith(TABLES)}
    presets = {path.stem for path in (CONF / "data").glob("*.yaml")}
    if unknown := [name for name in names if name not in files and name not in presets]:
        meant = suggestion(unknown[0], presets)
        raise FiglangError(
            f"{unknown[0]} is neither a preset of data= nor a file of items ({', '.join(TABLES)}); "
            f"{meant}figlang tasks lists the presets"
        )
    found = data_presets([files.get(name, name) for name in names])
    for name, data in zip(names, found, strict=True):
        if name in files:
            data.file = name
            naming.name_by_file(data, Given((), {}, multirun=False))
    return found


def _given() -> Given:
    """The command line as Hydra parsed it."""
    known = HydraConfig.get()
    choices = {group: str(choice) for group, choice in known.runtime.choices.items() if choice}
    return Given(tuple(known.overrides.task), choices, known.mode is RunMode.MULTIRUN)

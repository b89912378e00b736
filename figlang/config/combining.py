"""Combinations of options with several values. A multirun runs them one by one; here a command gets all of
them."""

from dataclasses import dataclass
from itertools import chain, product
from typing import Generic, TypeVar

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import open_dict

from figlang.config.composing import named
from figlang.config.idle import ALLOWING
from figlang.config.presets import CONF
from figlang.config.roots import chosen
from figlang.config.shorthand import of_data

T = TypeVar("T")


@dataclass(frozen=True)
class Combination(Generic[T]):
    """One of several configurations. `choices` are the words of its options that have several values or name
    a network."""

    config: T
    choices: tuple[str, ...]

    def but(self, key: str) -> str:
        """A name that differs from the names of other combinations, without the option `key`."""
        return " ".join(text for text in self.choices if not text.startswith(f"{key}="))


def combinations(verb: str, schema: type[T], words: list[str]) -> list[Combination[T]]:
    """Every combination of the values of a command line.

    checkpoint= and model= name different networks. If both are given, the combinations of one come first,
    then those of the other.

    Args:
        verb: A verb of `ROOTS`.
        schema: The class of its options.
        words: Words of the command line, for example `data=FIRST,SECOND`.

    Returns:
        A configuration for each combination.

    Raises:
        FiglangError: A combination is not valid.
    """
    if any(word.startswith("checkpoint=") for word in words) and any(
        word.startswith("model=") for word in words
    ):
        chooses = [word for word in words if word.startswith(("model=", "model."))]
        about_model = [word for word in chooses if word.split("=")[0] not in ALLOWING]
        trained = [word for word in words if word not in about_model]
        untrained = [word for word in words if not word.startswith("checkpoint=")]
        return [
            *_combinations(verb, schema, trained, "checkpoint"),
            *_combinations(verb, schema, untrained, "model"),
        ]
    return _combinations(verb, schema, words)


def _combinations(verb: str, schema: type[T], words: list[str], kind: str = "") -> list[Combination[T]]:
    """Combinations of several values. The option `kind` is part of the choices even if it has a single
    value."""
    overrides = OverridesParser.create().parse_overrides(words)

    def varied(override: Override) -> bool:
        return bool(override.is_sweep_override() or override.get_key_element() == kind)

    fixed = [str(override.input_line) for override in overrides if not varied(override)]
    swept = [
        [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
        if override.is_sweep_override()
        else [str(override.input_line)]
        for override in overrides
        if varied(override)
    ]
    made = []
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        for choices in dict.fromkeys(product(*swept)):  # a value given twice is one
            each = chain.from_iterable(of_data(choice, words) for choice in choices)
            composed = hydra.compose(chosen(verb, words)[0], [*fixed, *each], return_hydra_config=True)
            HydraConfig.instance().set_config(composed)
            with open_dict(composed):
                del composed["hydra"]
            made.append(Combination(named(composed, schema), choices))
    return made

"""What commands find anew in each test is found once: what presets say together, and intervals.

The words of a command choose presets and set values. What the chosen presets say together takes Hydra a
fifth of a second, and tests choose the same ones hundreds of times. So it is kept for each choice, and a
command gets a copy. The values are set anew in each copy. A schema without values is kept in the same way.

The intervals of a command take hundredths of a second each. Tiny networks answer a few items alike, so nine
of ten intervals are of numbers that were there before.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any
from unittest.mock import patch

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import IConfigRepository
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra.core.config_store import ConfigStore
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from figlang.config.presets import CONF
from figlang.statistics.clustered import Array, Ratios

_lists: dict[Hashable, DefaultsList] = {}
_settings: dict[Hashable, DictConfig] = {}
_schemas: dict[type, DictConfig] = {}
_ends: dict[Hashable, tuple[Array, Array]] = {}
_list: Any = config_loader_impl.create_defaults_list
_compose: Any = ConfigLoaderImpl._compose_config_from_defaults_list
_structured: Any = OmegaConf.structured
_reckon: Any = Ratios._ends


@contextmanager
def composed() -> Iterator[None]:
    """Compose a choice of figlang's own presets once. A folder of a user's own presets is read each time."""
    with (
        patch.object(config_loader_impl, "create_defaults_list", _kept_list),
        patch.object(ConfigLoaderImpl, "_compose_config_from_defaults_list", _kept_settings),
        patch.object(OmegaConf, "structured", _kept_schema),
    ):
        yield


@contextmanager
def reckoned() -> Iterator[None]:
    """Reckon the intervals of the same numbers once."""
    with patch.object(Ratios, "_ends", _kept_ends):
        yield


def _read(repo: IConfigRepository) -> Hashable:
    """What a composition reads, if it is kept: the folders, and the roots as figlang has stored them."""
    places = [(source.scheme(), source.path) for source in repo.get_sources()]
    if any(scheme == "file" and path != str(CONF) for scheme, path in places):
        return None
    roots = ConfigStore.instance().repo
    return (*places, *((name, _Same(node)) for name, node in roots.items() if name.startswith("figlang_")))


class _Same:
    """An object that equals itself alone."""

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def _kept_list(
    repo: IConfigRepository,
    config_name: str,
    overrides_list: list[Override],
    prepend_hydra: bool,
    skip_missing: bool,
) -> DefaultsList:
    arguments = (repo, config_name, overrides_list, prepend_hydra, skip_missing)
    read = _read(repo)
    if read is None:
        found: DefaultsList = _list(*arguments)
        return found
    values = Overrides(repo=repo, overrides_list=overrides_list).config_overrides
    chosen = tuple(each.input_line for each in overrides_list if each not in values)
    key = (read, config_name, chosen, prepend_hydra, skip_missing)
    if key not in _lists:
        _lists[key] = _list(*arguments)
    made = copy(_lists[key])
    made.config_overrides = values
    return made


def _kept_settings(
    loader: ConfigLoaderImpl, defaults: list[ResultDefault], repo: IConfigRepository
) -> DictConfig:
    read = _read(repo)
    if read is None:
        made: DictConfig = _compose(loader, defaults=defaults, repo=repo)
        return made
    key = (read, tuple((each.config_path, each.parent, each.package, each.is_self) for each in defaults))
    if key not in _settings:
        _settings[key] = _compose(loader, defaults=defaults, repo=repo)
    return deepcopy(_settings[key])


def _kept_schema(given: Any, parent: Any = None, flags: Any = None) -> Any:
    if not isinstance(given, type) or parent is not None or flags is not None:
        return _structured(given, parent, flags)
    if given not in _schemas:
        _schemas[given] = _structured(given)
    return deepcopy(_schemas[given])


def _kept_ends(ratios: Ratios, level: float) -> tuple[Array, Array]:
    numbers = (ratios.counts, ratios.hits, ratios.sizes, ratios.extra, ratios.freedom)
    said = tuple(None if each is None else (each.shape, each.tobytes()) for each in numbers)
    key = (said, ratios.support, level)
    if key not in _ends:
        _ends[key] = _reckon(ratios, level)
    low, high = _ends[key]
    return low.copy(), high.copy()

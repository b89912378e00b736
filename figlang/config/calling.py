"""Options that come from Python: they become the words of a command line, so that both are read and checked
in one way."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.version import VersionBase
from omegaconf.errors import OmegaConfBaseException

from figlang.config.combining import combinations
from figlang.config.refusals import said
from figlang.config.roots import ROOTS
from figlang.config.typed import text
from figlang.config.words import readable
from figlang.errors import FiglangError

T = TypeVar("T")
_turns = RLock()


def options(verb: str, schema: type[T], words: Sequence[str]) -> T:
    """The options of a verb, as its command would read them.

    Args:
        verb: A verb of `ROOTS`.
        schema: The class of its options.
        words: Words of the command line, such as `seed=1`.

    Returns:
        The options, with names for the model and the data.

    Raises:
        FiglangError: An option is unknown, has no effect, or has several values.
    """
    try:
        with _lent():
            found = combinations(verb, schema, readable(ROOTS[verb], list(words)))
    except (HydraException, OmegaConfBaseException) as error:
        raise FiglangError(said(error, list(words), ROOTS[verb])) from error
    if len(found) > 1:
        several = " and ".join(" ".join(each.choices) for each in found[:2])
        raise FiglangError(f"an option has several values ({several}); call once for each value")
    return found[0].config


@contextmanager
def _lent() -> Iterator[None]:
    """Use Hydra, and give it back as the caller's own program had it.

    A process has one Hydra. The caller may be in a program of Hydra's, and threads take turns.
    """
    with _turns:
        known, settings, version = GlobalHydra.instance(), HydraConfig.instance(), VersionBase.instance()
        before = known.hydra, settings.cfg, version.version_base
        known.clear()
        try:
            yield
        finally:
            GlobalHydra.set_instance(known)  # composing leaves a copy in its place
            known.hydra, settings.cfg, version.version_base = before


def word(key: str, value: Any) -> str:
    """A word of the command line.

    Args:
        key: The option, for example `data.limit`.
        value: Its value: text, a number, a bool, None, or a list or mapping of these.
    """
    return f"{key}={_written(value)}"


def _written(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_written(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, int | float):
        return str(value)
    return text(str(value))

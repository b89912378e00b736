"""The words of a command line as Hydra can read them."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, RangeSweep
from hydra.errors import HydraException

from figlang.config import typed
from figlang.config.presets import CONF
from figlang.config.roots import Root
from figlang.config.shorthand import TABLES, expanded
from figlang.config.suggesting import written
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError, one_line

log = logging.getLogger("figlang")

SEVERAL = ("-m", "--multirun")
HELP = ("-h", "--help")
OWN_TEXT = (".template", ".suffix", ".separator", ".bos", ".system")  # fields with text of the user's own
OPEN = (".extra_body", ".chat_template_kwargs")  # fields with keys of the user's own


def readable(root: Root, words: list[str]) -> list[str]:
    """The words of a command line as Hydra can read them.

    Args:
        root: The verb's options.
        words: The words behind the verb.

    Returns:
        The words; bare ones are part of `runs=`, and the text of templates is quoted.

    Raises:
        FiglangError: A word means nothing here.
    """
    presets = {
        folder.name: [path.stem for path in folder.glob("*.yaml")]
        for folder in CONF.iterdir()
        if folder.is_dir()
    }
    names = [spec.name for spec in fields(root.schema)]
    words = expanded(root, _without_flags(words, names), CONF)
    words = typed.without_configuration(words, presets, names)
    typed.check(words, presets, lambda name: written(name, root.schema))
    if root.schema is not TrainConfig:
        _check_scoring([word.lstrip("+") for word in words])
    if "rename" in names:
        words = _with_renames(words)
    if "runs" in names:
        words = _with_runs(words)
    elif single := next((name for name in ("shell", "folder") if name in names), None):
        words = [f"{single}={typed.text(word)}" if _is_bare(word) else word for word in words]
    else:
        typed.check_bare(words, {*presets, *names})
        _check_alone(words, root, names, presets)
    words = _without_earlier([_quoted(word) for word in words])
    _check_several(words, presets)
    return words


def unreadable(words: list[str]) -> str | None:
    """The first word that Hydra's parser cannot read; Hydra's message does not name it."""
    for word in words:
        try:
            OverridesParser.create().parse_override(word)
        except HydraException:
            if not word.startswith("-"):
                return word
    return None


def _can_be_read(word: str) -> bool:
    """Whether Hydra's grammar has the word. A number that Python does not take is for `_check_several`."""
    try:
        return unreadable([word]) is None
    except ValueError:
        return True


def _check_several(words: Sequence[str], presets: Mapping[str, Sequence[str]]) -> None:
    """Check that values can be read, and that a range or pattern has at least one: with none, Hydra runs
    nothing and says nothing."""
    for word in words:
        try:
            override = OverridesParser.create().parse_override(word)
        except HydraException:
            continue  # Hydra's own error follows
        except ValueError as error:  # Python's, which does not say whose value it is
            key, _, value = word.partition("=")
            raise FiglangError(
                f"{key.lstrip('+')}={value[:20]}… of {len(value)} characters cannot be read "
                f"({one_line(error).partition(';')[0]}); give a smaller number"
            ) from error
        value = override.value()
        if isinstance(value, Glob):
            empty = not value.filter(list(presets.get(override.get_key_element(), ())))
        else:
            empty = isinstance(value, RangeSweep) and next(iter(value.range()), None) is None
        if empty:
            raise FiglangError(f"{word} has no values, so nothing would run; give at least one")


def _without_earlier(words: Sequence[str]) -> list[str]:
    """Leave out the earlier ones of several values for one option, and say so.

    Hydra too takes the last. But the folder of a run would be named by all of them, and a multirun would make
    a run twice.
    """
    settings = (("" if word.startswith("-") or "=" not in word else word) for word in words)
    keys = [setting.lstrip("+").partition("=")[0] for setting in settings]
    last = dict(zip(keys, words, strict=True))
    kept = []
    for place, (key, word) in enumerate(zip(keys, words, strict=True)):
        if not key or key not in keys[place + 1 :]:
            kept.append(word)
        elif word != last[key]:
            log.warning("%s is given twice; the last one counts: %s", key, last[key])
    return kept


def _check_scoring(words: list[str]) -> None:
    # scoring=letter alone is protocol=letter.
    for group, preset in (
        ("scoring", "clean"),
        ("protocol", "letter" if "scoring=letter" in words else "cot"),
    ):
        field = next((word.split("=")[0] for word in words if word.startswith(f"{group}.")), None)
        if field and not any(word.startswith(f"{group}=") for word in words):
            raise FiglangError(
                f"{field} changes a preset, which has to be named with it: {group}={preset} {field}=…"
            )


def _is_bare(word: str) -> bool:
    """Whether a word is a path and not a setting. A path may hold `=`, but no key begins as it does."""
    return word.startswith(("/", "./", "../")) or ("=" not in word and not word.startswith("-"))


def _check_alone(
    words: Sequence[str], root: Root, names: Collection[str], presets: Mapping[str, Collection[str]]
) -> None:
    """Refuse a file of items, a run or a preset without a key, with the option that takes it."""
    for word in filter(_is_bare, words):
        if "data" in root.presets and word.lower().endswith(TABLES):
            raise FiglangError(f"{word} has no key; write data={word}")
        if "checkpoint" in names and Path(word).is_dir():
            raise FiglangError(f"{word} has no key; write checkpoint={word}")
        for group in ("data", "model"):
            if group in root.presets and word in presets[group]:
                raise FiglangError(f"{word} has no key; write {group}={word}")


def _with_runs(words: list[str]) -> list[str]:
    """Turn words that are not settings into runs=."""
    bare = [word for word in words if _is_bare(word)]
    rest = [word for word in words if word not in bare]
    if not bare:
        return rest
    if any(word.startswith("runs=") for word in rest):
        raise FiglangError(f"runs= and {bare[0]} both name runs; give them one way")
    return [*rest, f"runs=[{','.join(map(typed.text, bare))}]"]


def _without_flags(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Turn the flags that a verb takes into settings: --rename OLD=NEW and --common."""
    made, left = [], iter(words)
    for word in left:
        flag, equals, value = word.partition("=")
        if flag == "--rename" and "rename" in names:
            made.append(f"rename={value if equals else next(left, '')}")
        elif word == "--common" and "common" in names:
            made.append("common=true")
        else:
            made.append(word)
    return made


def _with_renames(words: list[str]) -> list[str]:
    """Turn each rename=OLD=NEW into an entry of one list. A list in brackets stays as it is."""
    found = [word.removeprefix("rename=") for word in words if word.startswith("rename=")]
    if not found or any(word.startswith("[") for word in found):
        return words
    rest = [word for word in words if not word.startswith("rename=")]
    return [*rest, f"rename=[{','.join(map(typed.text, found))}]"]


def _quoted(word: str) -> str:
    # Text of the user's own: Hydra would read braces as a dictionary and take spaces and commas for its
    # grammar.
    key, equals, value = word.partition("=")
    if key.endswith(OPEN) and value.startswith("{"):
        return (
            f"+{word.lstrip('+')}"  # its keys are the user's, and Hydra takes unknown keys only with a plus
        )
    if not key.endswith(OWN_TEXT) or value.startswith(("'", '"')):
        return word if _can_be_read(word) else typed.quoted(word)
    return f"{key}{equals}{typed.text(value)}"

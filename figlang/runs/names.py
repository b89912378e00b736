"""Short names of systems that are shown together: the model, and only as much more as tells them apart."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from figlang.errors import FiglangError
from figlang.runs import spelled
from figlang.text.amounts import typed

# Properties in the order in which they are tried, with their headings in a legend.
HEADINGS = {
    "model": "model",
    "base": "weights",
    "trained": "trained on",
    "before": "before that",
    "loss": "loss",
    "tuning": "tuned",
    "taught": "learnt from other models",
    "averaged": "averaged",
    "mixture": "mixture",
    "scoring": "scoring",
    "norm": "norm",
    "prompt": "prompt",
    "text": "text",
    "precision": "precision",
    "scoring_details": "details of the scoring",
    "prompt_details": "details of the prompt",
}
# The order in which properties are added to names. The model is in every name. The weights come last, because
# they are long.
TELLING = [key for key in HEADINGS if key not in ("model", "base")] + ["base"]
# If most systems are alike in one of these, only the others say theirs.
USUAL = ("trained", "before", "loss", "tuning", "averaged", "text", "precision")
# No value of these says that there was nothing of the kind, which a name cannot say.
ABSENT = ("before", "averaged")
SILENT = ("", "none")
LETTER = "letter"
LONGEST = 40  # characters of a property in a name


class Described(Protocol):
    """Results with the facts from which a name is made."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def content(self) -> Mapping[str, Any]: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def settings(self) -> Mapping[str, str]: ...


def properties(content: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a system in words, by the keys of `HEADINGS`; then its other facts by their own keys.

    Args:
        content: A metrics.json.
    """
    facts = {key: str(value) for key, value in content.get("facts", {}).items()}
    trained, before, mixture = spelled.trained(content)
    loss, tuning, averaged = spelled.method(content)
    scoring, _, scoring_details = facts.get("scoring", "").partition("(")
    norm, prompt = facts.get("norm", ""), facts.get("prompt", "none")
    found = {
        "model": spelled.model(str(content.get("model", ""))),
        "base": facts.get("base", ""),
        "trained": trained if facts else "",
        "before": before,
        "loss": loss,
        "tuning": tuning,
        "averaged": averaged,
        "taught": "distilled" if content.get("teachers") else "",
        "mixture": mixture,
        "scoring": "by letters" if scoring == LETTER else scoring,
        "norm": spelled.NORMS.get(norm, norm),
        "prompt": _prompt(prompt),
        "text": facts.get("text", "").partition("(")[0],
        "precision": facts.get("precision", ""),
        "scoring_details": scoring_details.rstrip(")"),
        "prompt_details": prompt.partition("(")[2].removesuffix(")"),
    }
    told = ("model", "trained", "method", "train_seed", "weights", *found)
    return found | {key.replace("_", " "): value for key, value in facts.items() if key not in told}


def _prompt(prompt: str) -> str:
    name = prompt.partition("(")[0]
    k = re.search(r"\bk=(\d+)", prompt)  # a name does not say how many examples there are
    return name + (f" k={k[1]}" if k and not re.fullmatch(r"k\d+", name) else "")


def short(systems: Sequence[Described]) -> list[str]:
    """A name for each system.

    A property is added where names would be the same without it, and then a setting of the training, for
    example `method.lr=0.001`. If most systems are alike in the training, only the others say it. If some
    reply with letters, which is another measure than scores, each system says its scoring. A name that was
    given by `name=` is kept. Systems that nothing tells apart have their folders as names.
    """
    found = [properties(system.content) for system in systems]
    names = [each["model"] for each in found]
    order = [*TELLING, *dict.fromkeys(key for each in found for key in each if key not in HEADINGS)]
    if any(each["scoring"] == "by letters" for each in found):
        names = [_with(name, each["scoring"]) for name, each in zip(names, found, strict=True)]
        order.remove("scoring")
    for key in order:
        names = _told(names, [each.get(key, "") for each in found], key)
    for key in dict.fromkeys(key for system in systems for key in system.settings):
        values = [f"{key}={system.settings[key]}" if key in system.settings else "" for system in systems]
        names = _told(names, values, key)
    names = _told(names, ["" if each.seed is None else f"seed {each.seed}" for each in systems], "seed")
    names = [given(system.content) or name for name, system in zip(names, systems, strict=True)]
    count = Counter(names)
    if len(count) == len(names):
        return names
    folders = _folders(systems)
    return [name if count[name] == 1 else folder for name, folder in zip(names, folders, strict=True)]


def flat(settings: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Nested settings as people type them.

    Args:
        settings: The settings, for example those of a recipe.json.
        above: The name of the group that they are in, with a dot behind it.

    Returns:
        `group.name` to value.
    """
    found: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = typed(value) if isinstance(value, float) else str(value)
    return found


def _told(names: Sequence[str], values: Sequence[str], key: str) -> list[str]:
    """Names with the value of one property added where it tells equal names apart."""
    usual = _usual(values) if key in USUAL else ""
    known: dict[str, set[str]] = {}
    for name, value in zip(names, values, strict=True):
        known.setdefault(name, set()).add(value)
    several = {name for name, its in known.items() if len(its) > 1}
    absent = {name for name, value in zip(names, values, strict=True) if key in ABSENT and not value}
    told = [
        _with(name, _cut(value)) if name in several and (value != usual or name in absent) else name
        for name, value in zip(names, values, strict=True)
    ]
    # Values whose beginnings are alike do not help when they are cut.
    return told if len(set(told)) > len(set(names)) else list(names)


def _usual(values: Sequence[str]) -> str:
    """The value of more than half of the systems that were trained; empty if there is none."""
    counts = Counter(value for value in values if value not in (*SILENT, spelled.UNTRAINED))
    if not counts:
        return ""
    value, count = counts.most_common(1)[0]
    return value if 2 * count > sum(counts.values()) else ""


def _with(name: str, word: str) -> str:
    return name if word in SILENT else f"{name}, {word}"


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"


def given(content: Mapping[str, Any]) -> str:
    """The name that the command of an evaluation gave it by `name=`; empty if it gave none."""
    try:
        words = shlex.split(str(content.get("command", "")))
    except ValueError:  # a quote that is not closed
        return ""
    names = [word.removeprefix("name=").strip("'\"") for word in words if word.startswith("name=")]
    return names[-1] if names and "," not in names[-1] else ""


def _folders(systems: Sequence[Described]) -> list[str]:
    """The folder of each system without what all have in common; with its own name where two share one."""
    parts = [system.folder.parts for system in systems]
    shared = 0
    while all(len(path) > shared + 1 for path in parts) and len({path[shared] for path in parts}) == 1:
        shared += 1
    count = Counter(parts)
    names = ["/".join(path[shared:]) for path in parts]
    return [
        f"{name}/{system.name}" if count[path] > 1 else name
        for name, path, system in zip(names, parts, systems, strict=True)
    ]


def renaming(words: Sequence[str]) -> dict[str, str]:
    """The names of `rename=OLD=NEW`, by the old one.

    Raises:
        FiglangError: If a word is not of this form, or an old name is given twice.
    """
    found: dict[str, str] = {}
    for word in words:
        old, equals, new = (part.strip() for part in word.rpartition("="))
        if not (old and equals and new):
            raise FiglangError(f"rename={word} is not of the form OLD=NEW; write rename='OLD=NEW'")
        if old in found:
            raise FiglangError(f"rename= gives {old} two names; give it one")
        found[old] = new
    return found

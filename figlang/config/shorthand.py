"""Short ways to name models, data and splits: `model=ORG/NAME`, `model=FOLDER`, `model=FILE.gguf`,
`data=FILE.csv`, `data=FOLDER`, `split=dev`; several trackers: `logger=[tensorboard,mlflow]`; lists without
brackets: `method.teacher=FOLDER,FOLDER`."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

import yaml

from figlang.config import lists
from figlang.config.kinds import CONFIG, Kind, kind_of
from figlang.config.presets import DEFAULTS
from figlang.config.roots import Root
from figlang.config.typed import text
from figlang.config.verbs.describe import DescribeConfig
from figlang.config.verbs.export import TOOLS, ExportConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError
from figlang.files.sources import PACKAGE
from figlang.files.tables import FORMS, columns

log = logging.getLogger("figlang")

TABLES = (*FORMS, ".yaml", ".yml")
SHEETS = (".xlsx", ".xls", ".ods")
# A new head has to be learnt from few items; a sentence encoder's similarity is there before.
HINT = (
    "method.format=pair trains a new head, which can stay at chance on small sets; a sentence encoder with "
    "method.format=dual may do better there"
)
# Its parts are any tasks. Hydra takes only keys that a preset has, unless a word says that it may add one.
MIX = "data.mix"
# Lists of which a single entry means nothing: an order of classes, a pair of tags.
WHOLE = ("nli.labels", "protocol.think_tags")
OWN = "own"  # the preset of a file with any columns
SPLITS = {"dev": "validation", "val": "validation", "valid": "validation"}


def expanded(root: Root, words: Sequence[str], folder: Path) -> list[str]:
    """Replace short names by the words that they stand for.

    Args:
        root: The options of the verb.
        words: The words behind the verb.
        folder: The folder with a folder of presets for each group.

    Returns:
        The words. Those without a short name are as they were.

    Raises:
        FiglangError: A model cannot be looked into, its kind cannot be found, or export has no such tool.
    """
    names = {spec.name for spec in fields(root.schema)}
    ways: dict[str, Callable[[str], list[str]]] = {}
    if "split" in names:
        ways["split"] = _split
    if "data" in root.presets:
        ways["data"] = partial(_data, words=words, together=root.together)
    if "method" in root.presets:
        ways["method.batch_size"] = partial(_batch_size, words=words)
    several = root.together or not {"-m", "--multirun"}.isdisjoint(words)
    for name, entry in lists.of(root.schema).items():
        if name != "rename":  # each word is an entry, and its text may hold commas
            ways[name] = partial(_listed, name, entry, several and name not in WHOLE)
    if "logger" in root.presets:
        ways["logger"] = partial(_loggers, several=several)
    if "model" in root.presets:
        ways["model"] = lambda value: _model(value, words, root, folder / "model")
    made: list[str] = []
    for word in _with_file(root, _with_tool(root, words)):
        key, equals, value = word.partition("=")
        if equals and "data" in root.presets and (key == MIX or key.startswith(f"{MIX}.")):
            word = f"++{word}"
        made += ways[key](value) if equals and key in ways and value else [word]
    return made + _format(root, words)


def _batch_size(value: str, words: Sequence[str]) -> list[str]:
    """The preset's number of items stays under auto, and steps are cut if the memory is not enough."""
    if value != "auto":
        return [f"method.batch_size={value}"]
    cut = next((word for word in words if word.startswith("method.accumulate=")), "method.accumulate=auto")
    if cut != "method.accumulate=auto":
        raise FiglangError(
            f"method.batch_size=auto chooses the parts of a step itself, and {cut} says how many; leave one "
            "out"
        )
    return [cut]


def _loggers(value: str, several: bool) -> list[str]:
    """Several trackers: tensorboard,mlflow is the preset of the first, and logger.also= of the others. In a
    multirun a list of trackers has brackets."""
    inside = value[1:-1] if value.startswith("[") and value.endswith("]") else value
    listed = inside.split(",") if inside != value or not several else [value]
    first, *others = (part.strip() for part in listed)
    return [f"logger={first}", *([f"logger.also=[{','.join(others)}]"] if others else [])]


def _listed(name: str, entry: type, several: bool, value: str) -> list[str]:
    return [lists.word(name, value, entry, several)]


def _split(value: str) -> list[str]:
    return [f"split={','.join(SPLITS.get(part, part) for part in value.split(','))}"]


def of_data(word: str, words: Sequence[str]) -> list[str]:
    """One of several values of data= as words that Hydra reads.

    Args:
        word: The word, for example `data=FILE.csv`.
        words: The words of the command line.

    Returns:
        The words; another word alone, as it is.
    """
    key, _, value = word.partition("=")
    return _data(value.strip("'\""), words) if key == "data" else [word]


def _data(value: str, words: Sequence[str], together: bool = False) -> list[str]:
    parts = lists.parts(value)
    if sheet := next((part for part in parts if part.lower().endswith(SHEETS)), None):
        raise FiglangError(f"data={sheet} is a spreadsheet; save it as a CSV file in UTF-8 and give that")
    if len(parts) == 1 and _is_folder(parts[0]):
        return ["data=own", f"data.hub={text(parts[0])}"]
    if not any(part.lower().endswith(TABLES) for part in parts):
        if odd := [part for part in parts if Path(part).suffix and Path(part).expanduser().is_file()]:
            raise FiglangError(
                f"data={odd[0]} is not a table that figlang reads; give a file that ends with "
                f"{', '.join(TABLES)}"
            )
        return [f"data={value}"]
    if together and len(parts) > 1:  # each is read alone, by `of_data`
        return [f"data={','.join(map(text, parts))}"]
    _check_single("data", parts)
    return [f"data={preset_of_table(parts[0], words)}", f"data.file={text(parts[0])}"]


def _is_folder(value: str) -> bool:
    """Whether a word is a folder, for example one that `datasets` saved. A name without a slash is a
    preset's."""
    return "/" in value and Path(value).expanduser().is_dir()


def preset_of_table(file: str, words: Sequence[str] = ()) -> str:
    """The preset for a file of one's own: by its columns, if they can be read and no column was named.

    Args:
        file: The file.
        words: The words of the command line, which may name columns.
    """
    path = Path(file).expanduser()
    named = any(word.startswith("data.columns.") for word in words)
    if named or path.suffix.lower() not in (".csv", ".tsv", ".jsonl"):
        return OWN
    found = columns(path)
    known = DEFAULTS.by_columns.items()
    unknown = not found and not path.is_file()
    fitting = [preset for preset, needed in known if unknown or set(found) >= set(needed)]
    return fitting[0] if fitting else OWN


def _with_file(root: Root, words: Sequence[str]) -> list[str]:
    """Name the data of a file that stands alone: `FILE` (or a folder) for describe, or `data.file=FILE`
    without data=."""
    files = [
        word
        for word in words
        if "=" not in word and (word.lower().endswith((*TABLES, *SHEETS)) or _is_folder(word))
    ]
    named = [word for word in words if word.startswith(("data=", "data.dataset=", "experiment="))]
    if root.schema is DescribeConfig and len(files) == 1 and not named:
        return [f"data={word}" if word == files[0] else word for word in words]
    if "data" not in root.presets or named:
        return list(words)
    given = [word.partition("=")[2].strip("'\"") for word in words if word.startswith("data.file=")]
    if given:
        return [f"data={preset_of_table(given[-1], words)}", *words]
    return [f"data={OWN}", *words] if any(word.startswith("data.hub=") for word in words) else list(words)


def _with_tool(root: Root, words: Sequence[str]) -> list[str]:
    """Name the tool and the folder that stand alone behind export: `lm_eval FOLDER`.

    Raises:
        FiglangError: The first word is not a tool.
    """
    if root.schema is not ExportConfig or not words or "=" in words[0] or words[0].startswith("-"):
        return list(words)
    if words[0] not in TOOLS:
        raise FiglangError(
            f"{words[0]} is not a tool that figlang exports to; write {' or '.join(TOOLS)}, and a folder "
            f"behind it: figlang export {TOOLS[0]} FOLDER data=NAME"
        )
    folder = [f"output={text(word)}" for word in words[1:2] if "=" not in word and not word.startswith("-")]
    return [f"tool={words[0]}", *folder, *words[1 + len(folder) :]]


def _model(value: str, words: Sequence[str], root: Root, folder: Path) -> list[str]:
    parts = lists.parts(value)
    if not any(_names_files(part, folder) for part in parts):
        return [f"model={value}"]
    _check_single("model", parts)
    source = parts[0]
    if preset := _preset_of(source, folder):
        log.info("model=%s: the settings of model=%s are used", source, preset)
        return [f"model={preset}"]
    revision = next((word.partition("=")[2] for word in words if word.startswith("model.revision=")), None)
    kind = kind_of(source, revision)
    made = [f"model={'causal' if kind is Kind.CAUSAL else 'encoder'}", f"model.name_or_path={text(source)}"]
    if kind is Kind.SENTENCES and _unformatted(root, words):
        made.append("method.format=dual")
    log.info("model=%s is read as %s: %s", source, kind.value, " ".join(made))
    if kind is Kind.ENCODER and _unformatted(root, words):
        log.info(HINT)
    return made


def _unformatted(root: Root, words: Sequence[str]) -> bool:
    """Whether a training is asked for without a format of its inputs."""
    formats = ("method.format=", "method=", "experiment=")
    return root.schema is TrainConfig and not any(word.startswith(formats) for word in words)


def _format(root: Root, words: Sequence[str]) -> list[str]:
    """The format for a folder of `model=encoder`: a sentence encoder is trained as one; others get a hint."""
    sources = [
        word.partition("=")[2].strip("'\"") for word in words if word.startswith("model.name_or_path=")
    ]
    if "model=encoder" not in words or not sources or not _unformatted(root, words):
        return []
    folder = Path(sources[-1]).expanduser()
    if not (folder / CONFIG).is_file():
        return []
    kind = kind_of(str(folder.resolve()))
    if kind is Kind.SENTENCES:
        log.info("%s is %s: method.format=dual is used; method.format=pair is a new head", folder, kind.value)
        return ["method.format=dual"]
    if kind is Kind.ENCODER:
        log.info(HINT)
    return []


def _check_single(group: str, parts: Sequence[str]) -> None:
    if len(parts) > 1:
        raise FiglangError(
            f"{group}={','.join(parts)}: several values have to be presets; run the command once for each"
        )


def _names_files(value: str, folder: Path) -> bool:
    """Whether a value of model= names files and is not a preset."""
    if (folder / f"{value}.yaml").is_file() or value in ("", "null") or value[0] in "[{$":
        return False
    return bool(
        "/" in value
        or value.startswith((".", "~", PACKAGE))
        or value.endswith(".gguf")
        or Path(value).is_dir()
    )


def _preset_of(source: str, folder: Path) -> str | None:
    """The preset of a hub id, which may set more than the id, for example the token before a text. None if
    there is no preset, or only one with adapters."""
    known: dict[str, str] = {}
    for file in sorted(folder.glob("*.yaml"), reverse=True):
        content: Mapping[str, Mapping[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
        if "defaults" not in content:
            known[content["model"]["name_or_path"]] = file.stem
    return (
        known.get(source) if re.fullmatch(r"[\w.-]+/[\w.-]+", source) and not Path(source).exists() else None
    )

"""Items as they come in: rows that writers filled in, or a file of one's own. Rows with faults are named."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from figlang.config import DataConfig, PathsConfig
from figlang.config.signature import digest
from figlang.creation.prompts import MEANINGS, METAPHORS
from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv
from figlang.files.sources import sha256
from figlang.files.tables import columns
from figlang.tasks import registry
from figlang.tasks.own import reading
from figlang.text.amounts import form
from figlang.text.tidying import fold
from figlang.types import Item, Split

PARTS = (*METAPHORS, *MEANINGS)
COLUMNS = "data.columns"  # options of figlang describe that figlang create does not have


@dataclass(frozen=True)
class Fault:
    """Why a row or an item is left out, or what is odd about it.

    Attributes:
        place: The row of the file, or the id of an item.
        check: The check that found it.
        what: A sentence without its end.
    """

    place: str
    check: str
    what: str


@dataclass(frozen=True)
class Drafts:
    """The items that came in.

    Attributes:
        items: Items whose fields are there.
        faults: Of the rows without an item.
        blank: Number of rows that nobody has filled in yet.
        sha256: Of the file.
        guess: A sentence about columns that were guessed; empty if there are none. It is not a fault.
    """

    items: tuple[Item, ...]
    faults: tuple[Fault, ...]
    blank: int
    sha256: str
    guess: str = ""


def read(path: Path) -> Drafts:
    """Read the items of a file.

    Args:
        path: A table of prompts that is filled in, in whole or in part, or any file that data= takes.

    Raises:
        FiglangError: The file cannot be read.
    """
    if path.suffix.lower() in (".csv", ".tsv") and path.is_file():
        header = columns(path)
        if missing := [part for part in PARTS if part not in header]:
            _check_header(path, header, missing)
        else:
            return _pairs(path)
    try:
        split, guess = _split(path)
    except FiglangError as error:
        raise FiglangError(_named_elsewhere(str(error))) from error
    known = tuple(item for item in split.items if item.gold is not None)
    faults = [
        Fault(item.id, "fields", "the right option is hidden") for item in split.items if item.gold is None
    ]
    faults += _noted(path, (note for note in split.notes if note != guess))
    faults += [*_alike(known), *_unswapped(known)]
    return Drafts(known, tuple(faults), 0, split.sha256, _named_elsewhere(guess))


def _split(path: Path) -> tuple[Split, str]:
    """The items of a file as data= reads them, and the note about columns that were guessed."""
    # Hydra comes with them, and what is only counted needs none.
    from figlang.config.composing import data_presets
    from figlang.config.shorthand import OWN, preset_of_table

    if (preset := preset_of_table(str(path))) == OWN:
        found = reading.read("validation", DataConfig(name=path.stem, dataset="own", file=str(path)))
        return found.split, found.guess
    (data,) = data_presets([preset])
    return registry.load("validation", replace(data, file=str(path)), PathsConfig()), ""


def _named_elsewhere(sentence: str) -> str:
    """A sentence of the reader of files, with the way to give the options that it names."""
    if COLUMNS not in sentence:
        return sentence
    return f"{sentence}; figlang describe takes data.columns, and writes the YAML file that file= takes"


def _check_header(path: Path, header: tuple[str, ...], missing: list[str]) -> None:
    """Refuse a table of prompts in which a column was renamed or deleted: it is not a table of another
    form."""
    meant = {name.strip().casefold() for name in header} & set(PARTS)
    if len(meant) >= len(PARTS) - 1:
        raise FiglangError(
            f"{path}: no column {missing[0]!r} (found: {', '.join(filter(None, header))}); a table of "
            f"prompts needs {', '.join(PARTS)}"
        )


def _noted(path: Path, notes: Iterable[str]) -> Iterator[Fault]:
    """What the reader of a file noted, by the rows that it is about, if there are any."""
    for note in notes:
        found = re.match(r".+?(?: row |, each of rows )(\d+(?:, \d+)*): ", note)
        if found is None:
            yield Fault(path.name, "file", _named_elsewhere(note.removeprefix(f"{path.name}: ")))
        else:
            for row in found[1].split(", "):
                yield Fault(f"row {row}", "file", note[found.end() :])


def _pairs(path: Path) -> Drafts:
    problems = Problems(path, strict=False)
    items: list[Item] = []
    faults: list[Fault] = []
    blank, names = 0, set[str]()
    for number, row in read_csv(path, PARTS, problems):
        texts = {part: " ".join(row[part].split()) for part in PARTS}
        if not any(texts.values()):
            blank += 1
            continue
        name = row.get("id", "").strip() or f"row{number}"
        found = list(_faults(texts)) or ([("fields", "the id is in use above")] if name in names else [])
        faults += [Fault(f"row {number}", check, what) for check, what in found]
        if not found:
            names.add(name)
            items += _pair(name, row.get("writer", "").strip(), texts)
    faults += _noted(path, problems.found)
    return Drafts(tuple(items), tuple(faults), blank, sha256(path))


def _faults(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    if missing := [part for part in PARTS if not texts[part]]:
        yield "fields", f"{', '.join(missing)} {form(len(missing), 'is', 'are')} blank"
        return
    if fold(texts["metaphor1"]) == fold(texts["metaphor2"]):
        yield "metaphors", "both metaphors are the same"
    if fold(texts["meaning1"]) == fold(texts["meaning2"]):
        yield "meanings", "both meanings are the same"
    for metaphor in METAPHORS:
        for meaning in MEANINGS:
            if fold(texts[metaphor]) == fold(texts[meaning]):
                yield "meanings", f"{meaning} repeats {metaphor}"


def _pair(name: str, writer: str, texts: dict[str, str]) -> Iterator[Item]:
    """Both metaphors with both meanings; each meaning is right once.

    The name of the pair draws which meaning stands first. Otherwise the ids on a sheet for people would tell
    the right option: the first meaning, always of the first metaphor.
    """
    first, second = MEANINGS if int(digest(name)[0], 16) % 2 else MEANINGS[::-1]
    attributes = {"writer": (writer,)} if writer else {}
    for number, (part, right) in enumerate(zip(METAPHORS, MEANINGS, strict=True), start=1):
        gold = (first, second).index(right)
        yield Item(f"{name}-{number}", name, texts[part], (texts[first], texts[second]), gold, attributes)


def _alike(items: tuple[Item, ...]) -> Iterator[Fault]:
    """Items of a file of one's own of which nobody can choose the right option."""
    for item in items:
        options = [fold(option) for option in item.options]
        if len(set(options)) < len(options):
            yield Fault(item.id, "meanings", "two options are the same")
        elif fold(item.context) in options:
            yield Fault(item.id, "meanings", "an option repeats the context")


def _unswapped(items: tuple[Item, ...]) -> list[Fault]:
    """Pairs of a file of one's own whose right options do not swap."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return [
        Fault(group[0].id, "swap", f"has the options of {group[1].id}, and the same one is right in both")
        for group in groups.values()
        if len(group) == 2
        and set(group[0].options) == set(group[1].options)
        and group[0].options[group[0].gold or 0] == group[1].options[group[1].gold or 0]
    ]

"""Items as they come in: rows that writers filled in, or a file of one's own. Rows with faults are named."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figlang.config import DataConfig
from figlang.creation.prompts import MEANINGS, METAPHORS
from figlang.files.rows import Problems, read_csv
from figlang.files.sources import sha256
from figlang.files.tables import columns
from figlang.tasks.own import reading
from figlang.text.tidying import fold
from figlang.types import Item

PARTS = (*METAPHORS, *MEANINGS)


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
    """

    items: tuple[Item, ...]
    faults: tuple[Fault, ...]
    blank: int
    sha256: str


def read(path: Path) -> Drafts:
    """Read the items of a file.

    Args:
        path: A table of prompts that is filled in, in whole or in part, or any file that data= takes.

    Raises:
        FiglangError: The file cannot be read.
    """
    if path.suffix.lower() in (".csv", ".tsv") and path.is_file() and set(PARTS) <= set(columns(path)):
        return _pairs(path)
    split = reading.read("validation", DataConfig(name=path.stem, dataset="own", file=str(path))).split
    known = tuple(item for item in split.items if item.gold is not None)
    faults = [
        Fault(item.id, "fields", "the right option is hidden") for item in split.items if item.gold is None
    ]
    faults += [Fault(path.name, "file", note.removeprefix(f"{path.name}: ")) for note in split.notes]
    return Drafts(known, (*faults, *_unswapped(known)), 0, split.sha256)


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
    faults += [Fault(path.name, "file", note.removeprefix(f"{path.name}: ")) for note in problems.found]
    return Drafts(tuple(items), tuple(faults), blank, sha256(path))


def _faults(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    if missing := [part for part in PARTS if not texts[part]]:
        yield "fields", f"{', '.join(missing)} is blank"
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
    """Both metaphors with both meanings; each meaning is right once."""
    meanings = tuple(texts[part] for part in MEANINGS)
    attributes = {"writer": (writer,)} if writer else {}
    for gold, part in enumerate(METAPHORS):
        yield Item(f"{name}-{gold + 1}", name, texts[part], meanings, gold, attributes)


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

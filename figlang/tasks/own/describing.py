"""How a file of one's own is read: its columns, three items, and the YAML document that data= takes."""

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from figlang.config import DataConfig
from figlang.files.sources import local_path
from figlang.tables import Cell, Table
from figlang.tasks.own import documents, sources, unpaired
from figlang.tasks.own.reading import Read
from figlang.tasks.task import Explained
from figlang.types import Item

SHOWN = 3
FORMS = {
    "number": "number, the first option is 0",
    "number_from_1": "number, the first option is 1",
    "letter": "letter, the first option is A",
    "text": "text of the right option",
}


def explain(read: Read, data: DataConfig) -> Explained:
    """How a split was read.

    Args:
        read: The split with its columns.
        data: The group data of the command.
    """
    return Explained(_parts(read), _examples(read.split.items), _document(read, data))


def _parts(read: Read) -> Table:
    chosen = read.columns
    rows: list[tuple[Cell, ...]] = []
    for part, names, note in (
        ("context", chosen.context, ""),
        ("options", ", ".join(chosen.options), _widths(read.split.items)),
        ("gold", chosen.gold, FORMS[read.form]),
        ("cluster", chosen.cluster, ""),
        ("attributes", ", ".join(chosen.attributes), ""),
        ("id", chosen.id, f"{chosen.unfit}: is empty or repeats in some rows" if chosen.unfit else ""),
    ):
        how = "" if not names else "guessed" if part in chosen.guessed else "named"
        rows.append((part, names or "–", how, note))
    notes = () if chosen.cluster or read.fixed else (_clusters(read.split.items),)
    return Table(
        "columns", f"Columns of {read.split.source}", ("part", "column", "how", "form"), tuple(rows), notes
    )


def _clusters(items: Sequence[Item]) -> str:
    """What rows without a column of clusters depend on, and how many may depend on each other in truth. The
    reader of the split notes those that look like pairs."""
    said = "No column of clusters: rows with the same context are a cluster, all others are independent."
    _, sharing = unpaired.counts(items)
    if not sharing:
        return said
    return (
        f"{said} {sharing:,} rows share their options with a row of another cluster. If they depend on each "
        "other, name the column of their cluster by data.columns.cluster=COLUMN."
    )


def _widths(items: Sequence[Item]) -> str:
    widths = sorted({len(item.options) for item in items})
    return f"{widths[0]} options" if len(widths) == 1 else f"{widths[0]} to {widths[-1]} options"


def _examples(items: Sequence[Item]) -> str:
    lines: list[str] = []
    for item in items[:SHOWN]:
        lines.append(f"{item.id}: {item.context}")
        for place, option in enumerate(item.options):
            letter = ascii_uppercase[place] if place < len(ascii_uppercase) else place + 1
            lines.append(f"  {'*' if place == item.gold else ' '} ({letter}) {option}")
    return "\n".join([*lines, "", "* marks the right option.", ""])


def _document(read: Read, given: DataConfig) -> str:
    data, task = sources.settings(given)
    content: dict[str, Any] = {
        name: str(local_path(value).resolve())
        for name in documents.FILES
        if (value := getattr(data, name)) is not None
    }
    if data.hub is not None:
        folder = Path(data.hub).expanduser()
        content["hub"] = str(folder.resolve()) if folder.is_dir() else data.hub
    if task is None and not read.fixed:
        chosen = read.columns
        listed: str | list[str] = list(chosen.options)
        if len(chosen.options) == 1:
            listed = chosen.options[0]
        named = {
            "context": chosen.context,
            "options": listed,
            "gold": chosen.gold,
            "gold_as": read.form,
            "cluster": chosen.cluster,
            "attributes": list(chosen.attributes),
            "id": chosen.id,
        }
        content["columns"] = {name: value for name, value in named.items() if value}
    head = f"# {Path(read.split.source).name}: written by figlang describe\n"
    return head + documents.text(content)

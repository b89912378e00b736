"""Write a benchmark: items, splits, the YAML files that data= takes, the sheet for other people, the card."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.creation.checks import Checked
from figlang.files import folders
from figlang.files.whole import write_lines, write_text
from figlang.tables import Table, csv_text, markdown, markdown_text, write
from figlang.tasks.own import documents
from figlang.types import Item

KIND = "a benchmark"
DATA, PEOPLE, SHEET, CARD = "data.yaml", "people.yaml", "sheet.csv", "README.md"
SPLITS = ("train", "validation", "test")
FILES = f"""## Files

| file | what |
|---|---|
| `{DATA}` | the benchmark for figlang: `figlang evaluate data={DATA}` |
| `train.jsonl`, `validation.jsonl`, `test.jsonl` | the splits, those that have items |
| `items.jsonl` | all items that were kept; `{PEOPLE}` is its YAML |
| `dropped.jsonl` | the other items, each with its reason |
| `{SHEET}` | a sheet for other people: they write the number of an option into `choice` |
| `checks.csv` | all findings of the checks |
| `create.json` | settings, counts and findings |
"""


@dataclass(frozen=True)
class Card:
    """The texts of a data card: its title, the maker's own words, how it was made, and its tables."""

    title: str
    about: str
    made: str
    tables: Sequence[Table]


def build(
    folder: Path,
    found: Checked,
    splits: Mapping[str, Sequence[Item]],
    card: Card,
    content: Mapping[str, Any],
    seed: int,
) -> None:
    """Write everything, in place of an earlier version.

    Args:
        folder: Where it is written.
        found: The result of the checks.
        splits: The items of each split.
        card: The texts of the card.
        content: Settings, as plain data.
        seed: Seed of the order of the sheet.

    Raises:
        FiglangError: The folder holds another kind of result.
    """
    marked = {
        item.id: {**_row(item), **({"flagged": list(names)} if (names := found.flagged.get(item.id)) else {})}
        for item in found.kept
    }
    with folders.replaced(folder, KIND) as new:
        for name, some in splits.items():
            write_lines(new / f"{name}.jsonl", _lines(_row(item) for item in some))
        write_lines(new / "items.jsonl", _lines(marked.values()))
        write_lines(
            new / "dropped.jsonl", _lines({**_row(item), "reason": reason} for item, reason in found.dropped)
        )
        columns = _columns(found.kept)
        files = {name: f"{name}.jsonl" for name in SPLITS if name in splits}
        head = f"# {card.title}: written by figlang create\n"
        write_text(new / DATA, head + documents.text({**files, "columns": columns}))
        write_text(new / PEOPLE, head + documents.text({"file": "items.jsonl", "columns": columns}))
        write_text(new / SHEET, sheet(found.kept, seed))
        rows = [(fault.place, fault.check, fault.what) for fault in found.faults]
        write_text(new / "checks.csv", csv_text(("place", "check", "what"), rows))
        findings = {"flagged": dict(found.flagged), "near": found.near}
        write_text(
            new / "create.json", json.dumps({**content, **findings}, indent=1, ensure_ascii=False) + "\n"
        )
        parts = (
            f"# {markdown_text(card.title)}\n",
            card.about,
            *map(markdown, card.tables),
            card.made,
            FILES,
        )
        write_text(new / CARD, "\n".join(part for part in parts if part))
        write(card.tables, new / "tables")


def sheet(items: Sequence[Item], seed: int) -> str:
    """A sheet for one person, in random order, whose column `choice` is blank. Options are counted from 1."""
    order = list(items)
    random.Random(seed).shuffle(order)
    most = max((len(item.options) for item in items), default=0)
    options = [f"option{place}" for place in range(1, most + 1)]
    rows = [
        (item.id, item.context, *item.options, *[""] * (most - len(item.options)), "", "") for item in order
    ]
    return csv_text(("id", "text", *options, "choice", "rater"), rows)


def _row(item: Item) -> dict[str, Any]:
    content = {"id": item.id, "group": item.group, "context": item.context, "options": list(item.options)}
    attributes = {_attribute(name): list(values) for name, values in item.attributes.items()}
    return {**content, "gold": item.gold, **attributes}


def _attribute(name: str) -> str:
    """The column of an attribute. A name that another column has gets an underscore."""
    return f"{name}_" if name in ("id", "group", "context", "options", "gold", "flagged", "reason") else name


def _columns(items: Sequence[Item]) -> dict[str, Any]:
    named = {
        "context": "context",
        "options": "options",
        "gold": "gold",
        "gold_as": "number",
        "cluster": "group",
    }
    attributes = list(dict.fromkeys(_attribute(name) for item in items for name in item.attributes))
    return {**named, **({"attributes": attributes} if attributes else {}), "id": "id"}


def _lines(rows: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

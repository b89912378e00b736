"""Measured results: the CSV files of docs/results/ as tables, each row with how it was measured.

A measure is a column such as `accuracy`. Beside it there may be `accuracy low` and `accuracy high`, the ends
of its interval, and `accuracy sd`, a standard deviation. The last columns say how a row was measured. Shares
are in per cent.

`python -m docs.making.measured FOLDER table=NAME key=value …` adds the finished evaluation in FOLDER to a
table. The words `key=value` fill the columns that are text. A column may have the name of a value of a
breakdown, for example of a language.
"""

import csv
import json
import re
import sys
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from docs.making.rows import ROOT, interval, signed, table, text
from figlang.errors import FiglangError
from figlang.tables import markdown_code

RESULTS = ROOT / "docs" / "results"
HOW = ("command", "seed", "data", "figlang", "machine", "recorded", "note")
PARTS = (" low", " high", " sd")
NUMBER = re.compile(r"-?[\d.]+(e-?\d+)?")


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table of docs/results/, by column."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def columns(rows: list[dict[str, str]]) -> list[str]:
    """The columns that a reader sees: neither parts of a measure nor how it was measured."""
    return [
        column for column in rows[0] if column not in HOW and not any(column.endswith(part) for part in PARTS)
    ]


def cell(row: Mapping[str, str], column: str) -> str:
    """A measure with its deviation and interval, or a text."""
    value = row[column]
    if not NUMBER.fullmatch(value):
        return text(value)
    deviation = f" ± {row[f'{column} sd']}" if row.get(f"{column} sd") else ""
    low, high = row.get(f"{column} low", ""), row.get(f"{column} high", "")
    if deviation and low:
        return f"{signed(value)}{deviation} ({signed(low)} – {signed(high)})"
    return f"{signed(value)}{deviation}" if deviation else interval(value, low, high)


def measured(name: str) -> str:
    """A table of measured results, with how each row was measured folded below it.

    Args:
        name: Stem of a file in docs/results/.

    Returns:
        Markdown.
    """
    rows = read(name)
    shown = columns(rows)
    texts = max(1, len(list(takewhile(lambda column: _is_text(rows, column), shown))))
    cells = [[cell(row, column) for column in shown] for row in rows]
    alike = [column for column in HOW if len({row[column] for row in rows}) == 1 and rows[0][column]]
    apart = [column for column in HOW if len({row[column] for row in rows}) > 1]
    lines = [f"The file is [{name}.csv](/results/{name}.csv).", ""]
    lines += [f"- {column}: {_how(rows[0], column)}" for column in alike]
    if apart:
        how = [
            [text(" · ".join(row[column] for column in shown[:texts] if row[column]))]
            + [_how(row, column) for column in apart]
            for row in rows
        ]
        lines += ["", *table(["row", *apart], how, texts=1 + len(apart)).splitlines()]
    folded = "".join(f"    {line}".rstrip() + "\n" for line in lines)
    return f'{table(shown, cells, texts)}\n??? note "How each row was measured"\n\n{folded}'


def _is_text(rows: list[dict[str, str]], column: str) -> bool:
    return not any(NUMBER.fullmatch(row[column]) for row in rows)


def _how(row: Mapping[str, str], column: str) -> str:
    return markdown_code(row[column]) if column == "command" else text(row[column])


def row_of(folder: Path, given: Mapping[str, str], known: list[str]) -> dict[str, str]:
    """A row of a table from a finished evaluation.

    Args:
        folder: A folder with a metrics.json.
        given: The texts of the row.
        known: The columns of the table.

    Returns:
        The row.

    Raises:
        FiglangError: The table has no such column.
    """
    content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    backward = content.get("backward") or {}
    by = content["metrics"].get("accuracy_by", {})
    metrics: dict[str, dict[str, Any] | None] = {
        **{value: estimate for values in by.values() for value, estimate in values.items()},
        "accuracy": content["metrics"].get("accuracy"),
        "all items": content["metrics"].get("accuracy"),
        "pairs": content["metrics"].get("pair_accuracy"),
        "backward accuracy": backward.get("accuracy"),
        "backward pairs": backward.get("pair_accuracy"),
        "blind": (content.get("blind") or {}).get("accuracy"),
        "gain": content.get("gain"),
        "unread replies": (content.get("replies") or {}).get("invalid"),
    }
    row = dict.fromkeys(known, "")
    if odd := given.keys() - row.keys():
        raise FiglangError(f"{min(odd)}= is not a column; the columns are {', '.join(known)}")
    for name, estimate in metrics.items():
        if name in row and estimate is not None:
            parts = {"": "value", " low": "low", " high": "high"}
            row |= {
                f"{name}{end}": f"{100 * estimate[key]:.1f}"
                for end, key in parts.items()
                if f"{name}{end}" in row
            }
    row |= {
        "command": str(content["command"]),
        "seed": str(content["seed"]),
        "data": content["signature"].partition("|")[0].removeprefix("data:"),
        "figlang": content["versions"]["figlang"],
        "recorded": "metrics.json",
    }
    return row | dict(given)


def main() -> None:
    """Add an evaluation to a table."""
    folder, *words = sys.argv[1:]
    given = dict(word.split("=", 1) for word in words)
    name = given.pop("table")
    known = list(read(name)[0])
    row = row_of(Path(folder), given, known)
    with (RESULTS / f"{name}.csv").open("a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, known, lineterminator="\n").writerow(row)


if __name__ == "__main__":
    main()

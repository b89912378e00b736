"""Reading a table that a person made: every problem is reported with file, row and remedy."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from figlang.errors import FiglangError

BOM = b"\xef\xbb\xbf"


@dataclass
class Problems:
    """Row-level findings about one file. Strict mode turns the first into an error; otherwise all are kept as notes."""

    path: Path
    strict: bool
    found: list[str] = field(default_factory=list)

    def add(self, row: int | None, what: str, remedy: str) -> None:
        """Record a finding. `row` counts data rows from 1, the header not counted."""
        where = self.path.name if row is None else f"{self.path.name} row {row}"
        message = f"{where}: {what}; {remedy}"
        if self.strict:
            raise FiglangError(f"{message} (data.strict=true refuses the file; {self.path})")
        self.found.append(message)


def read_csv(path: Path, required: Sequence[str], problems: Problems) -> list[tuple[int, dict[str, str]]]:
    """Rows of a comma-separated file as (row number from 1, {column: text}).

    A byte-order mark and CRLF line ends are accepted and noted. Rows with too few or too many cells are noted and
    left out.

    Raises FiglangError for what no reader could repair: no such file, not UTF-8, a quote that is never closed, a missing column
    or one that occurs twice.
    """
    if not path.is_file():
        raise FiglangError(f"no such file: {path}")
    raw = path.read_bytes()
    if raw.startswith(BOM):
        problems.add(None, "starts with a byte-order mark, which was removed", "save it as UTF-8 without BOM")
        raw = raw.removeprefix(BOM)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FiglangError(f"{path}: line {line} is not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8") from error
    if "\r\n" in text:
        problems.add(None, "has CRLF line ends, which were read as line ends", "convert it with dos2unix")
    # strict: a quote that is never closed would otherwise take the rest of the file into one cell without a word.
    table = csv.reader(io.StringIO(text.replace("\r\n", "\n"), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(table, [])]
        missing = [name for name in required if name not in header]
        if missing:
            found = ", ".join(header) or "nothing"
            raise FiglangError(
                f"{path}: no column {', '.join(map(repr, missing))} (found: {found}); needed are {', '.join(required)}"
            )
        if twice := sorted({name for name in header if name and header.count(name) > 1}):
            raise FiglangError(f"{path}: column {', '.join(map(repr, twice))} occurs twice; rename or delete one")
        rows = []
        for number, cells in enumerate((cells for cells in table if cells), start=1):
            if len(cells) == len(header):
                rows.append((number, dict(zip(header, cells, strict=True))))
            else:
                problems.add(
                    number,
                    f"{len(cells)} cells under {len(header)} columns, row left out",
                    "quote cells that contain commas or line breaks",
                )
    except csv.Error as error:
        raise FiglangError(f"{path}: line {table.line_num} is not valid CSV ({error}); check its quotes") from error
    return rows

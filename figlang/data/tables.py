"""Reading a table that a person made: every problem is reported with file, row and remedy."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from figlang.errors import FiglangError

BOM = b"\xef\xbb\xbf"

# Number of the data row from 1, and its cells by column.
Row = tuple[int, dict[str, str]]


@dataclass
class Problems:
    """Row-level findings about one file. Strict mode turns the first into an error; otherwise all are kept as notes."""

    path: Path
    strict: bool
    found: list[str] = field(default_factory=list)
    _of_rows: list[str] = field(default_factory=list)

    def add(self, row: int | None, what: str, remedy: str) -> None:
        """Record a finding. `row` counts data rows from 1, the header not counted."""
        where = self.path.name if row is None else f"{self.path.name} row {row}"
        message = f"{where}: {what}; {remedy}"
        if self.strict:
            raise FiglangError(f"{message} (data.strict=true refuses the file; {self.path})")
        self.found.append(message)
        if row is not None:
            self._of_rows.append(message)

    def nothing_usable(self, otherwise: str) -> FiglangError:
        """The error of a file that has no usable row: why the first one is not, or what is wrong with the file, or `otherwise`."""
        return FiglangError(f"{self.path}: no usable row; {next(iter(self._of_rows + self.found), otherwise)}")


def read_csv(path: Path, required: Sequence[str], problems: Problems, delimiter: str = ",") -> list[Row]:
    """Rows of a comma-separated file as (row number from 1, {column: text}).

    A byte-order mark and CRLF line ends are accepted and noted. Rows with too few or too many cells are noted and
    left out.

    Raises FiglangError for what no reader could repair: no such file, not UTF-8, a quote that is never closed, a missing column
    or one that occurs twice.
    """
    # strict: a quote that is never closed would otherwise take the rest of the file into one cell without a word.
    table = csv.reader(io.StringIO(_text(path, problems), newline=""), delimiter=delimiter, strict=True)
    try:
        header = _header(path, next(table, []), required)
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


def read_tabs(path: Path, required: Sequence[str], problems: Problems) -> Iterator[Row]:
    """Rows of a tab-separated file without quoting, like those of `read_csv`.

    A row may end early, as long as it has the required cells: SNLI's and MultiNLI's rows name between one and five annotators.
    """
    lines = _text(path, problems).split("\n")
    header = _header(path, lines[0].split("\t"), required)
    for number, line in enumerate((line for line in lines[1:] if line), start=1):
        cells = line.split("\t")
        row = dict(zip(header, cells, strict=False))
        if len(cells) > len(header):
            problems.add(number, f"{len(cells)} cells under {len(header)} columns, row left out", "leave no tab inside a cell")
        elif missing := [name for name in required if name not in row]:
            problems.add(number, f"no cell under {', '.join(missing)}, row left out", "separate cells by tabs")
        else:
            yield number, row


def read_json_lines(path: Path, problems: Problems) -> Iterator[Row]:
    """Rows of a file with a JSON object on every line; numbers become text, null, lists and objects are left out."""
    for number, line in enumerate((line for line in _text(path, problems).split("\n") if line.strip()), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            problems.add(number, f"not valid JSON ({error}), row left out", "write one JSON object on each line")
            continue
        if isinstance(row, dict):
            yield number, {name: str(value) for name, value in row.items() if isinstance(value, str | int | float)}
        else:
            problems.add(number, "not a JSON object, row left out", "write one JSON object on each line")


def read_aligned(paths: Mapping[str, Path], problems: Problems) -> Iterator[Row]:
    """Rows of files whose lines belong together, one file for each column.

    Raises FiglangError if they have different numbers of lines.
    """
    columns = {name: _text(path, problems).removesuffix("\n").split("\n") for name, path in paths.items()}
    counts = {name: len(lines) for name, lines in columns.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{paths[name].name} has {count} lines" for name, count in counts.items())
        raise FiglangError(f"{next(iter(paths.values())).parent}: {listed}; line-aligned files need the same number")
    for number, cells in enumerate(zip(*columns.values(), strict=True), start=1):
        yield number, dict(zip(columns, cells, strict=True))


def _text(path: Path, problems: Problems) -> str:
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
    return text.replace("\r\n", "\n")


def _header(path: Path, cells: Sequence[str], required: Sequence[str]) -> list[str]:
    header = [name.strip() for name in cells]
    missing = [name for name in required if name not in header]
    if missing:
        found = ", ".join(filter(None, header)) or "nothing"
        raise FiglangError(f"{path}: no column {', '.join(map(repr, missing))} (found: {found}); needed are {', '.join(required)}")
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        raise FiglangError(f"{path}: column {', '.join(map(repr, twice))} occurs twice; rename or delete one")
    return header

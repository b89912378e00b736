"""Read tables that people made. Every problem is reported with its file, its row and what to do."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic_core import from_json
from rich.console import Console
from rich.progress import open as open_with_bar

from figlang.errors import FiglangError
from figlang.files.missing import no_such_file

BOM = b"\xef\xbb\xbf"
# Notes of one kind that are kept in full. A million of them would help nobody and would fill metrics.json.
NOTED = 25
# Larger files, in bytes, take some seconds to read.
SHOWS_BAR = 16 * 2**20
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# First bytes of files that people often mistake for UTF-8 text, and what such files are.
NOT_TEXT = {
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}

# Number of the data row, from 1, and its cells by column.
Row = tuple[int, dict[str, str]]


@dataclass
class Problems:
    """Problems in the rows of one file: kept as notes, or raised as an error in strict mode.

    With `whole`, every row is needed: a problem of a row is an error, and one of the file, for example a
    byte-order mark, is a note.
    """

    path: Path
    strict: bool
    whole: bool = False
    # Sentences, and problems of rows as (what, remedy), each at the place of its first row.
    _notes: list[str | tuple[str, str]] = field(default_factory=list)
    _rows: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    # By remedy: the number of problems, and the first and last row of those that are not kept in full.
    _counts: dict[str, int] = field(default_factory=dict)
    _more: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, row: int | None, what: str, remedy: str) -> None:
        """Record a problem.

        Args:
            row: Number of the data row, from 1 after the header; None if the problem is the file's.
            what: What is wrong.
            remedy: What to do. Problems of one kind have the same remedy.

        Raises:
            FiglangError: In strict mode, or for a row that is needed.
        """
        if self.whole and row is not None:
            raise FiglangError(f"{self._message([row], what, remedy)} ({self.path})")
        if self.strict:
            message = self._message([] if row is None else [row], what, remedy)
            raise FiglangError(f"{message} (data.strict=true refuses the file; {self.path})")
        self._counts[remedy] = self._counts.get(remedy, 0) + 1
        if row is not None and self._counts[remedy] > NOTED:
            self._more[remedy] = (self._more.get(remedy, (row, row))[0], row)
            return
        if row is None:
            self._notes.append(self._message([], what, remedy))
        elif (problem := (what, remedy)) in self._rows:
            self._rows[problem].append(row)
        else:
            self._rows[problem] = [row]
            self._notes.append(problem)

    def _message(self, rows: Sequence[int], what: str, remedy: str) -> str:
        if len(rows) > 1:
            where = f"{self.path.name}, each of rows {', '.join(map(str, rows))}"
        else:
            where = " row ".join([self.path.name, *map(str, rows)])
        return f"{where}: {what}; {remedy}"

    def note(self, sentence: str) -> None:
        """Record a fact that is not a problem. Strict mode accepts it."""
        self._notes.append(sentence)

    @property
    def found(self) -> list[str]:
        """The notes. Rows with the same problem are one note. It names the first NOTED rows of a kind, and
        one more note counts the others."""
        notes = [
            note if isinstance(note, str) else self._message(self._rows[note], *note) for note in self._notes
        ]
        more = [
            f"{self.path.name}: {self._counts[remedy] - NOTED} more such rows, from row {first} to row "
            f"{last}; {remedy}"
            for remedy, (first, last) in self._more.items()
        ]
        return [*notes, *more]

    def nothing_usable(self, otherwise: str) -> FiglangError:
        """The error for a file without a usable row.

        Args:
            otherwise: What is wrong, if no problem was recorded.

        Returns:
            An error with the first problem of a row, or else of the file, or else `otherwise`.
        """
        first = next((self._message(rows[:1], *problem) for problem, rows in self._rows.items()), None)
        return FiglangError(f"{self.path}: no usable row; {first or next(iter(self.found), otherwise)}")


def read_csv(path: Path, required: Sequence[str], problems: Problems) -> list[Row]:
    """Read all rows of `csv_rows` into a list."""
    return list(csv_rows(path, required, problems))


def csv_rows(
    path: Path, required: Sequence[str], problems: Problems, delimiter: str | None = None
) -> Iterator[Row]:
    """Read the rows of a table whose cells are separated by commas, semicolons or tabs.

    CRLF line ends are accepted, and a byte-order mark with a note. A row with too few or too many cells is
    left out, with a note.

    Args:
        path: A CSV file in UTF-8.
        required: Columns that the header must have.
        problems: Takes the notes.
        delimiter: The character between cells; None finds it in the header.

    Yields:
        The number of each row, from 1, and its cells by column.

    Raises:
        FiglangError: If the file is missing or is not UTF-8, if a quote is never closed, or if a column is
            missing or occurs twice.
    """
    lines = _lines(path, problems, newline="")
    first = next(lines, "")
    delimiter = delimiter or _delimiter(first, required)
    # strict: otherwise, a quote that is never closed would silently put the rest of the file into one cell.
    table = csv.reader(chain((first,), lines), delimiter=delimiter, strict=True)
    try:
        header = _header(path, next(table, []), required)
        for number, cells in enumerate((cells for cells in table if cells), start=1):
            if len(cells) == len(header):
                yield number, dict(zip(header, cells, strict=True))
            else:
                problems.add(
                    number,
                    f"{len(cells)} cells under {len(header)} columns, row left out",
                    f"quote cells that contain {SEPARATORS[delimiter]} or line breaks",
                )
    except csv.Error as error:
        raise FiglangError(
            f"{path}: line {table.line_num} is not valid CSV ({error}); check its quotes"
        ) from error


def read_tabs(
    path: Path,
    required: Sequence[str],
    problems: Problems,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8-sig",
) -> Iterator[Row]:
    """Read the rows of a tab-separated file without quotes, as `csv_rows` gives them.

    A row may end early if it has the required cells. In some files, rows name one to five annotators.

    Args:
        path: The file.
        required: Columns that every row has.
        problems: Collects what is wrong with rows.
        columns: The columns of a file without a header; None: they stand in its first line.
        encoding: The encoding of the file, if it is known to be another than UTF-8.
    """
    lines = (line.removesuffix("\n") for line in _lines(path, problems, encoding=encoding))
    header = list(columns) if columns else _header(path, next(lines, "").split("\t"), required)
    for number, line in enumerate((line for line in lines if line), start=1):
        cells = line.split("\t")
        row = dict(zip(header, cells, strict=False))
        if len(cells) > len(header):
            problems.add(
                number,
                f"{len(cells)} cells under {len(header)} columns, row left out",
                "leave no tab inside a cell",
            )
        elif missing := [name for name in required if name not in row]:
            problems.add(
                number, f"no cell under {', '.join(missing)}, row left out", "separate cells by tabs"
            )
        else:
            yield number, row


def read_json_lines(path: Path, problems: Problems) -> Iterator[Row]:
    """Read rows from a file with one JSON object on each line.

    Numbers become text. Values that are null, lists or objects are left out.
    """
    for number, row in json_objects(path, problems):
        yield (
            number,
            {name: str(value) for name, value in row.items() if isinstance(value, str | int | float)},
        )


def json_objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file with one JSON object on each line. Values are as they are written."""
    for number, line in enumerate((line for line in _lines(path, problems) if line.strip()), start=1):
        try:
            row = from_json(line)
        except ValueError as error:
            problems.add(
                number, f"not valid JSON ({error}), row left out", "write one JSON object on each line"
            )
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.add(number, "not a JSON object, row left out", "write one JSON object on each line")


def whole_json(path: Path) -> Any:
    """Read a file that is one JSON value.

    Raises:
        FiglangError: The file is missing, is not UTF-8, or is not JSON.
    """
    text = "".join(_lines(path, Problems(path, strict=False)))
    try:
        return from_json(text)
    except ValueError as error:
        raise FiglangError(f"{path} is not valid JSON ({error}); correct it, or write it again") from error


def read_aligned(paths: Mapping[str, Path], problems: Problems) -> Iterator[Row]:
    """Read rows from files whose lines belong together: each file is one column.

    Args:
        paths: The file of each column.
        problems: Takes the notes.

    Raises:
        FiglangError: If the files have different numbers of lines.
    """
    columns = {
        name: "".join(_lines(path, problems)).removesuffix("\n").split("\n") for name, path in paths.items()
    }
    counts = {name: len(lines) for name, lines in columns.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{paths[name].name} has {count} lines" for name, count in counts.items())
        raise FiglangError(
            f"{next(iter(paths.values())).parent}: {listed}; line-aligned files need the same number"
        )
    for number, cells in enumerate(zip(*columns.values(), strict=True), start=1):
        yield number, dict(zip(columns, cells, strict=True))


def _lines(path: Path, problems: Problems, newline: str = "\n", encoding: str = "utf-8-sig") -> Iterator[str]:
    """Read the lines of a text file, with their ends. `newline` and `encoding` are arguments of `open`.

    A large file shows a progress bar on a terminal.
    """
    if not path.is_file():
        raise no_such_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise FiglangError(f"{path} cannot be read ({error.strerror}); give another file") from error
    if kind := next((kind for magic, kind in NOT_TEXT.items() if start.startswith(magic)), None):
        raise FiglangError(f"{path}: line 1 is not UTF-8 (this is {kind}); save the table as CSV in UTF-8")
    if start.startswith(BOM):
        problems.add(None, "starts with a byte-order mark, which was removed", "save it as UTF-8 without BOM")
    console = Console(stderr=True)
    terminal = console.is_terminal and console.file.isatty()  # FORCE_COLOR makes no terminal of a file
    quiet = not terminal or path.stat().st_size < SHOWS_BAR
    with open_with_bar(
        path, "rb", description=path.name, console=console, transient=True, disable=quiet
    ) as binary:
        try:
            for line in io.TextIOWrapper(binary, encoding=encoding, newline=newline):
                yield line[:-2] + "\n" if line.endswith("\r\n") else line
        except UnicodeDecodeError:
            raise _not_utf8(path) from None


def _not_utf8(path: Path) -> FiglangError:
    # The file is read again, because a decoder that reads in pieces does not know its place in the file.
    raw = path.read_bytes()
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return FiglangError(
            f"{path}: line {line} is not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8"
        )
    return FiglangError(f"{path} changed while it was read; run the command again")


def _delimiter(header: str, required: Sequence[str]) -> str:
    """The character that splits the header into the most required columns or, if none is required, into the
    most cells. Commas win a tie."""

    def known(delimiter: str) -> int:
        if not required:
            return header.count(delimiter)
        return len({name.strip().strip('"').strip() for name in header.split(delimiter)} & set(required))

    return max(SEPARATORS, key=known)


def _header(path: Path, cells: Sequence[str], required: Sequence[str]) -> list[str]:
    header = [name.strip() for name in cells]
    missing = [name for name in required if name not in header]
    if missing:
        columns = ", ".join(filter(None, header)) or "nothing"
        meant = [
            f"rename {close} to {name}"
            for name in missing
            if (close := _close(name, [column for column in header if column not in required]))
        ]
        advice = "; ".join(["", *meant])
        raise FiglangError(
            f"{path}: no column {', '.join(map(repr, missing))} (found: {columns}); needed are "
            f"{', '.join(required)}{advice}"
        )
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        raise FiglangError(f"{path}: column {', '.join(map(repr, twice))} occurs twice; rename or delete one")
    return header


def _close(name: str, header: Sequence[str]) -> str | None:
    folded = {column.lower(): column for column in header}
    return next((folded[column] for column in get_close_matches(name, folded, n=1, cutoff=0.75)), None)

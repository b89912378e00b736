"""What the commands of this folder share."""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path

from figlang.config.refusals import refuse
from figlang.errors import FiglangError


def in_one_line(main: Callable[[], None]) -> Callable[[], None]:
    """The command, which ends with the errors of figlang in one line, as figlang's own commands do."""

    @wraps(main)
    def run() -> None:
        try:
            main()
        except FiglangError as error:
            refuse(error)

    return run


def write_rows(output: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write the rows of a benchmark as a CSV file whose columns are those of the first row."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

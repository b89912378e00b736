"""Rows of a table in Fig-QA's form, from any source: usable rows, repeated rows, and pairs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, csv_rows, read_json_lines
from figlang.files.rows import Row as FileRow
from figlang.text import damaged
from figlang.text.amounts import form
from figlang.text.tidying import plain, same
from figlang.types import Item

TEXTS = ("startphrase", "ending1", "ending2")
COLUMNS = (*TEXTS, "labels")
HIDDEN = -1
LABEL = re.compile(r"(-?[0-9]{1,9})(?:\.0*)?")
# One for all items: an empty dictionary for each of a million would take 64 MB.
NOTHING: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """A row that can be used. `options` are the endings as in the file. `endings` are normalised, to compare
    them."""

    number: int
    id: str
    phrase: str
    options: tuple[str, str]
    endings: tuple[str, str]
    label: int
    qid: str

    @property
    def gold(self) -> int | None:
        return None if self.label == HIDDEN else self.label

    @property
    def answer(self) -> str | None:
        return None if self.gold is None else self.endings[self.gold]


def label(cell: str) -> int | None:
    """The number in a label's cell, or None. Programs that mark empty cells by NaN write 0 and 1 as 0.0 and
    1.0."""
    number = LABEL.fullmatch(cell.strip())
    return None if number is None else int(number[1])


def check_base(path: Path, labels: Iterable[int | None]) -> None:
    """Raises FiglangError if labels count the endings from 1. Labels 1 and 2 read as 0 and 1 would name wrong
    answers."""
    found = set(labels)
    if 2 in found and 0 not in found:
        raise FiglangError(
            f"{path}: the labels count from 1 (there is a 2, but no 0); write 0 for ending1 and 1 for ending2"
        )


def usable(path: Path, problems: Problems, distinct: bool | None) -> Iterator[Row]:
    """Yield the rows that can be used, and note the others.

    Labelled rows that repeat an earlier one are left out if `distinct` is True, only counted if it is False,
    and not looked for if it is None. Raises FiglangError after the last row if the labels count from 1.
    """
    ids: set[str] = set()
    labels: set[int | None] = set()
    repeats = None if distinct is None else _Repeats(problems, distinct)
    for number, cells in _table(path, problems):
        if number == 1:
            _check_columns(cells, problems)
        empty = [name for name in COLUMNS if not cells[name].strip()]
        found = label(cells["labels"])
        labels.add(found)
        if empty:
            problems.add(number, f"empty {', '.join(empty)}, row left out", "fill the cell or delete the row")
        elif found not in (0, 1, HIDDEN):
            problems.add(
                number, f"label {_quoted(cells)}, row left out", "use 0 (ending1), 1 (ending2) or -1 (hidden)"
            )
        elif (named := cells.get("id")) and named in ids:
            problems.add(number, f"id {named!r} occurs twice, row left out", "give every row its own id")
        else:
            if named:
                ids.add(named)
            if sign := damaged.found(cells[name] for name in TEXTS):
                problems.add(number, f"holds the character {sign}, kept", damaged.REMEDY)
            if word := damaged.absent(cells[name] for name in TEXTS):
                problems.add(number, f"a text is {word!r}, kept", damaged.FILL)
            options = cells["ending1"].strip(), cells["ending2"].strip()
            endings = plain(options[0]), plain(options[1])
            identifier = named or f"{path.stem}-{number}"
            row = Row(
                number,
                identifier,
                cells["startphrase"].strip(),
                options,
                endings,
                found,
                cells.get("qid", ""),
            )
            if repeats is None or not repeats.leaves_out(row):
                yield row
    check_base(path, labels)
    if repeats is not None:
        repeats.note()


def items(rows: Iterable[Row], problems: Problems) -> Iterator[Item]:
    """Make items of rows. Two neighbours with the same endings and different answers are a pair; a row
    without a partner is noted."""
    first: Row | None = None
    for row in rows:
        if first is None:
            first = row
        elif _is_pair(first, row):
            yield from _pair(first, row, problems)
            first = None
        else:
            yield _single(first, problems)
            first = row
    if first is not None:
        yield _single(first, problems)


def aligned(items: Sequence[Item]) -> Iterator[Item]:
    """Give both items of a pair the order of options of its first item, so that the same answer is the same
    option."""
    before: Item | None = None
    for item in items:
        if (
            before is not None
            and before.group == item.group
            and item.gold is not None
            and _swapped(before.options, item.options)
        ):
            yield replace(item, options=item.options[::-1], gold=1 - item.gold)
        else:
            yield item
        before = item


class _Repeats:
    """Counts rows that repeat an earlier row. It stores digests, since a million texts would need too much
    memory."""

    def __init__(self, problems: Problems, distinct: bool) -> None:
        self.problems, self.distinct = problems, distinct
        self.known: dict[bytes, int] = {}
        self.answers: dict[bytes, int] = {}
        self.count = 0
        self.example = (0, 0)

    def leaves_out(self, row: Row) -> bool:
        question = _digest(plain(row.phrase), *sorted(row.endings))
        whole = _digest(
            plain(row.phrase), *sorted(row.endings), "" if row.answer is None else f"= {row.answer}"
        )
        if (earlier := self.known.get(whole)) is not None:
            self.count += 1
            self.example = self.example if self.count > 1 else (row.number, earlier)
            # A file of labels, and a submission, go by the rows of a hidden split.
            return self.distinct and row.answer is not None
        self.known[whole] = row.number
        answered = row.answer is not None and row.endings[0] != row.endings[1]
        if answered and (opposite := self.answers.setdefault(question, row.number)) != row.number:
            what = f"says the opposite of row {opposite} about the same text and endings, kept"
            self.problems.add(row.number, what, "correct one of the labels")
        return False

    def note(self) -> None:
        if self.count:
            again, earlier = self.example
            done = "left out (data.drop_duplicates=false keeps them)" if self.distinct else "kept"
            rows = form(self.count, "row repeats", "rows repeat")
            counted = f"{self.count} {rows} an earlier row (row {again} repeats row {earlier})"
            self.problems.note(f"{self.problems.path.name}: {counted}, {done}")


def _digest(*texts: str) -> bytes:
    return blake2b("\0".join(texts).encode(), digest_size=16).digest()


def _table(path: Path, problems: Problems) -> Iterator[FileRow]:
    """The rows of a table (.csv, .tsv), or of a file with a JSON object on each line (.jsonl)."""
    if path.suffix.lower() != ".jsonl":
        yield from csv_rows(path, COLUMNS, problems)
        return
    for number, cells in read_json_lines(path, problems):
        if missing := [name for name in COLUMNS if name not in cells]:
            keys = ", ".join(COLUMNS)
            problems.add(
                number, f"no {', '.join(missing)}, row left out", f"give every object the keys {keys}"
            )
        else:
            yield number, cells


def _check_columns(cells: Mapping[str, str], problems: Problems) -> None:
    if unread := sorted(name for name in cells if name.startswith("ending") and name not in COLUMNS):
        problems.add(
            None,
            f"column {', '.join(unread)} is not read, an item has two endings",
            "keep the two that are to be told apart",
        )


def _quoted(cells: Mapping[str, str]) -> str:
    is_text = [name for name in ("ending1", "ending2") if same(cells["labels"], cells[name])]
    return repr(cells["labels"][:40]) + (f", the text of {is_text[0]}" if is_text else "")


def _is_pair(first: Row, second: Row) -> bool:
    both_hidden = first.label == second.label == HIDDEN
    if first.endings == second.endings[::-1] != second.endings:
        return both_hidden or first.answer != second.answer
    equal = [ours == theirs for ours, theirs in zip(first.endings, second.endings, strict=True)]
    # One pair of train_xl.csv differs by a misspelling; qid alone would join about 80 pairs of strangers.
    same_qid = first.qid != "" and first.qid == second.qid
    return (both_hidden or first.label != second.label) and (all(equal) or (any(equal) and same_qid))


def _swapped(first: Sequence[str], second: Sequence[str]) -> bool:
    if first == second:
        return False  # without a look at how they are written
    ours, theirs = [plain(text) for text in first], [plain(text) for text in second]
    return ours == theirs[::-1] and ours != theirs


def _pair(first: Row, second: Row, problems: Problems) -> Iterator[Item]:
    # Partners share the text of an ending that both have: a third of a large file.
    shared = [
        ours if ours == theirs else theirs for ours, theirs in zip(first.options, second.options, strict=True)
    ]
    pair = [
        _item(first, first.id, first.options, problems),
        _item(second, first.id, (shared[0], shared[1]), problems),
    ]
    if first.endings == second.endings[::-1] != second.endings and second.gold is not None:
        problems.note(
            f"{problems.path.name} row {second.number}: has the endings of its partner, row {first.number}, "
            "in the other order; read in the order of its partner"
        )
    yield from aligned(pair)


def _single(row: Row, problems: Problems) -> Item:
    problems.add(
        row.number,
        "has no partner with the same endings, kept as a single item",
        "put the rows of a pair next to each other",
    )
    return _item(row, row.id, row.options, problems)


def _item(row: Row, group: str, options: tuple[str, str], problems: Problems) -> Item:
    if options[0] == options[1]:
        problems.add(row.number, "its two endings are equal, so no choice can be right", "correct an ending")
    return Item(row.id, group, row.phrase, options, row.gold, NOTHING)

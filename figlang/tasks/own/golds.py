"""The right option of a row: its number, its letter or its text."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import regex

from figlang.errors import FiglangError
from figlang.text.tidying import plain

HIDDEN = -1
FORMS = ("number", "letter", "text")
_NUMBER = regex.compile(r"(-?[0-9]{1,9})(?:\.0*)?")
_LETTER = regex.compile(r"\(?([A-Za-z])[).:]?")


def number(value: Any) -> int | None:
    """A whole number that is written as a number or as text; None for anything else."""
    if isinstance(value, bool):
        return None
    found = _NUMBER.fullmatch(text(value))
    return None if found is None else int(found[1])


def text(value: Any) -> str:
    """A cell as text. A list of one value is that value. A number that is not one (NaN) is an empty cell."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    return "" if value is None or value != value else str(value).strip()


def hidden(value: Any) -> bool:
    """Whether a cell says that the right option is not known."""
    return number(value) == HIDDEN


def place(value: Any, options: Sequence[str], form: str) -> int | None:
    """The place of the right option.

    Args:
        value: The cell.
        options: The options of the row.
        form: `number`, `number_from_1`, `letter` or `text`.

    Returns:
        The place from 0; None if the cell names no option in this form.
    """
    if form == "text":
        same = [one for one, option in enumerate(options) if plain(option) == plain(text(value))]
        return same[0] if same else None
    if form == "letter":
        letter = _LETTER.fullmatch(text(value))
        found = None if letter is None else ascii_uppercase.index(letter[1].upper())
    else:
        found = number(value)
        found = found - 1 if found is not None and form == "number_from_1" else found
    return found if found is not None and 0 <= found < len(options) else None


def form_of(rows: Sequence[tuple[Any, Sequence[str]]], where: str, column: str) -> str:
    """The form in which a column names right options.

    Args:
        rows: The cell and the options of every row.
        where: The name of the file, for errors.
        column: The name of the column, for errors.

    Returns:
        `number`, `letter` or `text`: the form in which most cells name an option.

    Raises:
        FiglangError: Numbers count from 1, two forms name different options, or no cell names an option.
    """
    known = [(value, options) for value, options in rows if text(value) and not hidden(value)]
    if not known:
        return FORMS[0]
    places = {form: [place(value, options, form) for value, options in known] for form in FORMS}
    _check_base(known, places, where, column)
    counts = {form: sum(one is not None for one in found) for form, found in places.items()}
    best = max(FORMS, key=lambda form: counts[form])
    if not counts[best]:
        shown = text(known[0][0])[:40]
        raise FiglangError(
            f"{where}: the column {column!r} names no option ({shown!r} in the first row); it must hold a "
            "number from 0, a letter or the text of an option: name another by data.columns.gold=COLUMN"
        )
    _check_forms(known, places, counts, best, where, column)
    return best


def _check_base(
    known: Sequence[tuple[Any, Sequence[str]]],
    places: Mapping[str, Sequence[int | None]],
    where: str,
    column: str,
) -> None:
    numbers = [(number(value), len(options)) for value, options in known]
    if any(found is None for found, _ in numbers) or all(one is not None for one in places["text"]):
        return
    if all(found != 0 for found, _ in numbers) and any(found == count for found, count in numbers):
        highest = max(found for found, _ in numbers if found is not None)
        raise FiglangError(
            f"{where}: the numbers of {column!r} count from 1 (there is a {highest}, but no 0); write 0 for "
            "the first option, or give data.columns.gold_as=number_from_1"
        )


def _check_forms(
    known: Sequence[tuple[Any, Sequence[str]]],
    places: Mapping[str, Sequence[int | None]],
    counts: Mapping[str, int],
    best: str,
    where: str,
    column: str,
) -> None:
    """Refuse cells that can be read in two ways, for example where the options are numbers."""
    for other in FORMS:
        if other == best or counts[other] < counts[best]:
            continue
        for (value, _), one, two in zip(known, places[best], places[other], strict=True):
            if one != two:
                raise FiglangError(
                    f"{where}: {text(value)!r} in the column {column!r} can be a {best} or a {other} of an "
                    f"option; give data.columns.gold_as={best} or {other}"
                )

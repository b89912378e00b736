"""Parts of a row of another tool: a value at a place, the gold option, scores."""

from collections.abc import Mapping, Sequence
from math import isfinite
from string import ascii_uppercase
from typing import Any

from figlang.errors import FiglangError

OPTIONS = 1000  # of an item at most: scores are made for every option up to the one that a row names
LARGEST = 10**18


def at(row: Mapping[str, Any], place: str) -> Any:
    """The value at `key` or at `key.key` of nested objects; None if there is none."""
    value: Any = row
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def identifier(row: Mapping[str, Any], places: Sequence[str], where: str) -> str:
    """The first value that is there of these places, as text.

    Raises:
        FiglangError: There is none.
    """
    for place in places:
        value = at(row, place)
        if isinstance(value, str) and value:
            return value
        if type(value) is int and abs(value) < LARGEST:  # longer ones cannot be written as text
            return str(value)
    raise FiglangError(f"{where} has no {' or '.join(places)}; name the column of ids by join=COLUMN")


def option(value: Any, options: Sequence[str] = ()) -> int | None:
    """The option that a value names: its number from 0, its letter, or its text. None if it names none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < OPTIONS else None
    text = str(value).strip()
    if text in options:
        return options.index(text)
    digits = text.removesuffix(".0")  # a program that marks empty cells by NaN wrote it
    if digits.isdecimal():
        return int(digits) if len(digits) < len(str(OPTIONS)) else None
    return ascii_uppercase.index(text) if len(text) == 1 and text in ascii_uppercase else None


def one_hot(choice: int | None, width: int) -> tuple[float, ...]:
    """Scores that say no more than a choice. Without a choice all are equal, and a tie is wrong."""
    return tuple(float(place == choice) for place in range(width))


def scores(values: Any, where: str) -> tuple[float, ...]:
    """A list of finite numbers.

    Raises:
        FiglangError: It is something else.
    """
    try:
        numbers = tuple(float(value) for value in values) if isinstance(values, list) else ()
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if len(numbers) < 2 or not all(map(isfinite, numbers)):
        raise FiglangError(f"{where} has no list of two finite scores or more; give a choice instead")
    return numbers

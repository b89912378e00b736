"""Items made of the rows of a table of one's own."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from figlang.files.rows import Problems
from figlang.files.tables import Record
from figlang.statistics.metrics import ORDERS
from figlang.tasks.own import golds, options
from figlang.tasks.own.columns import Chosen
from figlang.tasks.pairs import is_pair, lone
from figlang.text import damaged
from figlang.text.amounts import counted, form
from figlang.text.tidying import plain
from figlang.types import Item

GOLD_REMEDY = {
    "number": "write the number of the right option from 0, or -1 if it is hidden",
    "number_from_1": "write the number of the right option from 1, or -1 if it is hidden",
    "letter": "write the letter of the right option, or -1 if it is hidden",
    "text": "write the text of the right option as it stands in its column, or -1 if it is hidden",
}


NONE: dict[str, tuple[str, ...]] = {}  # the attributes of all items that have none


@dataclass(frozen=True)
class Made:
    """How rows become items: their columns, the form of the right option, the start of their names, and
    whether texts stay as they are."""

    columns: Chosen
    form: str
    stem: str
    distinct: bool = True
    cut: bool = False


def of(records: list[Record], made: Made, problems: Problems) -> tuple[Item, ...]:
    """Make items of rows. Rows that cannot be used are noted and left out.

    Args:
        records: The rows. The list is emptied on the way, to save memory.
        made: How they become items.
        problems: Takes the notes.

    Returns:
        The items. Items with the same cluster or, without a column for it, with the same context have one
        group. A cluster is a pair if its items have the same options and different right ones.
    """
    distinct = _distinct(_usable(_taken(records), made, problems), made.distinct, problems)
    found = tuple(_grouped(distinct, made, problems))
    asked = sum(item.context.rstrip().endswith("?") for item in found)
    if asked and not made.cut:
        problems.note(
            f"{problems.path.name}: {asked} {form(asked, 'context ends', 'contexts end')} with a "
            "question mark, which text=clean replaces by "
            "a period; scoring.text=raw and method.text=raw keep it"
        )
    return found


def _taken(records: list[Record]) -> Iterator[Record]:
    records.reverse()
    while records:
        yield records.pop()


def _usable(
    records: Iterable[Record], made: Made, problems: Problems
) -> Iterator[tuple[int, Mapping[str, Any], Item]]:
    names: set[str] = set()
    columns = made.columns
    for number, row in records:
        context = golds.text(row.get(columns.context))
        listed = options.of(row, columns.options)
        cell = None if columns.gold is None else row.get(columns.gold)
        name = golds.text(row.get(columns.id)) if columns.id else ""
        gold = (
            None if columns.gold is None or golds.hidden(cell) else golds.place(cell, listed or (), made.form)
        )
        if not context:
            problems.add(number, f"empty {columns.context}, row left out", "fill the cell or delete the row")
        elif listed is None:
            problems.add(
                number,
                f"no options in {', '.join(columns.options)}, row left out",
                "write a list of texts, or fill every cell before the last option",
            )
        elif len(listed) < options.FEWEST:
            problems.add(number, f"{len(listed)} option(s), row left out", "give each row 2 options or more")
        elif columns.gold is not None and gold is None and not golds.hidden(cell):
            problems.add(
                number,
                f"{columns.gold} {golds.text(cell)[:40]!r} is not one of {len(listed)} options, row left out",
                GOLD_REMEDY[made.form],
            )
        elif name and name in names:
            problems.add(number, f"id {name!r} occurs twice, row left out", "give every row its own id")
        else:
            names.add(name)
            if sign := damaged.found((context, *listed)):
                problems.add(number, f"holds the character {sign}, kept", damaged.REMEDY)
            if word := damaged.absent((context, *listed)):
                problems.add(number, f"a text is {word!r}, kept", damaged.FILL)
            if len(set(map(plain, listed))) < len(listed):
                problems.add(number, "two of its options are equal, kept", "correct an option")
            identifier = name or f"{made.stem}-{number}"
            attributes = {
                called(name): values for name in columns.attributes if (values := _values(row.get(name)))
            } or NONE
            yield (
                number,
                row,
                Item(identifier, identifier, context, listed, gold, attributes, cut=made.cut, paired=False),
            )


def called(column: str) -> str:
    """The attribute of a column. An item that is asked in several orders has an attribute `order` or
    `letter`, so a column of such a name gets another one."""
    return f"own {column}" if column in ORDERS else column


def _values(cell: Any) -> tuple[str, ...]:
    several = cell if isinstance(cell, list | tuple) else [cell]
    return tuple(text for value in several if (text := golds.text(value)))


def _distinct(
    rows: Iterable[tuple[int, Mapping[str, Any], Item]], drop: bool, problems: Problems
) -> Iterator[tuple[Mapping[str, Any], Item]]:
    first: dict[bytes, tuple[int, str]] = {}  # by text and options: the first row, and its right option
    others: dict[tuple[bytes, str], int] = {}  # rows with another right option than the first
    repeated, example = 0, (0, 0)
    for number, row, item in rows:
        if item.gold is not None:
            asked, answer = _digest(item.context, *sorted(map(plain, item.options))), item.options[item.gold]
            earlier, right = first.setdefault(asked, (number, answer))
            if plain(right) != plain(answer):
                earlier = others.setdefault((asked, plain(answer)), number)
                if earlier == number:
                    about = f"than row {first[asked][0]} about the same text and options"
                    problems.add(number, f"has another right option {about}, kept", "correct one of them")
            if earlier != number:
                repeated += 1
                example = example if repeated > 1 else (number, earlier)
                if drop:
                    continue
        yield row, item
    if repeated:
        done = "left out (data.drop_duplicates=false keeps them)" if drop else "kept"
        problems.note(
            f"{problems.path.name}: {repeated} {form(repeated, 'row repeats', 'rows repeat')} an "
            f"earlier row (row {example[0]} repeats row {example[1]}), {done}"
        )


def _digest(*texts: str) -> bytes:
    return blake2b("\0".join(map(plain, texts)).encode(), digest_size=16).digest()


def _grouped(rows: Iterable[tuple[Mapping[str, Any], Item]], made: Made, problems: Problems) -> list[Item]:
    column = made.columns.cluster
    clusters: dict[str, list[int]] = defaultdict(list)
    others: dict[str, list[int]] = defaultdict(list)  # by context: rows without a name of a cluster
    items: list[Item] = []
    for place, (row, item) in enumerate(rows):
        key = golds.text(row.get(column)) if column else ""
        (clusters[key] if key else others[plain(item.context)]).append(place)
        items.append(item)
    for key, places in clusters.items():
        paired = is_pair([items[place] for place in places])
        for place in places:
            items[place] = replace(items[place], group=key, paired=paired)
    for places in others.values():
        group = lone(items[places[0]].id, clusters)
        for place in places:
            items[place] = replace(items[place], group=group, paired=False)
    for key in sorted(damaged.ABSENT & clusters.keys()):
        problems.note(
            f"{problems.path.name}: {counted(len(clusters[key]), 'row')} with {key!r} in {column} are one "
            "cluster; empty these cells if the rows belong to none"
        )
    return items

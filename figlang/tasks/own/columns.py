"""The columns of a file of one's own: those that are named, and guesses for the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import regex

from figlang.config import ColumnsConfig
from figlang.errors import FiglangError
from figlang.tasks.own import golds, options
from figlang.text.tidying import plain

Rows = Sequence[Mapping[str, Any]]

# Names of columns that say what they hold, the surest first.
CONTEXTS = (
    *("startphrase", "context", "premise", "contexto", "question", "pregunta", "frage", "query", "stem"),
    *("sentence", "frase", "phrase", "satz", "input", "prompt", "text", "texto", "passage", "ctx"),
    *("metaphor", "idiom", "proverb", "simile"),  # beside a sentence, the expression that stands in it
)
LISTS = ("options", "choices", "choices.text", "endings", "answers", "opciones", "candidates", "alternatives")
PREFIXES = ("option", "options", "choice", "choices", "ending", "answer", "opcion", "opción", "alternative")
GOLDS = (
    *("gold", "label", "labels", "answer", "answerkey", "answer_key", "correct", "correct_answer", "right"),
    *("target", "respuesta", "correcta", "solution", "gold_label", "answer_idx", "correct_option"),
)
CLUSTERS = ("cluster", "group", "pair", "pair_id", "pairid", "qid", "grupo", "par")
IDS = ("id", "uid", "uuid", "idx", "index", "item_id", "question_id", "name", "key")
MOST_VALUES = 20  # of a column that is a category
SHORTEST_GUESS = 0.9  # share of the rows that a guess by content must be right for
_MEMBER = regex.compile(r"(.*?)[ _.\-]?([0-9]{1,2}|\p{L})")


@dataclass(frozen=True)
class Chosen:
    """The columns that are read. `options` holds one column with lists, or the columns with one option each.

    `guessed` are the parts that nobody named. `unfit` is a column of ids whose cells are empty or repeat.
    `rivals` are columns that a guessed context may be as well, and that no part is read from.
    """

    context: str
    options: tuple[str, ...]
    gold: str | None = None
    gold_as: str = "auto"
    cluster: str | None = None
    attributes: tuple[str, ...] = ()
    id: str | None = None
    unfit: str | None = field(default=None, compare=False)
    guessed: tuple[str, ...] = field(default=(), compare=False)
    rivals: tuple[str, ...] = field(default=(), compare=False)

    def words(self) -> str:
        """The columns in one line: `context=…,options=…`."""
        shown = {spec.name: getattr(self, spec.name) for spec in fields(self) if spec.compare}
        return ",".join(
            f"{name}={'+'.join(value) if isinstance(value, tuple) else value}"
            for name, value in shown.items()
            if value and value != "auto"
        )


def choose(given: ColumnsConfig, rows: Rows, where: str) -> Chosen:
    """Find the columns of a table.

    Args:
        given: The columns that are named.
        rows: All rows.
        where: The name of the file, for errors.

    Returns:
        The columns.

    Raises:
        FiglangError: A column that is named does not exist, or a part cannot be guessed.
    """
    # Programs that write the numbers of rows leave the header of that column blank.
    names = list(dict.fromkeys(name for row in rows for name in row if name))
    listed = [given.options] if isinstance(given.options, str) else list(given.options or ())
    named = [given.context, *listed, given.gold, given.cluster, *given.attributes, given.id]
    for name in filter(None, named):
        if name not in names:
            meant = "".join(f"did you mean {close}? " for close in get_close_matches(name, names, n=1))
            raise FiglangError(f"{where}: no column {name!r}; {meant}the columns are {', '.join(names)}")
    free = [name for name in names if name not in named]

    def take(part: str, found: str | None) -> str | None:
        if found is not None:
            free.remove(found)
            guessed.append(part)
        return found

    guessed: list[str] = []
    columns = tuple(listed)
    if not columns:
        columns = _options(free, rows, where)
        free = [name for name in free if name not in columns]
        guessed.append("options")
    gold = given.gold or take("gold", _gold(free, rows, columns))
    context = given.context or take("context", _context(free, rows))
    if context is None:
        raise _unknown("context", where, names)
    identifier = given.id or take("id", _named(free, IDS, lambda name: _all_different(rows, name)))
    unfit = None if identifier else _named(free, IDS[:1])
    cluster = given.cluster or take("cluster", _named(free, CLUSTERS, lambda name: _repeats(rows, name)))
    attributes = tuple(given.attributes)
    if not attributes and (attributes := tuple(name for name in free if _is_category(rows, name))):
        guessed.append("attributes")
    left = [name for name in free if name not in attributes and name != unfit]
    rivals = tuple(_alike(left, rows)) if "context" in guessed else ()
    return Chosen(
        context, columns, gold, given.gold_as, cluster, attributes, identifier, unfit, tuple(guessed), rivals
    )


def _unknown(part: str, where: str, names: Sequence[str]) -> FiglangError:
    example = "[a,b,c]" if part == "options" else "COLUMN"
    return FiglangError(
        f"{where}: no column looks like the {part}; name it by data.columns.{part}={example} (the columns "
        f"are {', '.join(names)})"
    )


def _named(
    free: Sequence[str], names: Sequence[str], fits: Callable[[str], bool] = lambda name: True
) -> str | None:
    """The free column with the surest name that also fits."""
    folded = {name.lower().strip(): name for name in reversed(free)}
    return next((folded[name] for name in names if name in folded and fits(folded[name])), None)


def _options(free: Sequence[str], rows: Rows, where: str) -> tuple[str, ...]:
    lists = [name for name in free if _share(rows, name, lambda value: options.listed(value) is not None)]
    if lists:
        return (_named(lists, LISTS) or lists[0],)
    families = _families(free)
    known = [prefix for prefix in PREFIXES if prefix in families]
    if known:
        return families[known[0]]
    if len(families) == 1:
        return next(iter(families.values()))
    if len(families) > 1:
        shown = " or ".join(f"[{','.join(members)}]" for members in families.values())
        raise FiglangError(f"{where}: the options may be {shown}; name them by data.columns.options=[…]")
    raise _unknown("options", where, free)


def _families(free: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns whose names differ by a last number or letter that counts up: {name before it: columns}."""
    found: dict[str, dict[int, str]] = {}
    for name in free:
        member = _MEMBER.fullmatch(name)
        if member is not None:
            last = member[2]
            count = int(last) if last.isdecimal() else ord(last.lower()) - ord("a") + 1
            kind = "" if last.isdecimal() else " "  # option1 and option_a are not of one family
            found.setdefault(member[1].lower() + kind, {})[count] = name
    families: dict[str, tuple[str, ...]] = {}
    for prefix, members in found.items():
        places = sorted(members)
        if len(places) > 1 and places[0] in (0, 1) and all(two - one == 1 for one, two in pairwise(places)):
            families.setdefault(prefix.strip(), tuple(members[place] for place in places))
    return families


def _gold(free: Sequence[str], rows: Rows, columns: Sequence[str]) -> str | None:
    read = [options.of(row, columns) or () for row in rows]

    def share(name: str) -> float:
        values = [(row.get(name), some) for row, some in zip(rows, read, strict=True) if some]
        right = [
            golds.hidden(value)
            or any(golds.place(value, some, form) is not None for form in (*golds.FORMS, "number_from_1"))
            for value, some in values
        ]
        return sum(right) / len(right) if right else 0.0

    if (name := _named(free, GOLDS, lambda name: share(name) > 0)) is not None:
        return name
    fitting = [name for name in free if share(name) >= SHORTEST_GUESS]
    return fitting[0] if len(fitting) == 1 else None


def _context(free: Sequence[str], rows: Rows) -> str | None:
    texts = [name for name in free if _share(rows, name, lambda value: isinstance(value, str))]
    # A question that is the same in every row is not what an item is about.
    if (name := _named(_alike(texts, rows), CONTEXTS) or _named(texts, CONTEXTS)) is not None:
        return name
    # The longest texts: names, categories and sources are short.
    lengths = {name: sum(len(str(row.get(name, ""))) for row in rows) / len(rows) for name in texts}
    return max(lengths, key=lambda name: lengths[name]) if lengths and max(lengths.values()) >= 8 else None


def _alike(free: Sequence[str], rows: Rows) -> list[str]:
    """The columns with the name of a context, and with texts that differ."""
    return [
        name
        for name in free
        if name.lower().strip() in CONTEXTS and len(set(map(str, _values(rows, name)))) > 1
    ]


def _share(rows: Rows, name: str, fits: Callable[[Any], bool]) -> bool:
    values = list(_values(rows, name))
    return bool(values) and sum(map(fits, values)) / len(values) >= SHORTEST_GUESS


def _values(rows: Rows, name: str) -> Iterator[Any]:
    return (row[name] for row in rows if row.get(name) not in (None, ""))


def _all_different(rows: Rows, name: str) -> bool:
    values = [golds.text(value) for value in _values(rows, name)]
    return len(values) == len(rows) == len(set(values))


def _repeats(rows: Rows, name: str) -> bool:
    values = [golds.text(value) for value in _values(rows, name)]
    return 1 < len(set(values)) < len(values)


def _is_category(rows: Rows, name: str) -> bool:
    values = [plain(golds.text(value)) for value in _values(rows, name) if not isinstance(value, list)]
    different = set(values)
    return bool(
        1 < len(different) <= MOST_VALUES
        and len(different) * 2 <= len(values)
        and max(map(len, different)) <= 40
    )

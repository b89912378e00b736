"""Items and predictions as dictionaries, and dictionaries as items and predictions.

A dictionary has a key for each field. Every other key is an attribute: a category, or several in a list.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from figlang.errors import FiglangError
from figlang.tasks.pairs import is_pair, lone
from figlang.types import Inference, Item, Marked, Prediction

Record = dict[str, Any]
ITEM = ("id", "group", "context", "options", "gold", "paired", "cut", "hypothesis", "target", "blank")
PREDICTION = ("id", "group", "gold", "choice", "correct", "scores", "paired")


def _with_attributes(record: Record, attributes: Mapping[str, Sequence[str]]) -> Record:
    """A row with its attributes as further keys.

    Args:
        record: The fields.
        attributes: The values of each attribute.

    Returns:
        The row; an attribute with one value is text, one with several a list.
    """
    named = {name: values[0] if len(values) == 1 else list(values) for name, values in attributes.items()}
    return {**named, **record}


def attributes(record: Mapping[str, Any], fields: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The attributes of a row: all keys but the fields.

    Args:
        record: The row.
        fields: The names of fields.

    Returns:
        The values of each attribute that the row has.
    """
    known = set(fields)
    found = {name: _values(value) for name, value in record.items() if name not in known}
    return {str(name): values for name, values in found.items() if values}


def _values(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable):
        return tuple(map(str, value))
    return () if missing(value) else (str(value),)


def missing(value: Any) -> bool:
    """Whether a cell holds no value: None, nan, or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def of_item(item: Item) -> Record:
    """An item as a dictionary, which `read_items` reads."""
    fields: Record = {
        "id": item.id,
        "group": item.group,
        "context": item.context,
        "options": list(item.options),
        "gold": item.gold,
        "paired": item.paired,
    }
    if item.cut:
        fields["cut"] = True
    if isinstance(item, Inference):
        fields["hypothesis"] = item.hypothesis
    if isinstance(item, Marked):
        fields |= {"target": list(item.target), "blank": item.blank}
    return _with_attributes(fields, item.attributes)


def of_prediction(row: Prediction) -> Record:
    """A prediction as a dictionary, which `read_predictions` reads."""
    fields: Record = {
        "id": row.id,
        "group": row.group,
        "gold": row.gold,
        "choice": row.choice,
        "correct": row.correct,
        "scores": list(row.scores),
        "paired": row.paired,
    }
    return _with_attributes(fields, row.attributes)


def read_items(records: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Items from dictionaries; the keys are those of `figlang.items`.

    Args:
        records: A dictionary for each item.

    Returns:
        The items, in their order.

    Raises:
        FiglangError: One is not an item.
    """
    read: list[Item] = []
    known: set[str] = set()
    widths: dict[str, int] = {}
    told: set[str] = set()  # groups of which a record says whether they are pairs
    rows = list(_several_records(records))
    clusters = _clusters(rows)
    for place, record in enumerate(rows):
        item = _item(record, place, clusters)
        if item.id in known:
            raise FiglangError(f"record {place}: the id {item.id} is that of an earlier one; give other ids")
        known.add(item.id)
        if _given(record, "paired", None) is not None:
            told.add(item.group)
        other = widths.setdefault(item.group, len(item.options)) != len(item.options)
        if other and item.paired and item.group in told:
            raise FiglangError(
                f"record {place} has {len(item.options)} options, but its group {item.group} has "
                f"{widths[item.group]}; give a pair as many, or set paired to False"
            )
        read.append(item)
    if not read:
        raise FiglangError("there are no records; give a dictionary with context and options for each item")
    return _paired(read, told)


def _paired(read: Sequence[Item], told: AbstractSet[str]) -> list[Item]:
    """The items, where the items of a group that is not a pair are not paired, unless a record says it."""
    groups: dict[str, list[Item]] = {}
    for item in read:
        groups.setdefault(item.group, []).append(item)
    odd = {
        group
        for group, members in groups.items()
        if group not in told and len(members) > 1 and not is_pair(members)
    }
    return [replace(item, paired=False) if item.group in odd else item for item in read]


def read_predictions(records: Iterable[Mapping[str, Any]]) -> list[Prediction]:
    """Predictions from dictionaries with `id`, `scores` and the other keys of `of_prediction`.

    Args:
        records: A dictionary for each prediction. `choice` and `correct` follow from the scores. Fields of
            the item, for example its context, are passed over.

    Returns:
        The predictions, in their order. A group of more items than an item has options is not a pair, since
        another option is right in each item of a pair, unless a record says that it is.

    Raises:
        FiglangError: One is not a prediction.
    """
    read: list[Prediction] = []
    known: set[str] = set()
    told: set[str] = set()
    rows = list(_several_records(records))
    clusters = _clusters(rows)
    for place, record in enumerate(rows):
        _check_dictionary(record, place, "prediction")
        name, scores = _name(record, place), _several(record, "scores", place)
        if name in known:
            raise FiglangError(f"record {place}: the id {name} is that of an earlier one; give other ids")
        known.add(name)
        try:
            numbers = tuple(float(score) for score in scores)
        except (TypeError, ValueError, OverflowError) as error:
            raise FiglangError(f"record {place}: a score is not a number; give numbers in scores") from error
        group = _group(record, place, lone(name, clusters))
        if _given(record, "paired", None) is not None:
            told.add(group)
        read.append(
            Prediction(
                name,
                group,
                _gold(record, place, len(numbers)),
                numbers,
                attributes(record, (*PREDICTION, *ITEM)),
                _yes(record, "paired", place, True),
            )
        )
    if not read:
        raise FiglangError("there are no records; give a dictionary with id and scores for each prediction")
    sizes = Counter(row.group for row in read if row.group not in told)
    return [replace(row, paired=False) if sizes[row.group] > len(row.scores) else row for row in read]


def _item(record: Mapping[str, Any], place: int, clusters: AbstractSet[str]) -> Item:
    _check_dictionary(record, place, "item")
    options = _several(record, "options", place)
    if not all(isinstance(option, str) and option.strip() for option in options) or len(options) < 2:
        raise FiglangError(f"record {place}: options must be a list of at least two texts")
    if not isinstance(context := _needed(record, "context", place), str):
        raise FiglangError(f"record {place}: context must be text")
    name = _name(record, place, default=f"{place}")
    fields: dict[str, Any] = {
        "id": name,
        "group": _group(record, place, lone(name, clusters)),
        "context": context,
        "options": tuple(options),
        "gold": _gold(record, place, len(options)),
        "attributes": attributes(record, ITEM),
        "cut": _yes(record, "cut", place, False),
    }
    if (hypothesis := _given(record, "hypothesis", None)) is not None:
        if not isinstance(hypothesis, str):
            raise FiglangError(f"record {place}: hypothesis must be text")
        return Inference(**fields, paired=_yes(record, "paired", place, False), hypothesis=hypothesis)
    if _given(record, "target", None) is not None:
        return Marked(
            **fields,
            paired=_yes(record, "paired", place, False),
            target=_target(record, place, len(context)),
            blank=_yes(record, "blank", place, False),
        )
    return Item(**fields, paired=_yes(record, "paired", place, True))


def _several_records(records: Any) -> Iterable[Any]:
    if not isinstance(records, Iterable) or isinstance(records, Mapping):
        raise FiglangError(f"a list of dictionaries is wanted, not {type(records).__name__}")
    return records


def _clusters(records: Iterable[Any]) -> AbstractSet[str]:
    """The groups that records name. No other record gets one of these, whatever its name is."""
    named = (_given(record, "group", None) for record in records if isinstance(record, Mapping))
    return {str(group) for group in named if group is not None}


def _check_dictionary(record: Any, place: int, noun: str) -> None:
    if not isinstance(record, Mapping):
        raise FiglangError(f"record {place} is {type(record).__name__}; give a dictionary for each {noun}")


def _given(record: Mapping[str, Any], key: str, default: Any) -> Any:
    value = record.get(key)
    return default if missing(value) else value


def _yes(record: Mapping[str, Any], key: str, place: int, default: bool) -> bool:
    value = _given(record, key, default)
    if value not in (False, True):  # 0 and 1 are equal to these; the text "False" would count as yes
        raise FiglangError(f"record {place}: {key}={value!r} is not True or False; give one of them")
    return bool(value)


def _target(record: Mapping[str, Any], place: int, letters: int) -> tuple[int, int]:
    try:
        start, end = map(int, _several(record, "target", place))
    except (TypeError, ValueError, OverflowError):
        start = end = -1
    if not 0 <= start <= end <= letters:
        raise FiglangError(
            f"record {place}: target={record['target']} is not a place in its context of {letters} letters; "
            "give the first letter of the word, from 0, and the one after its last"
        )
    return start, end


def _name(record: Mapping[str, Any], place: int, default: str = "") -> str:
    if not (name := str(_given(record, "id", default))):
        raise FiglangError(f"record {place} has no id; give each one a name")
    return name


def _group(record: Mapping[str, Any], place: int, default: str) -> str:
    if not (group := str(_given(record, "group", default))):
        raise FiglangError(f"record {place}: group is empty; give a name, or leave it out")
    return group


def _needed(record: Mapping[str, Any], key: str, place: int) -> Any:
    if key not in record:
        about = f"its keys are {', '.join(map(str, record))}" if record else "it is empty"
        raise FiglangError(f"record {place} has no {key}; {about}")
    return record[key]


def _several(record: Mapping[str, Any], key: str, place: int) -> Sequence[Any]:
    value: Any = _needed(record, key, place)
    # The members of a set have no order, so that no place is that of the right option.
    odd = isinstance(value, str | Mapping | AbstractSet)
    if odd or not hasattr(value, "__len__") or not len(value):
        raise FiglangError(f"record {place}: {key} must be a list")
    return list(value)


def _gold(record: Mapping[str, Any], place: int, options: int) -> int | None:
    value = _given(record, "gold", None)
    if value is None:
        return None
    # Compared, since not every number of a library is an int, and infinity cannot be made one.
    if isinstance(value, bool | str) or value not in range(options):
        raise FiglangError(
            f"record {place}: gold={value} is not a place among {options} options; give 0 to {options - 1}, "
            "or leave it out where the label is hidden"
        )
    return int(value)

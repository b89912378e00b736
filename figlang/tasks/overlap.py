"""Find training text in evaluation items by n-grams of words, as Brown et al. 2020 (GPT-3, appendix C) do.

Words are compared in lower case without punctuation, by Unicode's rules. In scripts without spaces,
CHARACTERS characters count as a word. A text of n words or more overlaps if n words in a row are also in a
row in a training text. A shorter text, such as most metaphors, overlaps if a training text has exactly the
same words. Texts of fewer than SHORTEST words are common phrases and are left out. A context has a
near-duplicate if the similarity of a training context, as sets of words, is ALIKE or more. Results hold ids,
never text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from figlang.statistics import metrics
from figlang.statistics.metrics import Estimate
from figlang.text.likeness import Twins, Words, per_word, token_set, tokens, words
from figlang.types import Inference, Item, Prediction, Split

N = 8
SHORTEST = 3
ALIKE = 0.75  # Jaccard similarity


@dataclass(frozen=True)
class Overlap:
    """One evaluation split against the training items.

    `context` maps the id of each item whose context overlaps to the id of a training item with the same text.
    `option` does so for options. `near` maps the id of an item to that of the training item with the most
    similar context. If a sentence is cut at a blank, its options are whole sentences and count as context.
    """

    data: str
    split: str
    sha256: str
    items: int
    context: Mapping[str, str]
    option: Mapping[str, str]
    near: Mapping[str, str]


def check(
    train: Split,
    evaluated: Sequence[tuple[str, str, Split]],
    n: int = N,
    before: Sequence[Split] = (),
    taught: Sequence[Split] | None = None,
) -> dict[str, Any]:
    """Search for contamination. The result is part of metrics.json.

    Args:
        train: The training split of the last stage.
        evaluated: Names of data, roles and splits.
        n: Words in a row that count as overlap.
        before: The training splits of earlier stages.
        taught: The training splits of its teachers; None without teachers.

    Returns:
        Counts and ids, as JSON takes them.
    """
    stages = [*before, train]
    others = _others(stages, taught or ())
    # What is evaluated is small; all n-grams of a large training set would fill the memory.
    wanted = {key for _, _, split in evaluated for item in split.items for key in every(item, n)}
    near = [_Near(split) for _, _, split in evaluated]
    known: dict[Words, str] = {}
    for item in (item for split in (*stages, *others) for item in split.items):
        for part, text in texts(item):
            found = words(text)
            for key in _runs(found, n):
                if key in wanted:
                    known.setdefault(key, item.id)
            if part == "context":
                some = token_set(found)
                for each in near:
                    each.see(item.id, some)
    overlaps = [
        asdict(against(known, data, role, split, n, each.found()))
        for (data, role, split), each in zip(evaluated, near, strict=True)
    ]
    dropped = [name for stage in stages for name in stage.dropped]
    about = {
        "n": n,
        "shortest": SHORTEST,
        "alike": ALIKE,
        "stages": len(stages),
        "training_items": sum(len(one.items) for one in stages),
        **({} if taught is None else {"teacher_items": sum(len(one.items) for one in others)}),
    }
    return about | {"dropped": dropped, "evaluated": overlaps}


def _others(stages: Sequence[Split], taught: Sequence[Split]) -> list[Split]:
    """The items of teachers that the model itself was not trained on, each once."""
    known = {(item.context, frozenset(item.options)) for stage in stages for item in stage.items}
    found = []
    for split in taught:
        own = {(item.context, frozenset(item.options)): item for item in split.items}
        found.append(replace(split, items=tuple(item for key, item in own.items() if key not in known)))
        known |= own.keys()
    return found


def against(
    known: Mapping[Words, str], data: str, role: str, split: Split, n: int, near: Mapping[str, str]
) -> Overlap:
    """The items of a split that hold a key of `known`, which maps keys to training items, and their
    near-duplicates.

    Args:
        known: Training items by their words.
        data: Name of the data.
        role: Role of the split.
        split: The split.
        n: Words in a row that count as overlap.
        near: Near-duplicates by the item's id.
    """
    found: dict[str, dict[str, str]] = {"context": {}, "option": {}}
    for item in split.items:
        for part, text in texts(item):
            same = next((known[key] for key in keys(text, n) if key in known), None)
            if same is not None:
                found[part].setdefault(item.id, same)
    return Overlap(data, role, split.sha256, len(split.items), near=near, **found)


class _Near:
    """The near-duplicates in a split, among the training contexts that were seen."""

    def __init__(self, split: Split, least: float = ALIKE) -> None:
        self._owners: list[str] = []
        sets: dict[str, frozenset[str]] = {}
        for item in split.items:
            for context in contexts(item):
                if len(some := tokens(context)) >= SHORTEST:
                    sets[str(len(self._owners))] = some
                    self._owners.append(item.id)
        self._twins = Twins(sets, least)

    def see(self, trained_id: str, some: frozenset[str]) -> None:
        """Compare the tokens of one training context with the split."""
        if some:
            self._twins.see(trained_id, some)

    def found(self) -> dict[str, str]:
        """By the item's id, the training item with the most similar context."""
        pairs = sorted(self._twins.found.items(), key=lambda pair: (-pair[1][1], int(pair[0])))
        near: dict[str, str] = {}
        for place, (theirs, _) in pairs:
            near.setdefault(self._owners[int(place)], theirs)
        return near


def near_duplicates(stages: Sequence[Split], split: Split, least: float = ALIKE) -> dict[str, str]:
    """The near-duplicates in a split: by the item's id, the training item with the most similar context."""
    near = _Near(split, least)
    for item in (item for stage in stages for item in stage.items):
        for context in contexts(item):
            near.see(item.id, tokens(context))
    return near.found()


def by_cleanness(found: Mapping[str, Any], predictions: Sequence[Prediction]) -> dict[str, Estimate | None]:
    """Accuracy on the whole of a split, on its clean items, and on the others.

    An item is clean if its context neither overlaps with a training text nor has a near-duplicate.

    Args:
        found: One of the `evaluated` of `check`.
        predictions: Of that split, by item id.

    Returns:
        The estimates; None where there is no such item.
    """
    touched = found["context"].keys() | found["near"].keys()
    clean = [one for one in predictions if one.id not in touched]
    others = [one for one in predictions if one.id in touched]
    return {
        name: metrics.accuracy(some) if some else None
        for name, some in (("whole", predictions), ("clean", clean), ("others", others))
    }


def every(item: Item, n: int) -> Iterator[Words]:
    """The keys of all texts of an item."""
    for _, text in texts(item):
        yield from keys(text, n)


def contexts(item: Item) -> list[str]:
    """The texts of an item that count as its context."""
    return [text for part, text in texts(item) if part == "context"]


def texts(item: Item) -> Iterator[tuple[str, str]]:
    """The texts of an item, each as context or option."""
    if item.cut:
        yield from (("context", f"{item.context} {option}") for option in item.options)
        return
    yield "context", item.context
    if isinstance(item, Inference):  # its options are names of classes
        yield "option", item.hypothesis
    else:
        yield from (("option", option) for option in item.options)


def keys(text: str, n: int) -> list[Words]:
    """Every n words in a row; all words of a shorter text; nothing of a text of fewer than SHORTEST words."""
    return _runs(words(text), n)


def _runs(found: Words, n: int) -> list[Words]:
    """The keys of a text, from its words."""
    size = per_word(found)
    if len(found) < min(SHORTEST, n) * size:
        return []
    return [found[start : start + n * size] for start in range(max(1, len(found) - n * size + 1))]

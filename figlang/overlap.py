"""Training text that evaluation items hold too: n-grams of words, as Brown et al. 2020 (GPT-3, appendix C) look for contamination.

Compared are lower-case words without punctuation. Of a text with n words or more, any n in a row that a training text has in a
row too count as overlap. Shorter texts, as most of Fig-QA's are, count if a training text consists of the same words; texts of
fewer than SHORTEST words are common phrases and are left out. Found are ids, never text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from figlang.types import Inference, Item, Split

N = 8
SHORTEST = 3

Words = tuple[str, ...]


@dataclass(frozen=True)
class Overlap:
    """One evaluation split against the training items.

    `context` and `option` map the id of an item whose context (an option of which) overlaps to the id of a training item that
    holds the same. The options of a sentence cut at its blank are whole sentences, and count as context.
    """

    data: str
    split: str
    sha256: str
    items: int
    context: Mapping[str, str]
    option: Mapping[str, str]


def check(train: Split, evaluated: Sequence[tuple[str, str, Split]], n: int = N) -> dict[str, Any]:
    """What metrics.json says about contamination. `evaluated` are names of data, roles and splits; `n` is in words."""
    # What is evaluated is small; all n-grams of a large training set would fill the memory.
    wanted = {key for _, _, split in evaluated for item in split.items for key in every(item, n)}
    known: dict[Words, str] = {}
    for item in train.items:
        for key in every(item, n):
            if key in wanted:
                known.setdefault(key, item.id)
    found = [asdict(against(known, data, role, split, n)) for data, role, split in evaluated]
    return {"n": n, "shortest": SHORTEST, "dropped": list(train.dropped), "evaluated": found}


def against(known: Mapping[Words, str], data: str, role: str, split: Split, n: int) -> Overlap:
    """The items of a split that hold a key of `known`, which maps keys to training items."""
    found: dict[str, dict[str, str]] = {"context": {}, "option": {}}
    for item in split.items:
        for part, text in texts(item):
            same = next((known[key] for key in keys(text, n) if key in known), None)
            if same is not None:
                found[part].setdefault(item.id, same)
    return Overlap(data, role, split.sha256, len(split.items), **found)


def every(item: Item, n: int) -> Iterator[Words]:
    """The keys of all texts of an item."""
    for _, text in texts(item):
        yield from keys(text, n)


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
    words = tuple(re.findall(r"\w+(?:['’]\w+)*", text.lower().replace("’", "'")))
    if len(words) < min(SHORTEST, n):
        return []
    return [words[start : start + n] for start in range(max(1, len(words) - n + 1))]

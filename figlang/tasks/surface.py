"""Baselines without a model: rules that use only lengths, words and frequencies.

A benchmark that such a rule solves does not measure understanding. Words are found by Unicode's word
boundaries (UAX #29). In scripts that do not separate words, every character is a word.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import regex

from figlang.machine import bars
from figlang.statistics.metrics import Estimate, accuracy
from figlang.text.tidying import plain
from figlang.types import Inference, Item, Prediction

# WORD: \b is a word boundary of Unicode, which does not cut Devanagari at its vowel signs as a boundary
# between \w and \W does.
BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)

Scores = tuple[float, ...]
Feature = Callable[[Item], Scores]


@dataclass(frozen=True)
class Baseline:
    """Accuracy of a rule. It cannot decide `ties` items, which count as wrong. `decided` is the accuracy on
    the others."""

    rule: str
    accuracy: Estimate
    ties: int
    decided: Estimate | None


def measure(items: Sequence[Item], training: Iterable[Item] = ()) -> list[Baseline]:
    """The baselines of items with a known answer, best first; empty without any.

    Args:
        items: The items to choose for.
        training: Items of the training split, for the frequency rule.
    """
    known = [item for item in items if item.gold is not None]
    found: list[Baseline | None] = []
    if known and not isinstance(known[0], Inference):  # whose options are names of classes
        for (most, least), feature in FEATURES.items():
            scores = [feature(item) for item in bars.track(known, most)]
            found.append(_baseline(most, known, scores))
            found.append(_baseline(least, known, [tuple(-score for score in each) for each in scores]))
    counts = Counter(_folded(item.options[item.gold]) for item in training if item.gold is not None)
    if counts:
        scores = [tuple(float(counts[_folded(option)]) for option in item.options) for item in known]
        found.append(_baseline("right most often in training", known, scores))
    found.append(
        _baseline(
            "first option", known, [tuple(-float(n) for n in range(len(item.options))) for item in known]
        )
    )
    return sorted((one for one in found if one is not None), key=lambda one: -one.accuracy.value)


def words(text: str) -> frozenset[str]:
    """The different words of a text, in lower case, without punctuation."""
    # Most words have only letters and digits, which one call finds out.
    return frozenset(
        part for part in BOUNDARY.split(plain(text).lower()) if part.isalnum() or any(map(str.isalnum, part))
    )


def _baseline(rule: str, items: Sequence[Item], scores: Sequence[Scores]) -> Baseline | None:
    rows = [Prediction.of(item, each) for item, each in zip(items, scores, strict=True)]
    whole = accuracy(rows)
    if whole is None:
        return None
    decided = [row for row in rows if row.choice is not None]
    ties = len(rows) - len(decided)
    return Baseline(rule, whole, ties, accuracy(decided) if ties else whole)


def _lengths(item: Item) -> Scores:
    return tuple(float(len(plain(option))) for option in item.options)


def _overlaps(item: Item) -> Scores:
    """The share of an option's words that the context has too."""
    said = words(item.context)
    each = [words(option) for option in item.options]
    return tuple(len(some & said) / len(some) if some else 0.0 for some in each)


def _folded(option: str) -> str:
    return plain(option).lower()


# Properties of options, and the rules that choose the option with the most or the least of one.
FEATURES: dict[tuple[str, str], Feature] = {
    ("longest option", "shortest option"): _lengths,
    ("most words of the context", "fewest words of the context"): _overlaps,
}

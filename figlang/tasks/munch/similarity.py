"""MUNCH's Figure 3 (Tong et al. 2024, §6): similarity of target, apt and inapt words by static vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from figlang.errors import FiglangError
from figlang.statistics.clustered import Array, Support
from figlang.statistics.metrics import over_groups
from figlang.tasks.munch.vectors import cosine
from figlang.types import Item, Marked

PAIRS = {"target-apt": ("target", "apt"), "target-inapt": ("target", "inapt"), "apt-inapt": ("apt", "inapt")}
COSINES, DIFFERENCES = Support(-1.0, 1.0), Support(-2.0, 2.0)


@dataclass(frozen=True)
class Triple:
    """A target with an apt and an inapt word for it. `cosines` maps each pair of words to its similarity. It
    is None if one of the three words has no vector; `missing` holds such words."""

    id: str
    group: str
    target: str
    apt: str
    inapt: str
    cosines: Mapping[str, float] | None
    missing: tuple[str, ...]


def triples(items: Sequence[Item], vectors: Mapping[str, Array], lower: bool = True) -> list[Triple]:
    """Select the word judgements in which exactly one candidate is apt."""
    found = []
    for item in items:
        if isinstance(item, Marked) and item.gold in (0, 1):
            words = {
                "target": item.word,
                "apt": item.options[item.gold],
                "inapt": item.options[1 - item.gold],
            }
            keys = {name: word.lower() if lower else word for name, word in words.items()}
            values = {name: cosine(keys[one], keys[other], vectors) for name, (one, other) in PAIRS.items()}
            known = {name: value for name, value in values.items() if value is not None}
            missing = tuple(
                word for word in dict.fromkeys(keys.values()) if cosine(word, word, vectors) is None
            )
            found.append(
                Triple(
                    item.id,
                    item.group,
                    **words,
                    cosines=known if len(known) == len(PAIRS) else None,
                    missing=missing,
                )
            )
    if not found:
        raise FiglangError(
            "there is no triple with one apt and one inapt word; use data=munch or data=munch_sample"
        )
    return found


def measure(rows: Sequence[Triple]) -> dict[str, Any]:
    """Measure the similarity of each pair of words: mean, sample standard deviation, median.

    The mean difference of target-apt and target-inapt is taken within triples. Triples with a missing word
    are left out. Intervals of the means are 95 %, over sentences.
    """
    known = [row for row in rows if row.cosines is not None]
    counts = {"triples": len(rows), "used": len(known), "left_out": len(rows) - len(known)}
    if not known:
        return counts
    values = {name: np.array([(row.cosines or {})[name] for row in known]) for name in PAIRS}
    pairs = {}
    for name, some in values.items():
        sd = float(some.std(ddof=1)) if len(some) > 1 else None
        pairs[name] = {
            **_mean(known, some, COSINES),
            "sd": sd,
            "median": float(np.median(some)),
            "above_0": float((some > 0).mean()),
        }
    return {
        **counts,
        "pairs": pairs,
        "apt_minus_inapt": _mean(known, values["target-apt"] - values["target-inapt"], DIFFERENCES),
    }


def _mean(rows: Sequence[Triple], values: Array, support: Support) -> dict[str, Any]:
    found = over_groups(zip((row.group for row in rows), values.tolist(), strict=True), support)
    return {
        "mean": float(values.mean()),
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "clusters": found.clusters,
    }

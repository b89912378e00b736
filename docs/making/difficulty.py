"""Items of Fig-QA's development part that released checkpoints miss, from the predictions in their folders.

No text of the data is needed: an item is named by its id, and its categories stand in the predictions.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import hypergeom

from docs.making.measured import read
from docs.making.released import CHECKPOINTS, content
from docs.making.rows import percent, table
from figlang.text.amounts import form

MOST = 5  # of the systems miss an item that belongs to the hard ones
SAMPLED = 12  # of the hard ones are judged too
TAIL = 0.025  # of the probability, at either end of an interval
LEAST = 0.8  # accuracy of a system that belongs here; the checkpoint of the LM loss would decide nothing


@dataclass(frozen=True)
class Missed:
    """An item with the systems that choose the wrong answer.

    Args:
        item: The id.
        group: The pair that it belongs to.
        categories: The kinds of commonsense knowledge that people marked.
        systems: The systems that miss it.
    """

    item: str
    group: str
    categories: tuple[str, ...]
    systems: frozenset[str]


def systems() -> tuple[str, ...]:
    """The released checkpoints that the page is about.

    Of two that are made of the same runs, only the one without a share of their start is here. A mean of
    several recipes is not, because one of its runs is released itself. Else one network would count twice.
    """
    whole = [
        found["averaged"] for found in content().values() if found.get("averaged") and not _of_start(found)
    ]
    return tuple(
        name
        for name, found in content().items()
        if found["metrics"]["accuracy"]["value"] >= LEAST
        and not (_of_start(found) and found["averaged"] in whole)
        and not found.get("shares")
    )


def _of_start(found: Mapping[str, Any]) -> float:
    """The share of what it began from."""
    return float(found.get("start_share") or 0)


def items() -> list[Missed]:
    """Every item of the development part, in the order of the file."""
    wrong: dict[str, set[str]] = {}
    rows = {}
    for system in systems():
        for line in (CHECKPOINTS / system / "predictions.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows[row["id"]] = row
            wrong.setdefault(row["id"], set())
            if row["choice"] != row["gold"]:
                wrong[row["id"]].add(system)
    return [
        Missed(name, row["group"], tuple(row["attributes"].get("commonsense", ())), frozenset(wrong[name]))
        for name, row in rows.items()
    ]


def hardest() -> list[Missed]:
    """The items that every system misses."""
    number = len(systems())
    return [item for item in items() if len(item.systems) == number]


def sampled() -> list[Missed]:
    """Items drawn from those that many systems miss, and not all, in the order of the file."""
    drawn = {item.item for item in random.Random(0).sample(_hard(), SAMPLED)}
    return [item for item in _hard() if item.item in drawn]


def _hard() -> list[Missed]:
    return [item for item in items() if MOST <= len(item.systems) < len(systems())]


def counts() -> str:
    """How many items are missed by how many systems.

    Returns:
        Markdown.
    """
    found = Counter(len(item.systems) for item in items())
    total = found.total()
    rows = [
        [f"{number} of {len(systems())}", str(found[number]), percent(found[number] / total)]
        for number in range(len(systems()) + 1)
    ]
    return table(["systems that miss it", "items", "% of the items"], rows)


def categories() -> str:
    """Items that all systems miss by kind of commonsense knowledge, beside the share that a system misses.

    Returns:
        Markdown.
    """
    every, number = items(), len(systems())
    names = sorted({name for item in every for name in item.categories})
    groups = [(name, [item for item in every if name in item.categories]) for name in names]
    rows = [_share(name, group, number) for name, group in [*groups, ("all", every)]]
    return table(["knowledge", "items", "missed by all", "% missed by all", "% missed by a system"], rows)


def _share(name: str, group: Sequence[Missed], number: int) -> list[str]:
    lost = sum(len(item.systems) == number for item in group)
    mean = sum(len(item.systems) for item in group) / (number * len(group))
    return [name, str(len(group)), str(lost), percent(lost / len(group)), percent(mean)]


def twins() -> str:
    """What the systems do with the other item of the pair of an item that all of them miss.

    Returns:
        Markdown.
    """
    lost = hardest()
    by_group: dict[str, list[Missed]] = {}
    for item in items():
        by_group.setdefault(item.group, []).append(item)
    others = [other for item in lost for other in by_group[item.group] if other.item != item.item]
    right = sum(not other.systems for other in others)
    both = len(others) - len({other.group for other in others})
    return (
        f"Of {len(others)} items that all systems miss, {right} have a twin that all systems get right: they "
        f"give both metaphors the same answer. All systems miss both items of {both} "
        f"{form(both, 'pair')}, so they exchange its two answers.\n"
    )


def _judgements() -> dict[str, dict[str, str]]:
    return {row["item"]: row for row in read("figqa_difficulty")}


def judgements() -> str:
    """How often each judgement was given.

    Returns:
        Markdown.
    """
    notes, total = _judgements(), len(items())
    found = Counter(notes[item.item]["judgement"] for item in hardest())
    rows = [[name, str(count), percent(count / total)] for name, count in found.most_common()]
    return table(["judgement", "items", "% of all items"], rows)


def among(number: int, drawn: int, found: int) -> tuple[int, int]:
    """How many of some items are of a kind, by a random draw of them: the ends of the exact 95 % interval.

    Args:
        number: The items.
        drawn: How many were drawn, without replacement.
        found: How many of these are of the kind.
    """
    can = [
        kind
        for kind in range(number + 1)
        if hypergeom.sf(found - 1, number, kind, drawn) >= TAIL
        and hypergeom.cdf(found, number, kind, drawn) >= TAIL
    ]
    return can[0], can[-1]


def summary() -> str:
    """What the page finds.

    Returns:
        Markdown.
    """
    lost, every = hardest(), items()
    argued = sum(_judgements()[item.item]["judgement"] == "ambiguous" for item in lost)
    return (
        f"The {len(systems())} checkpoints that are counted all miss {len(lost)} of the {len(every):,} items "
        f"({percent(len(lost) / len(every))} %). By the judgement of one person {argued} of these are "
        "ambiguous, and no label is plainly wrong. So labels do not keep a system below people's 94.4 %, as "
        "far as items were judged.\n"
    )


def ceiling() -> str:
    """Whether labels that can be argued hold a system below people's accuracy.

    Returns:
        Markdown.
    """
    every, lost, hard = len(items()), hardest(), _hard()
    notes = _judgements()
    given = Counter(notes[item.item]["judgement"] for item in lost)
    argued = sum(row["judgement"] == "ambiguous" for row in read("figqa_difficulty_sample"))
    least, most = among(len(hard), SAMPLED, argued)
    worst = given["ambiguous"] + most
    return (
        f"As far as was judged, yes. In {percent(1 - len(lost) / every)} % of the items at least one "
        f"system is right. Of the other {len(lost)}, {given['ambiguous']} were judged ambiguous, and "
        f"{given['world'] + given['culture']} to need a fact. Another {len(hard)} items are missed by "
        f"{MOST} to {len(systems()) - 1} of the {len(systems())} systems. Of these {SAMPLED} were drawn and "
        f"judged, and {argued} are ambiguous: {least} to {most} of {len(hard)} by a 95 % interval "
        "for a draw without replacement. A system that loses all of the ambiguous items, at most "
        f"{worst}, and no other, has {percent(1 - worst / every)} %. The {every - len(lost) - len(hard):,} "
        "items that fewer systems miss were not judged.\n"
    )


PARTS = {
    "summary": summary,
    "counts": counts,
    "categories": categories,
    "twins": twins,
    "judgements": judgements,
    "ceiling": ceiling,
}


def difficulty(part: str) -> str:
    """A part of the page about what is left. `part` is a name of PARTS."""
    return PARTS[part]()

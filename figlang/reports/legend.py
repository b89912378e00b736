"""The legend of short names: settings in which the systems that are shown differ, and those they share."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from figlang.runs import names, spelled
from figlang.runs.systems import Pool
from figlang.tables import Cell, Table
from figlang.text.amounts import counted

LONG = 60  # characters of a value in a table; longer ones are cut
# Settings that stand in the signature of each run, and say nothing to most readers.
DETAILS = {"base": "model", "scoring_details": "scoring", "prompt_details": "prompt"}
LEFT_OUT = ("max length", "bos")


def table(pools: Sequence[Pool]) -> Table | None:
    """A row for every system and a column for every setting in which two of them differ.

    Settings that all share are a note. None if nothing is known about any system.
    """
    found = [names.properties(pool.systems[0].content) for pool in pools]
    if not any(pool.systems[0].content.get("facts") for pool in pools):
        return None
    keys = [key for key in dict.fromkeys(key for each in found for key in each) if key not in LEFT_OUT]
    values = {
        key: [_said(key, each.get(key, ""), pool) for each, pool in zip(found, pools, strict=True)]
        for key in keys
    }
    differing = [key for key in keys if any(one != other for one, other in pairwise(values[key]))]
    shown = [key for key in differing if not _follows(key, differing, found)]
    columns = ("system", *(names.HEADINGS.get(key, key) for key in shown))
    rows: list[tuple[Cell, ...]] = [
        (pool.name, *(values[key][place] or None for key in shown)) for place, pool in enumerate(pools)
    ]
    shared = [
        f"{names.HEADINGS.get(key, key)}: {values[key][0]}"
        for key in keys
        if key not in differing and values[key][0] not in names.SILENT
    ]
    notes = (f"All systems: {'; '.join(shared)}.",) if shared and len(pools) > 1 else ()
    if len(pools) == 1:
        rows = [
            (names.HEADINGS.get(key, key), values[key][0])
            for key in keys
            if values[key][0] not in names.SILENT
        ]
        columns = ("setting", pools[0].name)
    return Table("legend", "The systems and their settings", columns, tuple(rows), notes)


def _follows(key: str, differing: Sequence[str], found: Sequence[Mapping[str, str]]) -> bool:
    """Whether a long setting says nothing that the short one of the same kind does not say."""
    short = DETAILS.get(key, "")
    if short not in differing:
        return False
    pairs = {(each.get(short, ""), each.get(key, "")) for each in found}
    return len(pairs) == len({one for one, _ in pairs})


def _said(key: str, value: str, pool: Pool) -> str:
    if key == "trained" and (train := pool.systems[0].content.get("data", {}).get("train", {})):
        return _trained(value, pool, train.get("items"))
    return value if len(value) <= LONG else f"{value[: LONG - 1]}…"


def _trained(value: str, pool: Pool, items: int | None) -> str:
    """The training data in words, with the name of their preset and the number of items."""
    whole = str(pool.systems[0].content.get("facts", {}).get("trained", "")).rpartition("@")[0]
    preset = whole.rpartition(">")[2].partition("(")[0]
    if value == spelled.UNTRAINED:
        return value
    called = value if preset in ("", value) else f"{value} ({preset})"
    return called + (f", {counted(items, 'item')}" if items else "")

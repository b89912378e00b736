"""Replies of chat models that cannot be read: their share beside results, and a section with each reason."""

from collections import Counter
from collections.abc import Iterator, Sequence

from figlang.reports.parts import Chapter, Long, Part, Section, fitted
from figlang.runs.predictions import BLIND_REPLIES, MEASURED, REPLIES, read_measured, read_replies
from figlang.runs.systems import Pool, System
from figlang.statistics.metrics import as_row
from figlang.tables import Cell, Mean, Table

SHOWN = 20  # rows on the page; all of them are in the file
END = 160  # characters of a reply, from its end, where an answer would stand
UNKNOWN = "no reason was kept"
UNSHOWN = "no letter is among its likeliest first tokens"
NOTE = (
    "A reply that cannot be read is not a choice, and counts as wrong. Of a long reply the end is shown; "
    "replies.jsonl, and replies_blind.jsonl for a hidden context, have all of it."
)


def shares(pools: Sequence[Pool]) -> list[Cell]:
    """The share of replies of each system that cannot be read; none if every reply can be read.

    Args:
        pools: The systems, each with its seeds.

    Returns:
        A cell for each system: the share, its mean over seeds, or None if the system gives no replies.
    """
    found = [
        [as_row(system.content.get("replies", {}), "invalid") for system in pool.systems] for pool in pools
    ]
    if not any(one is not None and one.value for each in found for one in each):
        return []
    return [
        None
        if len(known := [one for one in each if one is not None]) < len(each)
        else known[0]
        if len(known) == 1
        else Mean.over(one.value for one in known)
        for each in found
    ]


def section(chapter: Chapter) -> Section | None:
    """How often each reason occurs, and every reply that cannot be read; None if there is none.

    Raises:
        FiglangError: The replies of a run are damaged.
    """
    counts: Counter[tuple[str, str]] = Counter()
    rows: list[tuple[Cell, ...]] = []
    for pool in chapter.pools:
        for system in pool.systems:
            for name, reason, reply in _unread(system):
                counts[pool.name, reason] += 1
                rows.append((pool.name, system.seed, name, reason, _end(reply)))
    if not rows:
        return None
    often = tuple((name, reason, count) for (name, reason), count in counts.most_common())
    parts: tuple[Part, ...] = (
        fitted(
            Table("reasons", "Why replies cannot be read", ("system", "reason", "replies"), often, (NOTE,))
        ),
        Long(
            Table(
                "unread",
                "Replies that cannot be read",
                ("system", "seed", "item", "reason", "reply"),
                tuple(rows),
            ),
            SHOWN,
        ),
    )
    return Section("Replies that cannot be read", parts, folded=True)


def _unread(system: System) -> Iterator[tuple[str, str, str]]:
    """The id, the reason and the text of each reply that cannot be read."""
    replies, unseen, measured = (system.folder / name for name in (REPLIES, BLIND_REPLIES, MEASURED))
    widths = {row.id: len(row.scores) for row in system.predictions}
    if replies.is_file():
        for reply in read_replies(replies, widths):
            if reply["letter"] is None:
                yield reply["id"], reply.get("reason") or UNKNOWN, reply["reply"]
        for reply in read_replies(unseen, widths) if unseen.is_file() else ():
            if reply["letter"] is None:
                yield f"{reply['id']}, context hidden", reply.get("reason") or UNKNOWN, reply["reply"]
    elif measured.is_file() and "|scoring:logprobs(" in str(system.content.get("signature")):
        for row in read_measured(measured, widths):
            if not any(row.get("letters", ())):
                yield row["id"], UNSHOWN, ""


def _end(reply: str) -> str:
    text = " ".join(reply.split())
    return text if len(text) <= END else f"… {text[-END:]}"

"""The report's section about replies of chat models that cannot be read, each with its reason."""

from collections import Counter

from figlang.reports.parts import Chapter, Long, Part, Section, fitted
from figlang.runs.predictions import REPLIES, read_replies
from figlang.tables import Cell, Table

SHOWN = 20  # rows on the page; all of them are in the file
END = 160  # characters of a reply, from its end, where an answer would stand
UNKNOWN = "no reason was kept"
NOTE = (
    "A reply that cannot be read is not a choice, and counts as wrong. Of a long reply the end is shown; "
    "replies.jsonl has all of it."
)


def section(chapter: Chapter) -> Section | None:
    """How often each reason occurs, and every reply that cannot be read; None if there is none.

    Raises:
        FiglangError: The replies of a run are damaged.
    """
    counts: Counter[tuple[str, str]] = Counter()
    rows: list[tuple[Cell, ...]] = []
    for pool in chapter.pools:
        for system in pool.systems:
            path = system.folder / REPLIES
            if not path.is_file():
                continue
            for reply in read_replies(path, [row.id for row in system.predictions]):
                if reply["letter"] is not None:
                    continue
                reason = reply.get("reason") or UNKNOWN
                counts[pool.name, reason] += 1
                rows.append((pool.name, system.seed, reply["id"], reason, _end(reply["reply"])))
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


def _end(reply: str) -> str:
    text = " ".join(reply.split())
    return text if len(text) <= END else f"… {text[-END:]}"

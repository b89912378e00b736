"""Systems that were evaluated on different items: how many each has, and the items that all share."""

from collections.abc import Sequence
from dataclasses import replace

from figlang.errors import FiglangError
from figlang.runs.systems import System
from figlang.text.amounts import counted

# Numbers of metrics.json on all items of a system, which do not hold for a part of them.
OF_ALL = ("gain", "blind", "replies")
LISTED = 6  # systems whose number of items an error names


def checked(systems: Sequence[System]) -> list[System]:
    """The systems as they are, if all have the same items.

    Raises:
        FiglangError: If they do not. It says how many items each has, and how many are shared.
    """
    seen = [{row.id for row in system.predictions} for system in systems]
    if all(one == seen[0] for one in seen):
        return list(systems)
    counts = [f"{system.name} has {len(one):,}" for system, one in zip(systems, seen, strict=True)]
    more = f" and {len(counts) - LISTED} more" if len(counts) > LISTED else ""
    shared = len(set.intersection(*seen))
    way = "add common=true to compare on these" if shared else "evaluate them on the same data and split"
    raise FiglangError(
        f"the systems were not evaluated on the same items: {', '.join(counts[:LISTED])}{more}, and they "
        f"share {shared:,}; {way}"
    )


def common(systems: Sequence[System]) -> tuple[list[System], str]:
    """The systems with the items that all have, and a sentence that says how many that are.

    An item is shared if its id and its answer are the same.

    Raises:
        FiglangError: If they share no item.
    """
    seen = [{(row.id, row.gold) for row in system.predictions} for system in systems]
    shared = set.intersection(*seen)
    if not shared:
        checked(systems)
        raise FiglangError(
            "the systems share ids, but with other answers; evaluate them on the same data and split"
        )
    if all(one == shared for one in seen):
        return list(systems), ""
    groups = {row.id: row.group for row in systems[0].predictions}
    cut = [
        replace(
            system,
            content={key: value for key, value in system.content.items() if key not in OF_ALL},
            predictions=tuple(
                replace(row, group=groups[row.id])
                for row in system.predictions
                if (row.id, row.gold) in shared
            ),
        )
        for system in systems
    ]
    counts = ", ".join(f"{len(one):,} of {system.name}" for system, one in zip(systems, seen, strict=True))
    return cut, f"Compared on the {counted(len(shared), 'item')} that all systems have: {counts}."

"""Systems that were evaluated on different items: how many each has, and the items that all share."""

from collections.abc import Sequence
from dataclasses import replace

from figlang.errors import FiglangError
from figlang.runs.systems import System, different_files, files
from figlang.tasks.overlap_table import SAMPLES
from figlang.text.amounts import counted, form

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
    """The systems with the items that all have, and what is said of them.

    An item is shared if its id and its answer are the same. The text says how many are, and how many ids have
    another answer in another system: their files may number other items.

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
    said = f"Compared on the {counted(len(shared), 'item')} that all systems have: {counts}."
    named = set.intersection(*({name for name, _ in one} for one in seen))
    if odd := len(named) - len(shared):
        said += (
            f" {counted(odd, 'id')} {form(odd, 'has', 'have')} another answer in another system and "
            f"{form(odd, 'is', 'are')} left out. If ids are numbers of rows, rows of different files may be "
            "different items; give items ids of their own."
        )
    return cut, said


def check_files(systems: Sequence[System]) -> str:
    """Check that systems can be compared on the items that all have, though their files may differ.

    Returns:
        A sentence about files that differ. It is empty if all systems saw the same file.

    Raises:
        FiglangError: If some saw a bundled sample, whose ids are also those of the data set, and others did
            not.
    """
    known = files(systems)
    if len(known) < 2:
        return ""
    bundled = {
        system.content["data"].get("settings", {}).get("root") == SAMPLES: (sha256, system)
        for sha256, system in known.items()
    }
    if len(bundled) > 1:
        seen = [{row.id for row in system.predictions} for _, system in bundled.values()]
        if seen[0] & seen[1]:
            raise different_files(*bundled.values())
    listed = ", ".join(sha256[:8] for sha256 in known)
    return f"The systems saw different files ({listed}). Items were matched by id and answer, not by text."

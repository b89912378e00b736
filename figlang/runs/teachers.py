"""Teachers: results of finished evaluations on training items, from which another model learns."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.runs import systems
from figlang.runs.origins import HASH
from figlang.runs.predictions import FORWARD
from figlang.tasks.mix import original
from figlang.types import Item


def identities(folders: Iterable[str]) -> list[str]:
    """The hashes of the predictions of teachers, which identify them in a recipe. Their order has no meaning.

    Args:
        folders: Folders of results.

    Raises:
        FiglangError: A folder has no predictions, or is given twice.
    """
    return sorted(found[:HASH] for found, _ in _by_hash(folders))


def described(folders: Iterable[str]) -> list[dict[str, Any]]:
    """Teachers as metrics.json names them: what they are, what they were trained on and what they scored.

    Args:
        folders: Folders of results.

    Returns:
        Plain data without paths, in the order of the hashes of their predictions.
    """
    found = []
    for identity, folder in _by_hash(folders):
        (teacher,) = systems.read([folder])
        content = teacher.content
        found.append(
            {
                **{name: content[name] for name in ("model", "data_name", "split", "signature")},
                "facts": dict(content.get("facts", {})),
                "items": len(teacher.predictions),
                "sha256": identity,
            }
        )
    return found


def read(
    folders: Iterable[str], items: Sequence[Item], paths: PathsConfig
) -> dict[str, list[tuple[float, ...]]]:
    """The scores that teachers gave to the options of training items.

    Args:
        folders: Folders of results on training items.
        items: What is trained on.
        paths: Where the data are.

    Returns:
        For each item that a teacher scored, by its id, the scores (C,) of each teacher that did, always in
        one order.

    Raises:
        FiglangError: A folder holds no results or only replies, none of its items is trained on, or an item
            has another text than it had for the teacher.
    """
    wanted: dict[str, list[Item]] = {}
    for item in items:  # a mixture repeats items
        wanted.setdefault(original(item.id), []).append(item)
    found: dict[str, list[tuple[float, ...]]] = {}
    for _, folder in _by_hash(folders):
        scores = _of_one(folder, wanted, paths)
        for name, own in scores.items():
            for item in wanted[name]:
                found.setdefault(item.id, []).append(own)
    return found


def _by_hash(folders: Iterable[str]) -> list[tuple[str, str]]:
    """Each teacher with the hash of its predictions, in the order of the hashes."""
    known: dict[str, str] = {}
    for folder in folders:
        if missing := [name for name in (FORWARD, "metrics.json") if not (Path(folder) / name).is_file()]:
            raise FiglangError(
                f"method.teacher={folder} has no {missing[0]}; give the folder of finished results on "
                "training items, as figlang evaluate split=train writes them"
            )
        identity = sha256(Path(folder) / FORWARD)
        if identity in known:
            raise FiglangError(
                f"method.teacher: {known[identity]} and {folder} have the same predictions; give each "
                "teacher once"
            )
        known[identity] = folder
    return sorted(known.items())


def _of_one(
    folder: str, wanted: Mapping[str, Sequence[Item]], paths: PathsConfig
) -> dict[str, tuple[float, ...]]:
    (teacher,) = systems.read([folder])
    if "replies" in teacher.content:
        raise FiglangError(
            f"method.teacher={folder} has replies and no log-probabilities of the options, which a student "
            "learns; leave it out"
        )
    scored = systems.items(teacher, systems.data_of(teacher), paths)
    known = {item.id: item for item in scored.items}
    systems.check_items([teacher], known)
    rows = [row for row in teacher.predictions if row.id in wanted]
    if not rows:
        raise FiglangError(
            f"method.teacher={folder} has scored none of the items that are trained on, but "
            f"{teacher.content.get('data_name')} ({teacher.content.get('split')}); evaluate the teacher on "
            "them, with split=train"
        )
    for row in rows:
        for item in wanted[row.id]:
            if _read_of(item) != _read_of(known[row.id]):
                raise FiglangError(
                    f"method.teacher={folder}: item {row.id} has another text there than in the data that "
                    "are trained on; evaluate the teacher on these data"
                )
    return {row.id: row.scores for row in rows}


def _read_of(item: Item) -> tuple[object, ...]:
    return (*item.texts, *item.options, item.cut)

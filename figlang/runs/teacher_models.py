"""Teachers that are networks: runs and released checkpoints, which score the items that a student learns."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from figlang.config.signature import signature
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.models import weights
from figlang.runs import origins, outputs
from figlang.runs.origins import HASH

# The files that hold the weights of a network or of adapters.
WEIGHTS = ("*.safetensors", "*.bin")


def folder(named: str) -> Path:
    """The folder of results of a teacher: that of the run, or of the released checkpoint.

    Args:
        named: A value of `method.teacher_model`.

    Raises:
        FiglangError: It is neither, or the run is not finished.
    """
    found = origins.folder_of(named) if Path(named).expanduser().is_dir() else None
    if found is None or not (found / "metrics.json").is_file():
        raise FiglangError(
            f"method.teacher_model={named} is not the folder of a finished run or of a released checkpoint; "
            "give one"
        )
    return found


def identity(named: str) -> str:
    """The hash of a teacher's weights, which identifies it in recipes and metrics.json.

    Args:
        named: A value of `method.teacher_model`.

    Raises:
        FiglangError: It is not a finished run or a released checkpoint, or its weights are not there.
    """
    place = Path(weights.locate(str(folder(named))))
    files = sorted(file for pattern in WEIGHTS for file in place.glob(pattern))
    if not files:
        raise FiglangError(
            f"method.teacher_model={named}: the weights are not in {place}; give the folder of another run"
        )
    return hashlib.sha256(" ".join(map(sha256, files)).encode()).hexdigest()


def by_identity(named: Iterable[str]) -> list[tuple[str, str]]:
    """Teachers, each behind its hash, in the order of the hashes.

    Args:
        named: Values of `method.teacher_model`.

    Raises:
        FiglangError: Two have the same weights, or one is not a teacher (see `identity`).
    """
    known: dict[str, str] = {}
    for one in named:
        found = identity(one)
        if found in known:
            raise FiglangError(
                f"method.teacher_model: {known[found]} and {one} have the same weights; give each teacher "
                "once"
            )
        known[found] = one
    return sorted(known.items())


def identities(named: Iterable[str]) -> list[str]:
    """The hashes of teachers, which identify them in a recipe. Their order has no meaning.

    Args:
        named: Values of `method.teacher_model`.

    Raises:
        FiglangError: See `by_identity`.
    """
    return [found[:HASH] for found, _ in by_identity(named)]


def described(named: Iterable[str], data_name: str, items: int) -> list[dict[str, Any]]:
    """Teachers as metrics.json names them, like `teachers.described`.

    Args:
        named: Values of `method.teacher_model`.
        data_name: The name of the data that they scored.
        items: How many items.

    Returns:
        Plain data without paths, in the order of the hashes of their weights.

    Raises:
        FiglangError: See `by_identity`.
    """
    found = []
    for one, place in by_identity(named):
        content = outputs.finished(folder(place))
        facts: Mapping[str, Any] = content.get("facts", {})
        found.append(
            {
                "model": content["model"],
                "data_name": data_name,
                "split": "train",
                "signature": signature({"data": data_name, "split": "train", **facts}),
                "facts": dict(facts),
                "items": items,
                "sha256": one,
            }
        )
    return found

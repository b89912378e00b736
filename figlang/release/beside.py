"""A checkpoint beside its base as it comes, on the same items: what its training won, and what it lost."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from figlang.errors import FiglangError
from figlang.models.manifest import UNTRAINED, Manifest
from figlang.runs import systems
from figlang.runs.systems import System
from figlang.statistics.comparison import compare

# What two evaluations have in common, if they are set beside each other.
SAME = ("scoring", "norm", "prompt")


def rows(folders: Sequence[str], manifest: Manifest) -> list[dict[str, Any]]:
    """The evaluations of a checkpoint, each with that of its base on the same items by the same scoring.

    Args:
        folders: evaluation folders, of the checkpoint and of its base.
        manifest: the checkpoint's.

    Returns:
        Plain data for metrics.json, in the order of the checkpoint's folders.

    Raises: FiglangError: for a folder of another network, and for an evaluation of the checkpoint that its
        base has none beside.
    """
    read = systems.read(folders)
    own = [one for one in read if _trained(one).endswith(f"@{manifest.settings}")]
    bases = [
        one
        for one in read
        if _trained(one).endswith(f"@{UNTRAINED}") and one.content["facts"].get("base") == manifest.base
    ]
    if other := [one for one in read if one not in own and one not in bases]:
        raise FiglangError(
            f"{other[0].folder} is an evaluation neither of this checkpoint nor of {manifest.base} as it "
            "comes"
        )
    return [_row(one, _base(one, bases)) for one in own]


def _trained(system: System) -> str:
    return str(system.content.get("facts", {}).get("trained", ""))


def _base(own: System, bases: Sequence[System]) -> System:
    found = [base for base in bases if _asked(base) == _asked(own)]
    if not found:
        facts = own.content["facts"]
        raise FiglangError(
            f"{own.folder}: beside it there is no evaluation of {facts.get('base')} as it comes on the same "
            f"items by {facts.get('scoring')}; make one by evaluate.py model=PRESET"
        )
    systems.check_data([own, found[0]])
    return found[0]


def _asked(system: System) -> tuple[Any, ...]:
    facts = system.content["facts"]
    return (
        system.content["split"],
        [row.id for row in system.predictions],
        *(facts.get(name) for name in SAME),
    )


def _row(own: System, base: System) -> dict[str, Any]:
    return {
        "data_name": own.content["data_name"],
        "split": own.content["split"],
        "scoring": str(own.content["facts"]["scoring"]).partition("(")[0],
        **_numbers(own),
        "signature": own.content["signature"],
        "base": {**_numbers(base), "signature": base.content["signature"]},
        "difference": asdict(compare(own.predictions, base.predictions)[0]),
    }


def _numbers(system: System) -> dict[str, Any]:
    content = system.content
    blind = content.get("blind", {}).get("accuracy")
    return {
        "accuracy": content["metrics"]["accuracy"],
        **({} if blind is None else {"blind": blind}),
        **({"gain": content["gain"]} if "gain" in content else {}),
    }

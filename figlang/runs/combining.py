"""Results of several systems on the same items, combined into results of one."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.config import signature
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files.redaction import redacted
from figlang.files.sources import sha256
from figlang.runs import spelled, systems
from figlang.runs.answered import Answered
from figlang.runs.predictions import FORWARD
from figlang.runs.systems import System
from figlang.statistics import combining
from figlang.types import Prediction

log = logging.getLogger("figlang")

# Facts about how a score comes about. Where they are the same, a weight that was found for one network is
# good for another, for example for that of another fold.
SCORED = ("scoring", "norm", "prompt", "text")
# One file is a copy of another if this share of the shorter one's items are in both: equal ids, groups and
# labels.
COPY = 0.9
# Parts of metrics.json that say which items there are.
ABOUT = ("data_name", "task", "split", "published_file", "seed", "data")


@dataclass(frozen=True)
class Member:
    """A system as it was given, with the hash of its predictions and its results on held-out items."""

    given: str
    system: System
    sha256: str
    held_out: tuple[System, ...] = ()


def members(runs: Sequence[str], fit: Sequence[str]) -> list[Member]:
    """Read the members of a combination, in an order that does not depend on how they are given.

    Args:
        runs: Their results.
        fit: Their results on held-out items, in the same order; those of a second part of these items follow
            those of the first.

    Raises:
        FiglangError: They are not of the same items, or those in `fit` are not of the same systems or share
            items with the others.
    """
    found = systems.read(runs)
    _check_items(found)
    held_out = _parts(found, fit)
    return sorted(
        (
            Member(
                runs[place],
                system,
                sha256(system.folder / FORWARD),
                tuple(part[place] for part in held_out),
            )
            for place, system in enumerate(found)
        ),
        key=lambda member: member.sha256,
    )


def check_output(of: Sequence[Member], folder: Path) -> None:
    """Check that the combined results do not replace what they are made of.

    Raises:
        FiglangError: They would.
    """
    read = [system.folder.resolve() for member in of for system in (member.system, *member.held_out)]
    if folder.resolve() in read:
        raise FiglangError(f"output={folder} is one of the results that are combined; give another folder")


def weights(of: Sequence[Member], given: Sequence[float]) -> list[float]:
    """The weight of each member: fitted to the held-out items, or equal, if none are given.

    Raises:
        FiglangError: No held-out item has a label, or every weight that is found is 0.
    """
    if given:
        return list(given)
    if not of[0].held_out:
        return [1 / len(of)] * len(of)
    found = combining.fitted([_aligned_held_out(member, of[0]) for member in of])
    if not any(found):
        raise FiglangError(
            f"{of[0].held_out[0].folder}: no system tells right options from wrong ones, or no label is "
            "known; give other results in fit=, or weights="
        )
    return found


def answered(of: Sequence[Member], factors: Sequence[float]) -> Answered:
    """The combined predictions, and those with the context hidden if every member has them.

    Args:
        of: The members.
        factors: The weight of each.
    """
    first = of[0].system

    def together(rows: Sequence[Sequence[Prediction]]) -> list[Prediction]:
        return combining.combined([_aligned(each, first.predictions) for each in rows], factors)

    blind = [member.system.blind for member in of]
    if not all(blind):
        missing = next(member.system.folder for member in of if not member.system.blind)
        log.info("no blind accuracy: %s has none", missing)
    return Answered(
        together([member.system.predictions for member in of]), blind=together(blind) if all(blind) else None
    )


def about(of: Sequence[Member], factors: Sequence[float], name: str | None, command: str) -> dict[str, Any]:
    """The part of metrics.json without numbers: the members, their weights and the items.

    Args:
        of: The members.
        factors: The weight of each.
        name: The name of the combination; None: made of the members' names.
        command: The command line.
    """
    first = of[0].system.content
    listed = [
        {
            "model": member.system.content["model"],
            "folder": str(member.system.folder),
            "signature": member.system.content.get("signature", ""),
            "sha256": member.sha256,
            "weight": factor,
            "held_out": [
                {"folder": str(each.folder), "items": len(each.predictions)} for each in member.held_out
            ],
        }
        for member, factor in zip(of, factors, strict=True)
    ]
    facts = {
        "model": name or _named(of),
        "base": f"{len(of)} systems",
        "trained": _trained(of),
        "members": "+".join(
            f"{factor:.6g}*{member.system.content['model']}@{member.sha256[:8]}"
            for member, factor in zip(of, factors, strict=True)
        ),
        "scoring": "log-linear",
        "norm": "none",
        "prompt": "none",
    }
    known = {key: first[key] for key in ABOUT if key in first}
    data = first.get("data", {})
    known["data"] = {key: data[key] for key in (first["split"], "settings", "notes") if key in data}
    sha = data.get(first["split"], {}).get("sha256", "")
    where = {"data": f"{first['data_name']}@{sha[:8]}", "split": first["split"]}
    counted = {"n": len(of[0].system.predictions)}
    return {
        **known,
        "signature": redacted(signature.signature({**where, **counted, **facts, "seed": first["seed"]})),
        "model": facts["model"],
        "facts": facts,
        "members": listed,
        "command": redacted(command),
        "versions": signature.versions(),
        "decided_by": {
            "settings": {"weights": list(factors)},
            "members": [member.sha256 for member in of],
            "data": {"sha256": sha, "items": len(of[0].system.predictions)},
        },
    }


def _named(of: Sequence[Member]) -> str:
    counts = Counter(spelled.model(str(member.system.content["model"])) for member in of)
    return " + ".join(f"{count} {name}" if count > 1 else name for name, count in sorted(counts.items()))


def _trained(of: Sequence[Member]) -> str:
    """On what the members were trained, as a manifest says it."""
    known = [str(member.system.content.get("facts", {}).get("trained", "nothing@none")) for member in of]
    stages = {each.rpartition("@")[0].partition("(")[0] for each in known}
    return f"{'+'.join(sorted(stages))}@{digest(sorted(known))}"


def _check_items(found: Sequence[System]) -> None:
    for system in found:
        if "data_name" not in system.content or not (system.folder / FORWARD).is_file():
            raise FiglangError(
                f"{system.folder} is not a folder of results of figlang; give run folders or evaluation "
                "folders"
            )
        if "replies" in system.content:
            raise FiglangError(
                f"{system.folder} has replies and no scores of the options, which a combination needs; leave "
                "it out"
            )
    systems.check_data(found)
    first = found[0]
    wanted = {row.id: (row.gold, len(row.scores)) for row in first.predictions}
    for other in found[1:]:
        if {row.id: (row.gold, len(row.scores)) for row in other.predictions} != wanted:
            raise FiglangError(
                f"{first.folder} and {other.folder} are results on different items; evaluate all on the same"
            )


def _parts(found: Sequence[System], fit: Sequence[str]) -> list[list[System]]:
    """The held-out results, a list for each part of the held-out items."""
    if not fit:
        return []
    if len(fit) % len(found):
        raise FiglangError(
            f"fit= names {len(fit)} results for {len(found)} systems; give one for each system, in the same "
            "order"
        )
    read = systems.read(fit)
    parts = [read[start : start + len(found)] for start in range(0, len(read), len(found))]
    earlier: list[System] = []
    for part in parts:
        _check_items(part)
        for system, held_out in zip(found, part, strict=True):
            _check_same(system, held_out)
            _check_order(system, held_out, found)
        _check_apart(part[0], found[0])
        for other in earlier:
            if shared := _shared(part[0], other):
                raise FiglangError(
                    f"fit=: {other.folder} and {part[0].folder} share items, such as {shared}; give each "
                    "part of the held-out items once"
                )
        earlier.append(part[0])
    return parts


def _check_same(system: System, held_out: System) -> None:
    ours, theirs = (
        (each.content["model"], *(each.content.get("facts", {}).get(name) for name in SCORED))
        for each in (system, held_out)
    )
    for name, wanted, found in zip(("model", *SCORED), ours, theirs, strict=True):
        if wanted != found:
            raise FiglangError(
                f"fit=: {held_out.folder} is not of the same system as {system.folder} ({name}: {found}, not "
                f"{wanted}); give the results in the order of the systems"
            )
    trained = str(held_out.content.get("facts", {}).get("trained", "nothing@none"))
    known = trained.startswith("nothing@") or _left_out(held_out, trained.rpartition("@")[0])
    if held_out.content["split"] == "train" and not known:
        log.warning(
            "%s: the system may have been trained on these items, which makes its weight too large; see "
            "data.fold",
            held_out.folder,
        )


def _check_order(system: System, held_out: System, systems_given: Sequence[System]) -> None:
    """Check that held-out results are not those of another system that is given, such as another seed.

    The networks of folds are others, so that equal weights are not asked for.
    """
    own, theirs = (each.content.get("facts", {}).get("weights") for each in (system, held_out))
    if theirs in (None, own):
        return
    for other in systems_given:
        if other.content.get("facts", {}).get("weights") == theirs:
            raise FiglangError(
                f"fit=: {held_out.folder} is of the system of {other.folder}, not of {system.folder}; give "
                "the results in the order of the systems"
            )


def _left_out(held_out: System, stages: str) -> bool:
    """Whether every stage of a training was on the same data without the fold that is held out."""
    settings = held_out.content.get("data", {}).get("settings", {})
    fold = f"fold={settings.get('fold')},seed={settings.get('seed', 0)}"
    known = rf"{re.escape(held_out.content['data_name'])}\((.*,)?{re.escape(fold)}\)"
    return all(re.fullmatch(known, stage) for stage in stages.split(">"))


def _check_apart(held_out: System, reported: System) -> None:
    """Check that weights are not fitted to what is reported."""
    if shared := _shared(held_out, reported, groups=True):
        raise FiglangError(
            f"fit=: {held_out.folder} has items that are reported, such as {shared}, so the weights would be "
            "fitted to them; give results on held-out items"
        )


def _shared(first: System, second: System, groups: bool = False) -> str | None:
    """The id of an item that two results share, and how their files differ, if they do; None if they share
    none.

    Ids tell items of one file apart, and with `groups` a group counts as a whole. In another file an id may
    be that of another item. That file is a copy if nearly all items of the shorter one are in both, with the
    same group and label.

    Args:
        first: A system.
        second: Another one.
        groups: Whether items of one group are shared.
    """
    of_second = {row.id: row for row in second.predictions}
    pairs = [(row, of_second[row.id]) for row in first.predictions if row.id in of_second]
    file, other_file = (
        each.content.get("data", {}).get(each.content["split"], {}).get("sha256") for each in (first, second)
    )
    if file == other_file or None in (file, other_file):
        known = {row.group for row in second.predictions} if groups and file == other_file else set()
        alike = (row.id for row in first.predictions if row.id in of_second or row.group in known)
        return next(alike, None)
    equal = sum(
        (row.group, row.gold, len(row.scores)) == (of.group, of.gold, len(of.scores)) for row, of in pairs
    )
    if not pairs or equal < COPY * min(len(first.predictions), len(second.predictions)):
        return None
    return (
        f"{pairs[0][0].id} (in files of other bytes, {file[:8]} and {other_file[:8]}, with the same ids and "
        "labels)"
    )


def _aligned(rows: Sequence[Prediction], like: Sequence[Prediction]) -> list[Prediction]:
    """Predictions in the order of others."""
    known = {row.id: row for row in rows}
    return [known[row.id] for row in like]


def _aligned_held_out(member: Member, first: Member) -> list[Prediction]:
    parts = zip(member.held_out, first.held_out, strict=True)
    return [row for part, like in parts for row in _aligned(part.predictions, like.predictions)]


def kept_items(of: Sequence[Member], file: str) -> Path | None:
    """The file of a member with the texts of its items; None if no member has one."""
    return next((path for member in of if (path := member.system.folder / file).is_file()), None)

"""All checks of the items of a file, and which items stay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from figlang.creation import alike, guessing, validation
from figlang.creation.drafts import Drafts, Fault
from figlang.types import Item, Prediction, Split

DROPPING = ("meanings", "swap", "repeated", "elsewhere", "people")
BLIND = "blind"


@dataclass(frozen=True)
class Look:
    """One time that a guesser chose an option of every item.

    Attributes:
        guesser: Who guesses. All looks of a guesser together say whether it solves an item.
        name: What differs from the other looks: a seed, or a norm.
        blind: The choices with the context hidden.
        seeing: Those with the context, if the guesser can read it.
    """

    guesser: str
    name: str
    blind: Sequence[Prediction]
    seeing: Sequence[Prediction] | None = None


@dataclass(frozen=True)
class Checked:
    """The findings of the checks.

    Attributes:
        kept: The items that stay.
        dropped: The other items, each with its reason.
        faults: Everything that was found, of rows and of items.
        near: Near-duplicates among the items: two ids and their similarity.
        looks: The choices of blind guessers.
        flagged: By the id of an item, the guessers that solve it blind.
    """

    kept: tuple[Item, ...]
    dropped: tuple[tuple[Item, str], ...]
    faults: tuple[Fault, ...]
    near: alike.Pairs
    looks: tuple[Look, ...] = ()
    flagged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def items(
    drafts: Drafts,
    least: float,
    others: Sequence[tuple[str, Split]] = (),
    choices: validation.Choices | None = None,
    agree: float = 0.5,
) -> Checked:
    """The checks that need no guesser.

    Args:
        drafts: What came in.
        least: Smallest similarity of near-duplicates.
        others: Other data sets by name.
        choices: What other people chose.
        agree: Smallest share of them that is enough.

    Returns:
        The result. If an item is dropped, all items of its group are.
    """
    faults = [*drafts.faults, *alike.repeated(drafts.items)]
    for name, split in others:
        faults += alike.elsewhere(drafts.items, name, split, least)
    faults += validation.doubtful(drafts.items, choices or {}, agree)
    reasons: dict[str, str] = {}
    for fault in faults:
        if fault.check in DROPPING:
            reasons.setdefault(fault.place, f"{fault.check}: {fault.what}")
    kept, dropped = _without(drafts.items, reasons)
    near = alike.within(kept, least)
    faults += [
        Fault(other, "near", f"is much like {one} ({similarity:.2f})") for one, other, similarity in near
    ]
    return Checked(kept, dropped, tuple(faults), near)


def learner(found: Checked, seeds: int) -> list[Look]:
    """The looks of the small learner, one for each seed.

    Args:
        found: The items that stay so far.
        seeds: How many seeds.
    """
    return [
        Look("words of options", f"seed {seed}", guessing.guess(found.kept, found.near, seed))
        for seed in range(seeds)
    ]


def blind(found: Checked, looks: Sequence[Look], keep: str) -> Checked:
    """Flag the items that a guesser gets right in all of its looks, and drop them if that is asked for.

    Args:
        found: The result so far.
        looks: The looks of all guessers at the kept items.
        keep: `all`, `hard` or `hardest`, as the option of the command.
    """
    flagged = solved(looks)
    groups: dict[str, list[bool]] = {}
    for item in found.kept:
        groups.setdefault(item.group, []).append(item.id in flagged)
    faults = [
        Fault(name, BLIND, f"{' and '.join(guessers)} got it right in every look without the context")
        for name, guessers in flagged.items()
    ]
    too_easy = {"all": lambda marks: False, "hard": all, "hardest": any}[keep]
    reasons = {
        item.id: f"{BLIND}: keep={keep}"
        for item in found.kept
        if item.id in flagged and too_easy(groups[item.group])
    }
    kept, dropped = _without(found.kept, reasons)
    return Checked(
        kept, (*found.dropped, *dropped), (*found.faults, *faults), found.near, tuple(looks), flagged
    )


def solved(looks: Sequence[Look]) -> dict[str, tuple[str, ...]]:
    """The items that a guesser gets right in all of its looks, with the names of these guessers."""
    right: dict[tuple[str, str], bool] = {}
    for look in looks:
        for row in look.blind:
            key = (row.id, look.guesser)
            right[key] = right.get(key, True) and row.correct is True
    found: dict[str, tuple[str, ...]] = {}
    for (name, guesser), always in right.items():
        if always:
            found[name] = (*found.get(name, ()), guesser)
    return found


def _without(
    items: Sequence[Item], reasons: Mapping[str, str]
) -> tuple[tuple[Item, ...], tuple[tuple[Item, str], ...]]:
    """Items that stay, and those of groups with a reason against one of them."""
    because: dict[str, tuple[str, str]] = {}
    for item in items:
        if item.id in reasons:
            because.setdefault(item.group, (item.id, reasons[item.id]))
    kept = tuple(item for item in items if item.group not in because)
    dropped = tuple(
        (item, reasons.get(item.id) or f"with {because[item.group][0]} ({because[item.group][1]})")
        for item in items
        if item.group in because
    )
    return kept, dropped

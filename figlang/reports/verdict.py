"""What a reader asks first: who is best, by how much, whether that is sure, and how far it is from people."""

from collections.abc import Sequence

from figlang.reports import people, unread
from figlang.reports.parts import Chapter
from figlang.reports.ranked import Line, ordered
from figlang.reports.terminal import TITLES
from figlang.statistics import comparison
from figlang.statistics.clustered import LEVEL
from figlang.statistics.metrics import Estimate
from figlang.tables import Mean, p_value, text
from figlang.text.amounts import counted

METRIC = TITLES["accuracy"]


def sentences(chapter: Chapter, lines: Sequence[Line]) -> list[str]:
    """Sentences about the best system: its accuracy, the next one, unread replies of both, people.

    None without labels.
    """
    systems = [line for line in ordered(lines, METRIC) if line.kind in ("system", "untrained")]
    if not systems or METRIC not in systems[0].marks:
        return []
    return [
        _best(systems),
        *([_next(chapter, systems)] if len(systems) > 1 and chapter.compared else []),
        *_unread(chapter, systems[:2]),
        *_people(chapter, systems[0], lines),
    ]


def _best(systems: Sequence[Line]) -> str:
    best, count = systems[0], len(systems)
    share = best.marks[METRIC]
    value, _, interval = text(share).partition(" (")
    alone = ")." if count == 1 else ", not corrected)."
    sentence = f"{best.name} has {value} % of the items right"
    sentence += f" (95 % interval {interval.removesuffix(')')}{alone}" if interval else "."
    if isinstance(share, Estimate) and share.chance is not None and share.p is not None:
        # The best of several is above chance more often than one that was named before.
        shares = [one.marks.get(METRIC) for one in systems]
        tested = [one.p for one in shares if isinstance(one, Estimate) and one.p is not None]
        p = comparison.holm(tested)[0]
        known = "above chance" if share.value > share.chance else "below chance"
        sure = known if p < LEVEL else "not told from chance"
        corrected = "" if len(tested) == 1 else f" after Holm's correction for {len(tested):,} systems"
        sentence += f" Chance is {100 * share.chance:.1f}: it is {sure} (p {_p(p)}{corrected})."
    return sentence if count == 1 else f"Best of {count}: {sentence}"


def _next(chapter: Chapter, systems: Sequence[Line]) -> str:
    places = {pool.name: place for place, pool in enumerate(chapter.pools)}
    one, other = places[systems[0].name], places[systems[1].name]
    (found,) = (each for each in chapter.compared if {each.first, each.second} == {one, other})
    sign = 1 if found.second == one else -1
    low, high = sorted((sign * found.items.low, sign * found.items.high))
    points = round(100 * sign * found.items.value, 1) + 0  # never "-0.0"
    count = len(chapter.compared)
    corrected = f" after Holm's correction for {count:,} comparisons" if count > 1 else ""
    apart = found.items_holm < LEVEL
    sure = "this is more than chance explains" if apart else "that may be chance"
    tested = f"p {_p(found.items_holm)}{corrected}"
    alike = sum(each.items_holm >= LEVEL for each in chapter.compared if one in (each.first, each.second))
    shared = ""
    if count > 1:
        shared = (
            f" {alike} of the others cannot be told from it." if alike else " It differs from all others."
        )
    alone = "" if count == 1 else ", not corrected"
    interval = f"95 % interval {100 * low:+.1f} – {100 * high:+.1f}{alone}"
    if not points and not apart:
        return f"It is level with {systems[1].name} ({interval}; {tested}).{shared}"
    far = f"{points:.1f}" if points else "less than 0.1"
    return f"It is {far} points ahead of {systems[1].name} ({interval}); {sure} ({tested}).{shared}"


def _unread(chapter: Chapter, systems: Sequence[Line]) -> list[str]:
    """The replies of systems that cannot be read: a difference may be one of form or of refusals."""
    shares = dict(zip((pool.name for pool in chapter.pools), unread.shares(chapter.pools), strict=False))
    found = [(line.name, shares.get(line.name)) for line in systems]
    return [
        f"{100 * share.value:.1f} % of the replies of {name} give no choice (unread, or a tie) and count as "
        "wrong."
        for name, share in found
        if isinstance(share, Estimate | Mean) and share.value
    ]


def _people(chapter: Chapter, best: Line, lines: Sequence[Line]) -> list[str]:
    line = next((one for one in lines if one.kind == "people" and METRIC in one.marks), None)
    if line is None:
        return []
    if not line.name.endswith("published"):
        return _asked(chapter, best, line)
    theirs = line.marks[METRIC].value
    behind = 100 * (theirs - best.marks[METRIC].value)
    where = ", on other items" if line.elsewhere else ""
    return [f"People have {100 * theirs:.1f} % right (published{where}): {_far(behind, '')}."]


def _asked(chapter: Chapter, best: Line, line: Line) -> list[str]:
    """People who answered these items, and the best system on the items that they answered."""
    asked = people.answered(chapter)
    (pool,) = (pool for pool in chapter.pools if pool.name == best.name)
    its = comparison.mean_accuracy([[row for row in run if row.id in asked] for run in pool.runs])
    theirs = line.marks[METRIC].value
    who = line.name.removeprefix("people").lstrip(", ")
    sentence = (
        f"People{f' ({who})' if who else ''} have {100 * theirs:.1f} % of {counted(len(asked), 'item')} right"
    )
    if its is None:
        return [f"{sentence}."]
    ahead = 100 * (theirs - its.value)
    return [f"{sentence}: {_far(ahead, f' than {best.name}', f' as {best.name}')} on these items."]


def _far(points: float, than: str, like: str = "") -> str:
    """How far people are from a system, as a reader sees it after rounding."""
    shown = round(points, 1)
    if not shown:
        return f"as many{like}"
    return f"{abs(shown):.1f} points {'more' if shown > 0 else 'less'}{than}"


def _p(p: float) -> str:
    said = p_value(p)
    return said if said.startswith("<") else f"= {said}"

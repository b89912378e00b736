"""The first sections of a report: results beside chance, people and published numbers; and how to reproduce
them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from figlang.reports import (
    differences,
    elsewhere,
    intervals,
    legend,
    pairs,
    people,
    plots,
    ranked,
    unread,
    verdict,
)
from figlang.reports.figures import training_curves
from figlang.reports.parts import Chapter, Part, Picture, Prose, Section, fitted
from figlang.reports.ranked import Line
from figlang.reports.terminal import (
    BLIND,
    CLEAN,
    GAIN,
    TITLES,
    UNREAD,
    cautions,
    cleanness,
    stayed_at_chance,
)
from figlang.runs import spelled
from figlang.runs.spelled import UNTRAINED
from figlang.runs.systems import Pool
from figlang.statistics.comparison import mean_accuracy, mean_pair_accuracy
from figlang.statistics.metrics import Estimate, as_row, by_group
from figlang.tables import Cell, Mean, Table
from figlang.text.amounts import counted

HIDDEN = (
    "Blind accuracy: the same model chooses among the same options with the context hidden. The gain over it "
    "is what the context adds, paired, in points."
)
LISTED = 10  # systems that a note names
NAMED = 60  # systems that a figure has room for the names of
TRAININGS = 8  # whose curves are shown
SHARES = ("accuracy", "pair_accuracy")
# Columns that a narrow table leaves out, in this order.
OPTIONAL = (
    "backward accuracy",
    "backward pair accuracy",
    TITLES["first_option"],
    TITLES["same_answer"],
    CLEAN,
)


def summary(chapter: Chapter) -> Section:
    """Every system with its metrics and their intervals, as a table and as a figure; single seeds below."""
    said = [Prose(sentence, "answer") for sentence in verdict.sentences(chapter, lines(chapter))]
    parts: list[Part] = [*said, *_systems(chapter), _results(chapter), *_seeds(chapter)]
    if found := legend.table(chapter.pools):
        parts.append(fitted(found))
    if hidden := [pool.name for pool in chapter.pools if pool.systems[0].content["metrics"].get("hidden")]:
        parts.append(
            Prose(f"Labels are hidden in part or whole, and hidden ones not counted: {', '.join(hidden)}.")
        )
    return Section("Summary", tuple(parts))


def _results(chapter: Chapter) -> Table:
    """Every system with its metrics, and below a rule the published numbers beside them."""
    columns = _columns(chapter)
    rows = [
        (pool.name, len(pool.systems[0].predictions), *(cells[place] for _, cells in columns))
        for place, pool in enumerate(chapter.pools)
    ]
    beside, about = elsewhere.beside(chapter, columns)
    if theirs := people.line(chapter):
        count = len(people.answered(chapter))
        beside = [(theirs.name, count, *(theirs.marks.get(heading) for heading, _ in columns)), *beside]
        about = [theirs.note, *about]
    headings = ("system", "n", *(heading for heading, _ in columns))
    ruled = (len(rows),) if beside else ()
    notes = (*_notes(chapter), *about)
    return Table(
        "summary", f"Results on {chapter.name}", headings, (*rows, *beside), notes, ruled, optional=OPTIONAL
    )


def _columns(chapter: Chapter) -> list[tuple[str, list[Cell]]]:
    """Headings that at least one system has a value for, each with a cell for every pool."""
    shown = [(name, TITLES[name], "metrics") for name in TITLES]
    shown += [(name, f"backward {TITLES[name]}", "backward") for name in SHARES] + [
        ("accuracy", BLIND, "blind"),
        ("accuracy", CLEAN, "clean"),
        ("accuracy", "three-way accuracy", "three_way"),
    ]
    columns = [
        (heading, cells)
        for name, heading, part in shown
        if any(cells := [_metric(pool, name, part) for pool in chapter.pools])
    ]
    if any(gains := [pool.gain for pool in chapter.pools]):
        place = [heading for heading, _ in columns].index(BLIND) + 1
        columns.insert(place, (GAIN, [*gains]))
    if shares := unread.shares(chapter.pools):
        columns.append((UNREAD, shares))
    return columns


def _notes(chapter: Chapter) -> list[str]:
    """Notes that a reader of the results needs."""
    rows = chapter.systems[0].predictions
    about = f"Accuracies are in %. {intervals.note(rows)} A tie counts as wrong."
    notes = [*([about] if by_group(rows) else []), *_pairs(chapter)]  # hidden labels leave no accuracy
    if any(pool.gain for pool in chapter.pools):
        notes.append(HIDDEN)
    if any(len(pool.systems) > 1 for pool in chapter.pools):
        notes.append(f"{differences.SEEDS} Other metrics have mean ± standard deviation.")
    if any(len(pool.systems) == 2 for pool in chapter.pools):
        notes.append(differences.TWO)
    notes += differences.of_single_weights(chapter.pools) if by_group(rows) else []
    notes += _of_each(chapter, _clean)[:LISTED]
    notes += [text for pool in chapter.pools for text in _warnings(pool)]
    return notes + _of_each(chapter, cautions)


def _clean(content: Mapping[str, Any]) -> list[str]:
    return [cleanness(content["clean"])] if "clean" in content else []


def _of_each(chapter: Chapter, told: Callable[[Mapping[str, Any]], Sequence[str]]) -> list[str]:
    """Sentences about systems, each once, with the systems that it is about before it.

    Args:
        chapter: The systems.
        told: The sentences about a metrics.json.
    """
    about: dict[str, set[str]] = {}
    for system in chapter.systems:
        for line in told(system.content):
            about.setdefault(line, set()).add(system.name)
    return [f"{_whose(chapter.pools, names)}: {line}" for line, names in about.items()]


def _whose(pools: Sequence[Pool], named: Collection[str]) -> str:
    """The names of systems; a pool by its own name, if all its seeds are among them."""
    names: list[str] = []
    for pool in pools:
        own = [system.name for system in pool.systems if system.name in named]
        names += [pool.name] if len(own) == len(pool.systems) else own
    return "All systems" if len(pools) > 1 and names == [pool.name for pool in pools] else "; ".join(names)


def _pairs(chapter: Chapter) -> list[str]:
    """A note about pair accuracy: what it would be if the answers to a pair were independent."""
    shares = []
    for pool in chapter.pools:
        cells = [_metric(pool, name, "metrics") for name in SHARES]
        if isinstance(cells[0], Estimate) and isinstance(cells[1], Estimate):
            share = pairs.expected(cells[0], cells[1])
            shares += [] if share is None else [f"{pool.name} {100 * share:.1f}"]
    if not shares:
        return []
    more = "" if len(shares) <= LISTED else f" (the first {LISTED} systems)"
    return [
        f"{pairs.SAME} Pairs that would be right at each accuracy if the answers were independent, in %: "
        f"{'; '.join(shares[:LISTED])}{more}."
    ]


def _systems(chapter: Chapter) -> list[Part]:
    """The figure of the systems; without their names where these are too many."""
    found = lines(chapter)
    if not found:
        return []
    title = "Accuracy and pair accuracy with 95 % intervals; dotted: chance."
    if len(chapter.pools) <= NAMED:
        hollow = any(line.elsewhere for line in found)
        more = " Hollow marks were measured on other items." if hollow else ""
        return [Picture("systems", f"{title}{more}", ranked.systems(found), lines=tuple(found))]
    picture = plots.unnamed([line for line in found if line.kind in ("system", "untrained")])
    return [Picture("systems", f"{title} Systems from the best to the last.", picture, lines=tuple(found))]


def lines(chapter: Chapter) -> list[Line]:
    """The systems of the figure, with people and published systems for orientation; none without labels."""
    shares = [_metric(pool, "accuracy", "metrics") for pool in chapter.pools]
    values = [share.value if isinstance(share, Estimate | Mean) else 0.0 for share in shares]
    order = sorted(range(len(values)), key=lambda place: -values[place])
    compared = chapter.compared
    groups = differences.grouped(len(values), compared, order) if compared else [""] * len(values)
    made = []
    for pool, group in zip(chapter.pools, groups, strict=True):
        cells = {TITLES[name]: _metric(pool, name, "metrics") for name in SHARES}
        marks = {name: cell for name, cell in cells.items() if isinstance(cell, Estimate | Mean)}
        blind = _metric(pool, "accuracy", "blind")
        if marks:
            made.append(
                Line(
                    pool.name,
                    marks,
                    "untrained" if spelled.trained(pool.systems[0].content)[0] == UNTRAINED else "system",
                    group,
                    blind if isinstance(blind, Estimate | Mean) else None,
                )
            )
    if not made:
        return []
    theirs = people.line(chapter)
    return [*made, *([theirs] if theirs else []), *elsewhere.lines(chapter)]


def _metric(pool: Pool, name: str, part: str) -> Cell:
    found = [as_row(system.content.get(part, {}), name) for system in pool.systems]
    estimates = [estimate for estimate in found if estimate is not None]
    if not estimates or len(estimates) < len(found):
        return None
    if len(estimates) == 1:
        return estimates[0]
    mean = (
        {"accuracy": mean_accuracy, "pair_accuracy": mean_pair_accuracy}.get(name)
        if part == "metrics"
        else None
    )
    return mean(pool.runs) if mean else Mean.over(estimate.value for estimate in estimates)


def _warnings(pool: Pool) -> list[str]:
    collapsed = [str(system.seed) for system in pool.systems if stayed_at_chance(system.content)]
    return (
        [f"{pool.name}: at chance in training to the end, and counted: seed {', '.join(collapsed)}."]
        if collapsed
        else []
    )


def _seeds(chapter: Chapter) -> list[Part]:
    rows = []
    for pool in chapter.pools:
        if len(pool.systems) > 1:
            for name in SHARES:
                found = [as_row(system.content["metrics"], name) for system in pool.systems]
                values = [estimate.value for estimate in found if estimate is not None]
                if len(values) == len(pool.systems):
                    seeds = ", ".join(
                        f"{system.seed}: {100 * value:.1f}"
                        for system, value in zip(pool.systems, values, strict=True)
                    )
                    rows.append(
                        (
                            pool.name,
                            TITLES[name],
                            Mean.over(values),
                            _percent(min(values)),
                            _percent(max(values)),
                            seeds,
                        )
                    )
    columns = ("system", "metric", "mean ± sd", "lowest", "highest", "seed: value")
    return [fitted(Table("seeds", "Spread over seeds", columns, tuple(rows)))] if rows else []


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def reproduction(chapter: Chapter) -> Section:
    """Signature, command, versions, data and notes of every system."""
    parts: list[Part] = []
    for pool in chapter.pools:
        for system in pool.systems:
            content = system.content
            seed = f", seed {system.seed}" if len(pool.systems) > 1 else ""
            parts.append(Prose(f"{pool.name}{seed}", "heading"))
            parts.append(Prose(f"from {system.folder}", "note"))
            if "command" in content:
                parts.append(Prose(content["command"], "code"))
                parts.append(Prose(content["signature"], "code"))
            data = content.get("data", {})
            sources = [
                f"{role}: {one['source']}, {counted(one['items'], 'item')}, sha256 {one['sha256']}"
                for role, one in data.items()
                if isinstance(one, dict) and "sha256" in one
            ]
            versions = ", ".join(f"{name} {version}" for name, version in content.get("versions", {}).items())
            health = [f"health, epoch {one['epoch']}: {one['message']}" for one in content.get("health", ())]
            parts += [
                Prose(line, "note") for line in (*sources, versions, *data.get("notes", ()), *health) if line
            ]
    return Section("How to make it again", tuple(parts), folded=True)


def curves(chapter: Chapter) -> Section | None:
    """Loss and accuracy of every training."""
    parts: list[Part] = []
    trained = [system for system in chapter.systems if system.history()]
    for place, system in enumerate(trained[:TRAININGS]):
        chance = as_row(system.content["metrics"], "accuracy")
        drawn = training_curves(
            system.history(), None if chance is None else chance.chance, spelled.split_of(system.content)
        )
        for name, figure in drawn.items():
            parts.append(Picture(f"{name}-{place + 1}", f"{system.name}: {name} during training.", figure))
    if len(trained) > TRAININGS:
        parts.append(
            Prose(
                f"Shown are the first {TRAININGS} of {len(trained)} trainings; every run folder has its own "
                "curves."
            )
        )
    return Section("Training", tuple(parts), folded=len(parts) > 4) if parts else None

"""Sections that set systems beside each other: every pair with tests, prompts, training sizes."""

import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from figlang.config.groups.scoring import NORMS
from figlang.reports import intervals, learning, plots, unread
from figlang.reports.figures import prompt_bars, prompt_series
from figlang.reports.parts import Chapter, Long, Part, Picture, Section, fitted
from figlang.reports.terminal import BLIND, GAIN, UNREAD
from figlang.runs import names, spelled
from figlang.runs.systems import Pool, System
from figlang.statistics.clustered import LEVEL
from figlang.statistics.comparison import (
    Compared,
    Difference,
    mean_accuracies,
    mean_accuracy,
    mean_pair_accuracy,
)
from figlang.statistics.letters import letters
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import Cell, Mean, Number, PValue, Table
from figlang.tables.drawing import SERIES
from figlang.text.amounts import counted, form

MOST = 45  # pairs of systems on the page, those of ten; more are in the files
LISTED = 10  # systems that a note names
PICTURES = 8  # pictures of sets of prompts; further sets have tables only
BARS = 24  # prompts of a picture; more have no room for their labels
GROUPS = (
    "Group: no difference in accuracy was found between systems that share a letter (p by Holm at .05 or "
    "above). With few items, large differences are not found either."
)
SEEDS = "Seeds of one recipe are one row: the mean over them. Its interval takes seeds as drawn too."
TWO = (
    "Two seeds say little about how much seeds differ: such an interval can be very wide, or by chance too "
    "narrow. Three seeds or more are better."
)
PROMPT_BARS = "Thin bars: 95 % intervals over clusters of items; dotted: chance, if it is known."
CURVE_BARS = (
    "Bars: the 95 % interval over clusters of items for one seed, and ± one standard deviation for several; "
    "dots: single seeds; dotted: chance."
)
DIFFERENCE = "difference"
TESTED = ("only A right / only B right", "p", "p (Holm)")
PAIRS, AGREEMENT = "pairs", ("same choice", "κ")
# Columns that a narrow comparison leaves out, in this order.
OPTIONAL = (
    f"{PAIRS}: p (Holm)",
    f"{PAIRS}: {DIFFERENCE}",
    TESTED[0],
    TESTED[1],
    f"{PAIRS}: {TESTED[0]}",
    *AGREEMENT,
    f"{PAIRS}: p",
)
TEST = (
    "Differences are A minus B, paired, in points. 95 % intervals and two-sided p come from one score test. "
    "It takes {} as independent, and seeds too, where several are pooled. Where each of these is one case, "
    "it is McNemar's test without continuity correction, by Student's t. p (Holm): corrected for all "
    "comparisons of the table, items and pairs apart; intervals are not."
)
DISCORDANT = "Only A right / only B right: the number of items or pairs."


def compared(chapter: Chapter) -> Section | None:
    """Compare every two systems of the chapter; None if there is only one, or if labels are hidden."""
    found = chapter.compared
    if not found:
        return None
    every = table(chapter.pools, found)
    if len(found) == 1:
        return Section("Comparison", (every,))
    return Section(
        "Comparison", (ranking(chapter.pools, found), every if len(found) <= MOST else Long(every))
    )


def notes(pools: Sequence[Pool], found: Sequence[Compared]) -> tuple[str, ...]:
    """Notes below a comparison; the last ones say if likelihoods were scored in different ways."""
    about = (_tested(pools), *([DISCORDANT] if any(one.items.won is not None for one in found) else []))
    about += (*of_single_weights(pools), *_identical(pools))
    ways = {pool.name: way for pool in pools if (way := _way(pool.systems[0]))}
    if len(set(ways.values())) < 2:
        return about
    listed = "; ".join(f"{name} by {way}" for name, way in ways.items())
    said = f"Scored in different ways: {listed}. A part of each difference may be the scoring's."
    wanted = next(iter(ways.values()))
    other = next(pool for pool in pools if ways.get(pool.name, wanted) != wanted)
    command = _alike(other.systems[0], wanted)
    return (*about, said, *([f"To score {other.name} like the first: {command}"] if command else []))


def _identical(pools: Sequence[Pool]) -> list[str]:
    """Say which systems have the same scores on every item: one of them may be a copy of the other."""
    same: dict[tuple[tuple[tuple[float, ...], ...], ...], list[str]] = {}
    for pool in pools:
        scores = tuple(tuple(row.scores for row in run) for run in pool.runs)
        same.setdefault(scores, []).append(pool.name)
    return [f"Identical predictions: {'; '.join(alike)}." for alike in same.values() if len(alike) > 1]


def _tested(pools: Sequence[Pool]) -> str:
    return TEST.format(intervals.unit(pools[0].systems[0].predictions))


def _intervals(pools: Sequence[Pool]) -> str:
    return intervals.note(pools[0].systems[0].predictions)


def _way(system: System) -> str:
    """How log-probabilities were made into scores; empty for other scores."""
    facts = system.content.get("facts", {})
    norm = str(facts.get("norm", "none"))
    if norm not in NORMS:
        return ""
    return f"{str(facts.get('scoring')).partition('(')[0]}, {norm}"


def _alike(system: System, way: str) -> str:
    """The command that evaluates a system again by another scoring; empty if it is not known."""
    scoring, _, norm = way.partition(", ")
    words = [f"scoring={scoring}", f"scoring.norm={norm}", f"name={scoring}_{norm}"]
    if (system.folder / "figlang.json").is_file() or (system.folder / "recipe.json").is_file():
        return shlex.join(["figlang", "evaluate", f"checkpoint={system.folder}", *words])
    given = shlex.split(system.content.get("command", "")) if "command" in system.content else []
    verb = next(
        (place for place, word in enumerate(given) if word.removesuffix(".py").endswith("evaluate")), None
    )
    if verb is None:
        return ""
    kept = [word for word in given[verb + 1 :] if not word.startswith(("scoring", "name=", "output="))]
    return shlex.join(["figlang", "evaluate", *kept, *words])


def table(pools: Sequence[Pool], found: Sequence[Compared]) -> Table:
    """One row for every two systems."""
    pairs = f"{PAIRS}: "
    columns = [
        "system A",
        "system B",
        DIFFERENCE,
        *TESTED,
        f"{pairs}{DIFFERENCE}",
        *(f"{pairs}{name}" for name in TESTED),
        *AGREEMENT,
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            pools[one.second].name,
            pools[one.first].name,
            *_cells(one.items, one.items_holm),
            *_cells(one.pairs, one.pairs_holm),
            Mean(one.agreement.share),
            None if one.agreement.kappa is None else Number(one.agreement.kappa),
        )
        for one in found
    ]
    # Without pairs, or where all systems are of several seeds, some columns have no value.
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]
    return Table(
        "comparison",
        f"Every two systems{_on(pools)}",
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in rows),
        notes(pools, found),
        optional=OPTIONAL,
    )


def _on(pools: Sequence[Pool]) -> str:
    """The items that all systems have, for a title."""
    systems = [system for pool in pools for system in pool.systems]
    called = spelled.together([system.content for system in systems])
    return f" on {', '.join(filter(None, (called, counted(len(systems[0].predictions), 'item'))))}"


def ranking(pools: Sequence[Pool], found: Sequence[Compared]) -> Table:
    """Rank the systems, the best first. No difference in accuracy was found between systems that
    share a letter."""
    accuracies = mean_accuracies([pool.runs for pool in pools])
    shares = [0.0 if one is None else one.value for one in accuracies]
    order = sorted(range(len(pools)), key=lambda place: -shares[place])
    groups = grouped(len(pools), found, order)
    columns: list[tuple[str, list[Cell]]] = [
        ("system", [pool.name for pool in pools]),
        ("runs", [len(pool.systems) for pool in pools]),
        ("accuracy", [*accuracies]),
        ("group", [*groups]),
        ("pair accuracy", [mean_pair_accuracy(pool.runs) for pool in pools]),
    ]
    points = ""
    if any(gains := [pool.gain for pool in pools]):
        points = f", the {GAIN} in points"
        columns += [(BLIND, [_blind(pool) for pool in pools]), (GAIN, [*gains])]
    if replies := unread.shares(pools):
        columns.append((UNREAD, replies))
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    headings = tuple(name for name, _ in columns)
    about = [f"Accuracies are in %{points}. {_intervals(pools)}"]
    if any(len(pool.systems) > 1 for pool in pools):
        about.append(SEEDS)
    if any(len(pool.systems) == 2 for pool in pools):
        about.append(TWO)
    about += _trained([pools[place] for place in order])
    ranked = tuple(rows[place] for place in order)
    return Table("systems", f"Systems{_on(pools)}", headings, ranked, (*about, GROUPS))


def of_single_weights(pools: Sequence[Pool]) -> list[str]:
    """Say which trained systems have a single run, since their intervals and p leave seeds out."""
    found = [(pool, names.properties(pool.systems[0].content)["trained"]) for pool in pools]
    single = [pool.name for pool, on in found if len(pool.systems) == 1 and on not in ("", spelled.UNTRAINED)]
    if not single:
        return []
    which = "; ".join(single) if len(single) <= LISTED else counted(len(single), "system")
    what = form(len(single), "A single set of weights", "Single sets of weights")
    return [f"{what}: {which}. Intervals and p are about these weights and not about other seeds."]


def _trained(pools: Sequence[Pool]) -> list[str]:
    """What systems were trained on, if some were trained and others were not, which names need not say."""
    found = [(pool.name, names.properties(pool.systems[0].content)["trained"]) for pool in pools]
    trained = [f"{name} ({on})" for name, on in found if on not in ("", spelled.UNTRAINED)]
    untrained = [name for name, on in found if on == spelled.UNTRAINED]
    if not (trained and untrained):
        return []
    return [f"Trained: {', '.join(trained)}. Untrained: {', '.join(untrained)}."]


def grouped(count: int, found: Sequence[Compared], order: Sequence[int]) -> list[str]:
    """The letters of `count` systems: no difference in accuracy was found between those that share
    one."""
    apart = np.zeros((count, count), bool)
    for one in found:
        apart[one.first, one.second] = apart[one.second, one.first] = one.items_holm < LEVEL
    return letters(apart, order)


def _blind(pool: Pool) -> Cell:
    if len(pool.systems) == 1:
        return as_row(pool.systems[0].content.get("blind", {}), "accuracy") if pool.gain else None
    return mean_accuracy([system.blind for system in pool.systems]) if pool.gain else None


def _cells(difference: Difference | None, corrected: float | None) -> tuple[Cell, ...]:
    if difference is None or corrected is None:
        return None, None, None, None
    discordant = None if difference.won is None else f"{difference.won} / {difference.lost}"
    return difference, discordant, PValue(difference.p), PValue(corrected)


def sizes(chapter: Chapter) -> Section | None:
    """The learning curve of systems that were trained on several sizes."""
    found = learning.series(system.folder for system in chapter.systems)
    if not found:
        return None
    columns = ("model", "training items", "seeds", "accuracy", "pair accuracy")
    rows = []
    for name, points in found.items():
        for point in points:
            cells = [point.metrics.get(metric) for metric in columns[3:]]
            shown = [None if each is None else _over_seeds(each) for each in cells]
            rows.append((name, point.items, max(len(each) for each in cells if each), *shown))
    about = f"Accuracies are in %. {_intervals(chapter.pools)} Of several seeds: mean ± standard deviation."
    title = "Accuracy by number of training items"
    parts: list[Part] = [fitted(Table("learning_curve", title, columns, tuple(rows), (about,)))]
    if len(found) <= len(SERIES):  # more lines could not be told apart
        parts.insert(
            0,
            Picture(
                "learning_curve",
                f"Accuracy by number of training items. {CURVE_BARS}",
                plots.learning_curve(found),
            ),
        )
    return Section("Learning curve", tuple(parts))


def _over_seeds(estimates: Sequence[Estimate]) -> Cell:
    return estimates[0] if len(estimates) == 1 else Mean.over(one.value for one in estimates)


def prompts(chapter: Chapter) -> Section | None:
    """Accuracy by prompt, its spread over prompts, and published values. The systems differ only in their
    prompt."""
    parts: list[Part] = []
    published, notes = chapter.task.prompts(), chapter.task.beside("prompts").notes
    for place, (title, each) in enumerate(prompt_series([system.content for system in chapter.systems])):
        name = f"prompts-{place + 1}"
        if place < PICTURES and len(each) <= BARS:
            parts.append(
                Picture(
                    name, f"Accuracy and pair accuracy by prompt. {PROMPT_BARS}", prompt_bars(each, title)
                )
            )
        rows: list[tuple[Cell, ...]] = []
        for label, accuracy, pairs in each:
            rows.append((label.replace("\n", " "), accuracy, pairs, *_published(label, published)))
        paired = [pairs.value for *_, pairs in each if pairs is not None]
        spread = Mean.over(accuracy.value for _, accuracy, _ in each)
        rows.append(
            (
                f"mean ± sd of {len(each)}",
                spread,
                Mean.over(paired) if len(paired) == len(each) else None,
                *[None] * len(published),
            )
        )
        columns = ("prompt", "accuracy", "pair accuracy", *(f"{model}, published" for model in published))
        about = (f"Accuracies are in %. {_intervals(chapter.pools)}", *notes)
        parts.append(fitted(Table(name, f"By prompt, {title.splitlines()[0]}", columns, tuple(rows), about)))
    return Section("Prompts", tuple(parts)) if parts else None


def _published(label: str, published: Mapping[str, Mapping[str, float]]) -> tuple[Cell, ...]:
    """The published accuracy of each model for the prompt of a bar."""
    prompt = label.replace(" ", "")
    return tuple(
        Mean(round(values[prompt] / 100, 4)) if prompt in values else None for values in published.values()
    )

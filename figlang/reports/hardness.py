"""Sections about hard items: accuracy by attribute, correlations, reliance on the answer alone,
calibration."""

from collections.abc import Mapping, Sequence

from figlang.machine import bars
from figlang.reports import intervals, plots
from figlang.reports.parts import Chapter, Long, Part, Picture, Prose, Section, fitted
from figlang.statistics import breakdown
from figlang.statistics.calibration import calibration
from figlang.statistics.comparison import mean_accuracies
from figlang.statistics.correlation import Correlation, replied
from figlang.statistics.metrics import Estimate, by_group, numbers
from figlang.statistics.reliance import Alone, Reliance, alone, factors, reliance
from figlang.tables import Cell, Mean, Number, PValue, Range, Table
from figlang.tasks.task import Beside
from figlang.types import QUANTITIES

Values = Mapping[str, Mapping[str, Sequence[str]]]  # attribute: item id: values
COLUMNS = 12  # values of an attribute in a heat map
SYSTEMS = 10  # columns of a table on the page
MOST = 100  # an attribute with more values than this is an id, not a category
PANELS = 4  # systems in a figure
INTERVALS = (
    "95 % intervals and two-sided p (that a correlation is 0) are over clusters of items. They are not "
    "corrected for the number of correlations."
)


def attributes(chapter: Chapter, linguistic: Values, reason: str) -> Section | None:
    """Accuracy by each attribute of the items and of their linguistic analyses, or the reason why there are
    none."""
    own: dict[str, dict[str, Sequence[str]]] = {}
    for row in chapter.systems[0].predictions:
        for name, given in row.attributes.items():
            own.setdefault(name, {})[row.id] = given
    parts: list[Part] = []
    for name, values in {**own, **linguistic}.items():
        if table := _breakdown(chapter, name, values):
            parts.append(fitted(_heat(table, chapter)))
            parts += [Long(table)] if len(chapter.pools) <= SYSTEMS else [_over_systems(table), Long(table)]
    measured = [(pool.name, pool.runs) for pool in chapter.pools]
    parts += [fitted(table) for table in chapter.task.breakdowns(measured, own)]
    if linguistic:
        parts += [Prose(note) for note in chapter.task.analysis_notes()]
    if reason:
        parts.append(Prose(f"No linguistic analyses: {reason}"))
    return Section("Where systems differ", tuple(parts)) if parts else None


def _breakdown(chapter: Chapter, name: str, values: Mapping[str, Sequence[str]]) -> Table | None:
    if name in QUANTITIES and numbers(values.values()):
        made = [breakdown.by_quarters(pool.runs, values) for pool in bars.track(chapter.pools, name)]
    else:
        made = [breakdown.by_attribute(pool.runs, values) for pool in bars.track(chapter.pools, name)]
    cells = [{cell.value: cell for cell in each} for each in made]
    if not cells[0] or len(cells[0]) > MOST:
        return None
    rows = tuple(
        (value, cell.estimate.n, *(each[value].estimate if value in each else None for each in cells))
        for value, cell in cells[0].items()
    )
    groups = by_group(chapter.systems[0].predictions).values()
    having = sum(bool(values.get(row.id)) for members in groups for row in members)
    notes = [f"Accuracies are in %. {intervals.note(chapter.systems[0].predictions)}"]
    if sum(cell.estimate.n for cell in cells[0].values()) > having:
        notes.append("An item with several values is in several rows.")
    if any(cell.merged for cell in cells[0].values()):
        notes.append(
            f"Values with fewer than {breakdown.FEWEST} items are one row together, in which an item counts "
            "once."
        )
    columns = (name, "n", *(pool.name for pool in chapter.pools))
    return Table(f"by_{name.replace(' ', '_')}", f"Accuracy by {name}", columns, rows, tuple(notes))


def _heat(table: Table, chapter: Chapter) -> Table:
    """Turn a table by attribute into one with a row for each system, the best first, and coloured shares."""
    accuracies = mean_accuracies([pool.runs for pool in chapter.pools])
    order = sorted(range(len(accuracies)), key=lambda place: -_value(accuracies[place]))
    of = len(chapter.systems[0].predictions)
    columns = [f"{row[0]} ({row[1]:,} of {of:,})" for row in table.rows[:COLUMNS]]
    rows = tuple(
        (table.columns[2 + place], *(row[2 + place] for row in table.rows[:COLUMNS])) for place in order
    )
    return Table(
        f"{table.name}_heat", table.title, ("system", *columns), rows, table.notes, brief=True, heat=True
    )


def _value(share: Estimate | Mean | None) -> float:
    return 0.0 if share is None else share.value


def _over_systems(table: Table) -> Table:
    """Turn a table by attribute with a column for each system into one of the spread over systems."""
    names = table.columns[2:]
    rows: list[tuple[Cell, ...]] = []
    for value, n, *cells in table.rows:
        shares = sorted(
            (cell.value, name) for cell, name in zip(cells, names, strict=True) if isinstance(cell, Estimate)
        )
        (low, last), (high, first) = shares[0], shares[-1]
        rows.append((value, n, Mean.over(share for share, _ in shares), Mean(low), last, Mean(high), first))
    columns = (
        *table.columns[:2],
        f"mean ± sd of {len(names)} systems",
        "lowest",
        "its system",
        "highest",
        "its system",
    )
    return Table(
        f"{table.name}_over_systems", f"{table.title}, over systems", columns, tuple(rows), table.notes
    )


def likelihood(chapter: Chapter) -> Section | None:
    """How much choices depend on the likelihood of the answer alone, and on other properties of items."""
    answers, per_token, given_by, whose = _alone(chapter)
    parts: list[Part] = []
    if answers:
        systems = ((pool.name, pool.systems[0]) for pool in chapter.pools)
        measured = [(name, reliance(system.predictions, answers[system.name])) for name, system in systems]
        measured = [(name, each) for name, each in measured if each.points]
        if measured:
            parts.append(Prose(given_by))
            parts += _reliance(chapter, measured, whose)
    if table := _factors(chapter, per_token):
        parts.append(fitted(table))
    return Section("Reliance on likely answers", tuple(parts)) if parts else None


def _reliance(chapter: Chapter, measured: Sequence[tuple[str, Reliance]], whose: str) -> list[Part]:
    beside = chapter.task.beside("reliance")
    rows: list[tuple[Cell, ...]] = [
        (name, "here", *_correlation(each.correlation)) for name, each in measured
    ]
    columns = ("system", "regime", "Spearman r", "95 % CI", "p", "pairs")
    note = (
        "First item of every pair, so that cases are independent. 95 % intervals and two-sided p (that r is "
        "0) after Bonett & Wright (2000), not corrected for the number of systems. 0: choices do not depend "
        "on the answer alone."
    )
    notes = (note, *chapter.single, *beside.notes)
    title = f"Reliance on {whose} probability of the answer alone{_in_paper(beside)}"
    caption = (
        f"P(first answer | {chapter.task.context}) over the log odds of the answers alone, with regression "
        "lines of all points; those beyond the limits stand on the edge."
    )
    shown = measured[:PANELS]
    parts: list[Part] = [
        fitted(Table("reliance", title, columns, (*rows, *beside.rows), notes)),
        Picture("reliance", caption, plots.reliance(shown), plots.apart(plots.reliance, shown)),
    ]
    if len(measured) > PANELS:
        parts.append(Prose(f"Shown are the first {PANELS} of {len(measured)} systems."))
    return parts


def _factors(chapter: Chapter, per_token: Mapping[str, Alone]) -> Table | None:
    context, beside = chapter.task.context, chapter.task.beside("factors")
    rows: list[tuple[Cell, ...]] = []
    for pool in chapter.pools:
        system = pool.systems[0]
        for factor, (_, true, continuous) in factors(
            system.predictions, chapter.items, per_token.get(system.name, {})
        ).items():
            named = factor.replace("metaphor", context)
            rows.append((pool.name, named, *_correlation(true), *_correlation(continuous)[:3]))
    if not rows:
        return None
    headings = (
        *("system", "correlation with", "right or wrong", "95 % CI", "p", "n"),
        *(f"P(right answer | {context})", "its 95 % CI", "its p"),
    )
    title = f"Length and answer probability{_in_paper(beside)}"
    notes = (*beside.notes, INTERVALS, *chapter.single)
    return Table("factors", title, headings, (*rows, *beside.rows), notes)


def _in_paper(beside: Beside) -> str:
    return f" ({beside.place})" if beside.place else ""


def _alone(chapter: Chapter) -> tuple[dict[str, Alone], dict[str, Alone], str, str]:
    """log P(answer alone) for every system. If a system has none, that of another system in the chapter is
    used.

    The first dictionary is normalised like the system's scores, the second is per token. The sentence names
    the system that they are from, and the last text says in a title whose they are.
    """
    own: dict[str, Alone] = {}
    own_per_token: dict[str, Alone] = {}
    for system in bars.track(chapter.systems, "log-probabilities"):
        rows, norm = system.log_probabilities(), system.content.get("facts", {}).get("norm", "mean")
        if found := alone(rows, norm):
            own[system.name] = found
            own_per_token[system.name] = found if norm == "mean" else alone(rows, "mean")
    if not own:
        return {}, {}, "", ""
    # A model that was not trained on the answers shows best how likely they are by themselves.
    untrained = (system.name for system in chapter.systems if system.name in own and system.seed is None)
    lender = next(untrained, next(iter(own)))
    borrowing = [system.name for system in chapter.systems if system.name not in own]
    text = "P(y) is each system's own probability of the answer without the metaphor."
    if borrowing:
        text += f" Those without one take it from {lender}: {', '.join(borrowing)}."
    names = [system.name for system in chapter.systems]
    lent, per_token = (
        {name: each.get(name, each[lender]) for name in names} for each in (own, own_per_token)
    )
    whose = f"each system's own, or {lender}'s," if borrowing else "each system's own"
    return lent, per_token, text, whose


def _correlation(found: Correlation | None) -> tuple[Cell, ...]:
    if found is None:
        return None, None, None, None
    return Number(found.r), Range(found.low, found.high), PValue(found.p), found.n


def confidence(chapter: Chapter) -> Section | None:
    """Calibration of every system. If there are several seeds, only the first is shown."""
    pools = bars.track(chapter.pools, "calibration")
    measured = [(pool.name, calibration(pool.systems[0].predictions)) for pool in pools]
    found = [(name, each) for name, each in measured if each is not None]
    if not found:
        return None
    rows = tuple(
        (name, Number(each.ece), Number(each.brier), Number(each.log_loss), each.n) for name, each in found
    )
    notes = [
        "Of softmax(scores). ECE: mean distance of confidence and accuracy over ten bins of equally many "
        "items, without ties; with few items it is large for any system. Brier score summed over options; "
        "log loss in nats. Mean log-probabilities were not made to be probabilities: they stay near 0.5.",
        *chapter.single,
    ]
    letters = {pool.name for pool in chapter.pools if replied(pool.systems[0].predictions)}
    if tied := [name for name, each in measured if each is None and name not in letters]:
        notes.append(f"Every choice is a tie, so there is no confidence; left out: {', '.join(tied)}.")
    if named := [pool.name for pool in chapter.pools if pool.name in letters]:
        notes.append(
            f"Letters in replies say nothing about how sure a system is; left out: {', '.join(named)}."
        )
    columns = ("system", "ECE", "Brier score", "log loss", "n")
    shown = found[:PANELS]
    caption = (
        "Accuracy by probability of the choice, in up to ten bins of equally many items. Bars: 95 % "
        "intervals over clusters of items; dotted: as likely as right."
    )
    picture = Picture("calibration", caption, plots.calibration(shown), plots.apart(plots.calibration, shown))
    parts: list[Part] = [fitted(Table("calibration", "Calibration", columns, rows, tuple(notes))), picture]
    if len(found) > PANELS:
        parts.append(Prose(f"Shown are the first {PANELS} of {len(found)} systems."))
    return Section("Calibration", tuple(parts))

"""Sections about what makes items hard: attributes, correlations, reliance on the answer alone,
calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from figlang.machine import bars
from figlang.report import plots
from figlang.report.elsewhere import BENCHMARKS, share
from figlang.report.parts import Long, Part, Picture, Prose, Section, Task, fitted
from figlang.statistics import breakdown
from figlang.statistics.calibration import calibration
from figlang.statistics.correlation import Correlation, replied
from figlang.statistics.metrics import Estimate
from figlang.statistics.reliance import ANSWER, LENGTH, Alone, alone, factors, reliance
from figlang.tables import Cell, Mean, Number, PValue, Range, Table
from figlang.tasks import reference
from figlang.tasks.figqa import cut
from figlang.tasks.figqa.reading import COMMONSENSE
from figlang.types import QUANTITIES

Values = Mapping[str, Mapping[str, Sequence[str]]]  # attribute: item id: values
ON_TEST = "Published values were measured on the test split, whose labels are hidden: for orientation."
CONTINUOUS = (
    "The paper's numbers are of the last kind, with the continuous probability, though it calls them "
    "point-biserial."
)
INTERVALS = "Intervals and p are over pairs or groups."
NO_PAPER = (
    "The paper's tables 12 – 16 are not set beside these: its error rows were joined by exact strings, which "
    "lost a third of the "
    "errors, and the model is not named."
)
CUT = (
    "Tags are NLTK's, of segments that are cut out of their sentence and lemmatised as nouns, as in the "
    "paper's tables 12 – 14."
)
IN_SENTENCE = (
    "Tags are spaCy's, of the words in their sentence. The paper's tables 12 – 14 are of segments that are "
    "cut out of it (so "
    f'"the girl\'s room" is NN NN NN); `{cut.INSTALL}` gives those.'
)


def attributes(task: Task, linguistic: Values, reason: str) -> Section | None:
    """Accuracy by every attribute of the items, and by those that linguistic analyses found (or why there are
    none)."""
    own: dict[str, dict[str, Sequence[str]]] = {}
    for row in task.systems[0].predictions:
        for name, given in row.attributes.items():
            own.setdefault(name, {})[row.id] = given
    parts: list[Part] = []
    for name, values in {**own, **linguistic}.items():
        if table := _breakdown(task, name, values):
            parts += [table] if len(task.pools) <= SYSTEMS else [_over_systems(table), Long(table)]
    if "commonsense" in own:
        parts.append(fitted(_people(task, own["commonsense"])))
    if linguistic:
        parts += [Prose(CUT if cut.tagger() else IN_SENTENCE), Prose(NO_PAPER)]
    if reason:
        parts.append(Prose(f"No linguistic analyses: {reason}"))
    return Section("Accuracy by attribute", tuple(parts)) if parts else None


def _breakdown(task: Task, name: str, values: Mapping[str, Sequence[str]]) -> Table | None:
    if name in QUANTITIES:
        made = [breakdown.by_quarters(pool.runs, values) for pool in bars.track(task.pools, name)]
    else:
        made = [breakdown.by_attribute(pool.runs, values) for pool in bars.track(task.pools, name)]
    cells = [{cell.value: cell for cell in each} for each in made]
    if not cells[0] or len(cells[0]) > MOST:
        return None
    rows = tuple(
        (value, cell.estimate.n, *(each[value].estimate if value in each else None for each in cells))
        for value, cell in cells[0].items()
    )
    notes = []
    if any(cell.merged for cell in cells[0].values()):
        notes.append(
            f"Values with fewer than {breakdown.FEWEST} items are one row together, in which an item counts "
            "once."
        )
    columns = (name, "n", *(pool.name for pool in task.pools))
    return Table(f"by_{name.replace(' ', '_')}", f"Accuracy by {name}", columns, rows, tuple(notes))


def _over_systems(table: Table) -> Table:
    """A table by attribute with a column a system, as the spread over the systems."""
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


SYSTEMS = 10  # columns of a table on the page
MOST = 100  # an attribute with more values than this is an id, not a category


def _people(task: Task, values: Mapping[str, Sequence[str]]) -> Table:
    """Table 6 of Liu et al. 2022 with the systems of the task on top."""
    measured: list[tuple[Cell, ...]] = []
    for pool in task.pools:
        cells = {cell.value: cell.estimate for cell in breakdown.by_attribute(pool.runs, values, fewest=1)}
        estimates = [cells.get(full) for full in COMMONSENSE.values()]
        if not measured:
            measured.append(("items", "here", *(None if one is None else one.n for one in estimates), ""))
        measured.append((pool.name, "here", *estimates, ""))
    found: dict[tuple[str, str], dict[str, dict[str, reference.Published]]] = {}
    items: dict[str, str] = {}
    for row in reference.results():
        category = row.setting.get("category", "")
        if row.table == "Sec 3.2":
            items[category] = row.note.partition(" ")[0]
        elif row.table in ("Table 6", "recomputed") and category in COMMONSENSE:
            ways = found.setdefault((row.model, row.setting["regime"]), {})
            ways.setdefault("published" if row.table == "Table 6" else "recomputed", {})[category] = row
    theirs: list[tuple[Cell, ...]] = [
        ("items", "test, published", *(items[short] for short in COMMONSENSE), "")
    ]
    # People first: they are what a system is measured by.
    for (model, regime), ways in sorted(found.items(), key=lambda one: one[0][0] != "Human"):
        for way, categories in ways.items():
            shares = [share(categories[short]) if short in categories else None for short in COMMONSENSE]
            note = next((one.note for one in categories.values() if one.note), "")
            theirs.append((model, f"{regime}, {way}", *shares, note))
    columns = ("system", "regime", *COMMONSENSE.values(), "note")
    title = "Common-sense categories beside Table 6"
    return replace(Table.of_blocks("commonsense", title, columns, (measured, theirs)), notes=(ON_TEST,))


def likelihood(task: Task) -> Section | None:
    """Table 5 and Figure 3, and the correlations of §6.2."""
    own = _is_figqa(task)
    answers, per_token, given_by = _alone(task)
    first = [(pool.name, pool.systems[0]) for pool in task.pools]
    parts: list[Part] = []
    if answers:
        measured = [(name, reliance(system.predictions, answers[system.name])) for name, system in first]
        measured = [(name, each) for name, each in measured if each.points]
        if measured:
            parts.append(Prose(given_by))
            rows: list[tuple[Cell, ...]] = [
                (name, "here", *_correlation(each.correlation)) for name, each in measured
            ]
            rows += [
                (
                    row.model,
                    f"{row.setting['regime']}, published",
                    None if row.value is None else Number(row.value),
                    None,
                    None,
                    None,
                )
                for row in _published(task)
                if row.table == "Table 5" and row.metric == "spearman_r"
            ]
            columns = ("system", "regime", "Spearman r", "95 % CI", "p", "pairs")
            note = (
                "First item of every pair. Intervals after Bonett & Wright (2000). 0: choices do not "
                "depend on the answer alone."
            )
            title = "Reliance on the probability of the answer alone (Table 5)"
            parts.append(fitted(Table("reliance", title, columns, tuple(rows), (note, ON_TEST))))
            caption = (
                "P(first answer | metaphor) over the log odds of the answers alone (Figure 3), with "
                "regression lines of all "
                "points; those beyond the limits stand on the edge."
            )
            shown = measured[:PANELS]
            parts.append(
                Picture("reliance", caption, plots.reliance(shown), plots.apart(plots.reliance, shown))
            )
            if len(measured) > PANELS:
                parts.append(Prose(f"Shown are the first {PANELS} of {len(measured)} systems."))
    correlated: list[tuple[Cell, ...]] = []
    for name, system in first:
        for factor, (_, true, continuous) in factors(
            system.predictions, task.items, per_token.get(system.name, {})
        ).items():
            called = factor if own else factor.replace("metaphor", "context")
            correlated.append((name, called, *_correlation(true), *_correlation(continuous)[:3]))
    if correlated:
        headings = (
            "system",
            "correlation with",
            "right or wrong",
            "95 % CI",
            "p",
            "n",
            f"P(right answer | {'metaphor' if own else 'context'})",
            "its 95 % CI",
            "its p",
        )
        for row in _published(task):
            if row.table == "Sec 6.2" and row.metric == "point_biserial_r" and row.value is not None:
                correlated.append(
                    (
                        f"{row.model}, published",
                        FACTORS[row.setting["x"]],
                        *[None] * 4,
                        Number(row.value),
                        None,
                        None,
                    )
                )
        title = f"Length and answer probability{' (§6.2)' if own else ''}"
        notes = (CONTINUOUS, INTERVALS, ON_TEST) if own else (INTERVALS,)
        parts.append(fitted(Table("factors", title, headings, tuple(correlated), notes)))
    return Section("Reliance on likely answers", tuple(parts)) if parts else None


def _published(task: Task) -> tuple[reference.Published, ...]:
    """Numbers of Fig-QA's paper; none beside the items of another benchmark."""
    return reference.results() if _is_figqa(task) else ()


def _is_figqa(task: Task) -> bool:
    return not task.dataset or BENCHMARKS.get(task.dataset) == "Fig-QA"


PANELS = 4
FACTORS = {"phrase_length_words": LENGTH, "answer_probability": ANSWER}


def _alone(task: Task) -> tuple[dict[str, Alone], dict[str, Alone], str]:
    """log P(y) of the answers, for every system: its own or, where it has none, another one's of the task.

    It is normalised as the system's scores are, and in the second dictionary per token. The sentence says
    whose it is.
    """
    own: dict[str, Alone] = {}
    own_per_token: dict[str, Alone] = {}
    for system in bars.track(task.systems, "log-probabilities"):
        rows, norm = system.log_probabilities(), system.content.get("facts", {}).get("norm", "mean")
        if found := alone(rows, norm):
            own[system.name] = found
            own_per_token[system.name] = found if norm == "mean" else alone(rows, "mean")
    if not own:
        return {}, {}, ""
    # What was not trained on answers knows best how likely they are by themselves.
    untrained = (system.name for system in task.systems if system.name in own and system.seed is None)
    lender = next(untrained, next(iter(own)))
    borrowing = [system.name for system in task.systems if system.name not in own]
    text = "P(y) is each system's own probability of the answer without the metaphor."
    if borrowing:
        text += f" Those without one take it from {lender}: {', '.join(borrowing)}."
    names = [system.name for system in task.systems]
    lent, per_token = (
        {name: each.get(name, each[lender]) for name in names} for each in (own, own_per_token)
    )
    return lent, per_token, text


def _correlation(found: Correlation | None) -> tuple[Cell, ...]:
    if found is None:
        return None, None, None, None
    return Number(found.r), Range(found.low, found.high), PValue(found.p), found.n


def confidence(task: Task) -> Section | None:
    """Calibration of every system (of several seeds, the first)."""
    pools = bars.track(task.pools, "calibration")
    measured = [(pool.name, calibration(pool.systems[0].predictions)) for pool in pools]
    found = [(name, each) for name, each in measured if each is not None]
    if not found:
        return None
    rows = tuple(
        (name, Number(each.ece), Number(each.brier), Number(each.log_loss), each.n) for name, each in found
    )
    notes = [
        "Of softmax(scores). ECE: mean distance of confidence and accuracy over ten bins of equally many "
        "items; Brier score summed "
        "over options; log loss in nats. Mean log-probabilities were not made to be probabilities: they "
        "stay near 0.5.",
    ]
    if named := [pool.name for pool in task.pools if replied(pool.systems[0].predictions)]:
        notes.append(
            f"Letters in replies say nothing about how sure a system is; left out: {', '.join(named)}."
        )
    columns = ("system", "ECE", "Brier score", "log loss", "n")
    shown, caption = found[:PANELS], "Accuracy by confidence, 95 % intervals."
    picture = Picture("calibration", caption, plots.calibration(shown), plots.apart(plots.calibration, shown))
    parts: list[Part] = [fitted(Table("calibration", "Calibration", columns, rows, tuple(notes))), picture]
    if len(found) > PANELS:
        parts.append(Prose(f"Shown are the first {PANELS} of {len(found)} systems."))
    return Section("Calibration", tuple(parts))

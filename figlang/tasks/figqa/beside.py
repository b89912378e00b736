"""Numbers of Fig-QA's paper that are added to the tables of a report (Liu et al. 2022)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from figlang.statistics import breakdown
from figlang.statistics.reliance import ANSWER, LENGTH
from figlang.tables import Cell, Number, Table
from figlang.tasks.figqa import cut, published
from figlang.tasks.figqa.reading import COMMONSENSE
from figlang.tasks.reference import Published, share
from figlang.tasks.task import Beside, System

ON_TEST = "Published values were measured on the test split, whose labels are hidden: for orientation."
CONTINUOUS = (
    "The paper's numbers are of the last kind, with the continuous probability, though it calls them "
    "point-biserial."
)
INTERVALS = "Shares are in %; 95 % intervals are over pairs."
NO_PAPER = (
    "The paper's tables 12 – 16 are not set beside these: its error rows were joined by exact strings, which "
    "lost a third of the errors, and the model is not named."
)
CUT = (
    "Tags are NLTK's, of segments that are cut out of their sentence and lemmatised as nouns, as in the "
    "paper's tables 12 – 14."
)
IN_SENTENCE = (
    "Tags are spaCy's, of the words in their sentence. The paper's tables 12 – 14 are of segments that are "
    f'cut out of it (so "the girl\'s room" is NN NN NN); `{cut.INSTALL}` gives those.'
)
NOBODY = (
    "What people answered was not published for single items. Published are, of the test split, the number "
    "of their errors and how many of them a trained GPT-3 Curie made too. people=FILE.csv (id, choice) sets "
    "answers of your own raters beside the systems."
)
FIGURE_2 = (
    "Published: accuracies of Figure 2 of Liu et al. 2022, from the plot data in the authors' repository. "
    "They are of the test split, whose labels are hidden, and their examples came from other sources: for "
    "orientation."
)
FACTORS = {"phrase_length_words": LENGTH, "answer_probability": ANSWER}
TEST_ITEMS = 1146


def of(table: str) -> Beside:
    """The additions to a table by its name; nothing for a table that the paper does not have."""
    return {"reliance": _reliance, "factors": _factors, "errors_in_common": _errors, "prompts": _prompts}.get(
        table, Beside
    )()


def analysis_notes() -> tuple[str, ...]:
    """Notes: how parts of speech were found, and why the paper's numbers are not shown beside them."""
    return CUT if cut.tagger() else IN_SENTENCE, NO_PAPER


def commonsense(systems: Sequence[System], values: Mapping[str, Sequence[str]]) -> Table:
    """Table 6 with measured systems on top.

    Args:
        systems: The measured systems.
        values: The common-sense categories of each item by its id.
    """
    measured: list[tuple[Cell, ...]] = []
    for name, runs in systems:
        cells = {cell.value: cell.estimate for cell in breakdown.by_attribute(runs, values, fewest=1)}
        estimates = [cells.get(full) for full in COMMONSENSE.values()]
        if not measured:
            counts = (None if estimate is None else estimate.n for estimate in estimates)
            measured.append(("items", "here", *counts, ""))
        measured.append((name, "here", *estimates, ""))
    by_system: dict[tuple[str, str], dict[str, dict[str, Published]]] = {}
    items: dict[str, str] = {}
    for row in published.results():
        category = row.setting.get("category", "")
        if row.table == "Sec 3.2":
            items[category] = row.note.partition(" ")[0]
        elif row.table in ("Table 6", "recomputed") and category in COMMONSENSE:
            ways = by_system.setdefault((row.model, row.setting["regime"]), {})
            ways.setdefault("published" if row.table == "Table 6" else "recomputed", {})[category] = row
    theirs: list[tuple[Cell, ...]] = [
        ("items", "test, published", *(items[short] for short in COMMONSENSE), "")
    ]
    # People first: they are what a system is measured by.
    for (model, regime), ways in sorted(by_system.items(), key=lambda system: system[0][0] != "Human"):
        for way, categories in ways.items():
            shares = [share(categories[short]) if short in categories else None for short in COMMONSENSE]
            note = next((row.note for row in categories.values() if row.note), "")
            theirs.append((model, f"{regime}, {way}", *shares, note))
    columns = ("system", "regime", *COMMONSENSE.values(), "note")
    title = "Common-sense categories beside Table 6"
    notes = (INTERVALS, ON_TEST)
    return replace(Table.of_blocks("commonsense", title, columns, (measured, theirs)), notes=notes)


def _reliance() -> Beside:
    rows = tuple(
        (
            row.model,
            f"{row.setting['regime']}, published",
            None if row.value is None else Number(row.value),
            None,
            None,
            None,
        )
        for row in published.results()
        if row.table == "Table 5" and row.metric == "spearman_r"
    )
    return Beside(rows, (ON_TEST,), "Table 5")


def _factors() -> Beside:
    rows = tuple(
        (f"{row.model}, published", FACTORS[row.setting["x"]], *[None] * 4, Number(row.value), None, None)
        for row in published.results()
        if row.table == "Sec 6.2" and row.metric == "point_biserial_r" and row.value is not None
    )
    return Beside(rows, (CONTINUOUS, ON_TEST), "§6.2")


def _errors() -> Beside:
    counts = {row.metric: row for row in published.results() if row.table == "Sec 6.3"}
    errors, shared = counts["n_errors"], counts["errors_shared_with_humans"]
    both = f"{shared.value:.0f} ({shared.note.split(';')[-1].strip()})"
    row: tuple[Cell, ...] = (
        *("people, test, published", shared.model, TEST_ITEMS, f"{errors.value:.0f}"),
        *(None, both, None, None, None),
    )
    return Beside((row,), (), "§6.3", NOBODY)


def _prompts() -> Beside:
    return Beside(notes=(FIGURE_2,))

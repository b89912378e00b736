"""Tables in LaTeX that fit: in a page (470 pt) or in one of two columns (240 pt), without any package but
booktabs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from figlang.files.whole import slug
from figlang.tables import fitting
from figlang.tables.fitting import Attempt, Panel
from figlang.tables.table import Table
from figlang.tables.writing import OTHER_SCRIPT, latex_text

COLUMN, PAGE = 240.0, 470.0  # points
GAP = 8.0  # points between two columns
LEAST = 44.0  # points that a column of text may be narrowed to
HIGHEST = 500.0  # points of the height of the rows on one page
ROWS = 60  # more than fit on a page
SIZES = (9.0, 8.0, 7.0)  # points of the letters
# Widths of Computer Modern's letters, in thousandths of the size; its small sizes are wider.
LETTERS = {
    **dict.fromkeys("iljI.,:;'!|[]", 295),
    **dict.fromkeys("frtsJ()-", 395),
    **dict.fromkeys("cez†", 460),
    **dict.fromkeys("abdghknopquvxy/?0123456789$*`–", 556),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&+=<>~^@×±−≥≤·", 790),
    **dict.fromkeys("mwM#%", 850),
    "W": 1028,
    "_": 720,
    "I": 361,
    " ": 334,
    '"': 500,
}
OTHER = 1000
WIDER = {9.0: 1.03, 8.0: 1.065, 7.0: 1.145}


def latex(table: Table, room: float = PAGE) -> str:
    """A LaTeX table environment that needs only the package booktabs, and is as wide as there is room.

    Rows that do not fit on a page are left out with a note.

    Args:
        table: The table.
        room: The width in points: `PAGE` or `COLUMN`.
    """
    attempts = [
        Attempt(partial(_width, size), stacked, size)
        for size, stacked in ((9.0, False), (8.0, False), (8.0, True), (7.0, True))
    ]
    first = replace(table, rows=table.rows[:ROWS])
    found = fitting.fit(first, room, GAP, attempts, LEAST)
    bodies, shown = _bodies(first, found.attempt, found.panels)
    notes = list(table.footnotes)
    if found.left_out:
        notes.append(f"Left out for want of room: {', '.join(found.left_out)}.")
    if shown < len(table.rows):
        notes.append(f"The first {shown:,} of {len(table.rows):,} rows; all are in {slug(table.name)}.csv.")
    size = found.attempt.size
    kind = "table*" if room > COLUMN else "table"
    where = "page" if room > COLUMN else "column"
    lines = [
        rf"% Needs \usepackage{{booktabs}}. Fits a {where} of {room:.0f} pt.",
        rf"\begin{{{kind}}}[t]",
        r"\centering\emergencystretch=3em",
        rf"\caption{{{_breakable(table.title)}}}",
        rf"\label{{tab:{slug(table.name)}}}",
        rf"\fontsize{{{size:g}}}{{{1.2 * size:g}}}\selectfont\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
        "\\par\\vspace{6pt}\n".join(bodies).rstrip("\n"),
    ]
    if notes:
        said = _breakable(" ".join(notes))
        lines.append(rf"\par\vspace{{2pt}}\parbox{{{room:.0f}pt}}{{\raggedright\footnotesize {said}}}")
    whole = "\n".join([*lines, rf"\end{{{kind}}}"]) + "\n"
    return whole if r"\otherscript" not in whole else f"{OTHER_SCRIPT}\n{whole}"


def _width(size: float, text: str) -> float:
    return sum(LETTERS.get(letter, OTHER) for letter in text) / 1000 * size * WIDER[size]


def _bodies(table: Table, attempt: Attempt, panels: Sequence[Panel]) -> tuple[list[str], int]:
    """A tabular for every panel, and the number of rows that are shown."""
    made = [_rows(table, attempt, panel) for panel in panels]
    line = 1.25 * attempt.size
    room = HIGHEST - 40 * len(panels)
    shown, height = 0, 0.0
    for place in range(len(table.rows)):
        height += sum(rows[place][1] for rows in made) * line
        if height > room and shown:
            break
        shown += 1
    return [_tabular(table, attempt, *one, shown) for one in zip(panels, made, strict=True)], shown


def _rows(table: Table, attempt: Attempt, panel: Panel) -> list[tuple[str, int]]:
    """The rows of a panel with the number of lines of each."""
    found = []
    kinds = {place: _is_text(table, place) for place in panel.columns}
    for row, texts in zip(table.rows, table.texts, strict=True):
        cells, most = [], 1
        for place, width in zip(panel.columns, panel.widths, strict=True):
            lines = (
                fitting.wrapped(texts[place], width + 0.01, attempt.measure)
                if kinds[place]
                else fitting.stacked(row[place], texts[place], attempt.stacked)
            )
            most = max(most, len(lines))
            cells.append(_cell(lines, "l" if kinds[place] else "r", "t"))
        found.append((_row(cells), most))
    return found


def _tabular(
    table: Table, attempt: Attempt, panel: Panel, rows: Sequence[tuple[str, int]], shown: int
) -> str:
    kinds = ["l" if _is_text(table, place) else "r" for place in panel.columns]
    headings = [
        _cell(fitting.wrapped(table.columns[place], width + 0.01, attempt.measure), kind, "b")
        for place, width, kind in zip(panel.columns, panel.widths, kinds, strict=True)
    ]
    body = []
    for place, (row, _) in enumerate(rows[:shown]):
        body += [r"\midrule"] * (place in table.ruled) + [row]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{@{{}}{''.join(kinds)}@{{}}}}",
            r"\toprule",
            _row(headings),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _is_text(table: Table, place: int) -> bool:
    return place == 0 or fitting.is_text([row[place] for row in table.rows])


def _cell(lines: Sequence[str], side: str, at: str) -> str:
    """A cell of one line or several. A line that begins with a bracket or a star would be an argument of the
    command before it."""
    if len(lines) == 1:
        return latex_text(lines[0])
    inner = r"\\".join(("{}" if line.startswith(("[", "*")) else "") + latex_text(line) for line in lines)
    return rf"\begin{{tabular}}[{at}]{{@{{}}{side}@{{}}}}{inner}\end{{tabular}}"


def _row(cells: Sequence[str]) -> str:
    row = " & ".join(cells)
    return ("{}" if row.lstrip().startswith(("[", "*")) else "") + row + r" \\"


LONG = 14  # letters of a word that may be broken


def _breakable(text: str) -> str:
    """Text that LaTeX prints as it is, with places where long words such as paths may be broken."""
    words = []
    for word in text.split(" "):
        pieces = [word[start : start + 6] for start in range(0, len(word), 6)] if len(word) > LONG else [word]
        words.append(r"\allowbreak{}".join(map(latex_text, pieces)))
    return " ".join(words)

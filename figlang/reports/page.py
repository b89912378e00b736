"""The report as one HTML file: no network, every text escaped, figures and data inside."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from figlang.files.whole import slug, write_text
from figlang.machine.printing import printable
from figlang.reports.parts import ROWS, Long, Picture, Prose, Section
from figlang.reports.ranked import Line, ordered
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Mean, Table, drawing, text

FOLDER = Path(__file__).parent
TALL = 25  # rows; a longer table scrolls by itself, below its headings
OWN = ("system", "untrained")  # lines of the ranking that are systems of the report


def write(
    path: Path,
    title: str,
    lead: str,
    chapters: Sequence[tuple[str, Sequence[Section], dict[str, Any] | None]],
) -> None:
    """Write the page. A chapter has a heading, sections, and columns of items for the item browser.

    Args:
        path: The file.
        title: The title of the page.
        lead: The sentence below the title.
        chapters: The heading, sections and items of each chapter.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters |= {
        "shown": text,
        "numeric": _numeric,
        "reach": reach,
        "strip": strip,
        "warmth": warmth,
        "metrics": _metrics,
        "ranked": ranked,
        "anchor": anchor,
        "slug": slug,
        "commanded": _commanded,
    }
    environment.tests |= {
        "table": _is(Table),
        "long": _is(Long),
        "picture": _is(Picture),
        "prose": _is(Prose),
        "mean": _is(Mean),
    }
    template = environment.from_string((FOLDER / "page.html").read_text(encoding="utf-8"))
    page = template.render(
        title=title,
        lead=lead,
        chapters=[
            {"name": name, "sections": sections, "data": None if data is None else _embedded(data)}
            for name, sections, data in chapters
        ],
        style=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup((FOLDER / "page.js").read_text(encoding="utf-8")),
        most=ROWS,
        tall=TALL,
        own=OWN,
        inline=lambda picture: Markup(
            "".join(drawing.inline(figure, picture.title) for figure in picture.panels or (picture.figure,))
        ),
    )
    write_text(path, page)


def anchor(title: str) -> str:
    """A title as the target of a link, or as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _shown(value: Any) -> Any:
    """Remove control characters, which HTML does not allow. Markup that this module made is unchanged."""
    return printable(value, lines=True) if isinstance(value, str) and not isinstance(value, Markup) else value


def _commanded(said: str) -> Markup:
    """A sentence whose commands, between backticks, are set as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(_shown(said)))))


def _is(kind: type) -> Any:
    return lambda part: isinstance(part, kind)


def _embedded(data: dict[str, Any]) -> Markup:
    # Inside a script element only `</script` and `<!--` have a meaning, and both begin with this letter.
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(plain.replace("<", "\\u003c"))


def _numeric(cell: Cell) -> bool:
    if isinstance(cell, str):
        return re.fullmatch(r"[-+]?\d[\d., %:–+-]{0,22}", cell) is not None
    return True


def reach(table: Table) -> float:
    """The largest absolute difference in the intervals of a table."""
    differences = (one for row in table.rows for one in row if isinstance(one, Difference))
    return max((max(abs(one.low), abs(one.high)) for one in differences), default=1.0) or 1.0


def _metrics(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(metric for line in lines for metric in line.marks))


def ranked(lines: Sequence[Line]) -> list[Line]:
    """Lines from the best to the last: the first `ROWS` systems, and people and published ones for
    orientation."""
    whole = ordered(lines, _metrics(lines)[0])
    kept = [line for line in whole if line.kind in OWN][:ROWS]
    return [line for line in whole if line.kind not in OWN or line in kept]


def warmth(cell: Cell) -> str | None:
    """The distance of a share from chance in per cent of the way to all right (below chance: to none right);
    None if it is not known."""
    if not isinstance(cell, Estimate) or cell.chance is None or not 0 < cell.chance < 1:
        return None
    above = cell.value - cell.chance
    return f"{100 * above / (1 - cell.chance if above > 0 else cell.chance):.0f}"


def strip(cell: Cell, reach: float) -> dict[str, float] | None:
    """Places of the interval, the value and chance in a cell's bar, in per cent of its width.

    The bar of a share is from 0 to 1. The bar of a difference is from -`reach` to +`reach`.
    """
    if isinstance(cell, Estimate):
        chance = {} if cell.chance is None else {"chance": 100 * cell.chance}
        return {
            "low": 100 * cell.low,
            "width": 100 * (cell.high - cell.low),
            "value": 100 * cell.value,
            **chance,
        }
    if isinstance(cell, Mean):
        low, high = (cell.value if end is None else end for end in (cell.low, cell.high))
        return {"low": 100 * low, "width": 100 * (high - low), "value": 100 * cell.value}
    if isinstance(cell, Difference):
        low, value, high = (50 + 50 * share / reach for share in (cell.low, cell.value, cell.high))
        return {"low": low, "width": high - low, "value": value, "chance": 50}
    return None

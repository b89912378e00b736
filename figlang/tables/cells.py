"""Cells of a table, and how people read them. A share is written in per cent with its 95 % interval."""

from collections.abc import Iterable
from dataclasses import dataclass

from figlang.statistics.clustered import FEW, LEVEL
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, spread

FEW_CLUSTERS = (
    f"† Fewer than {FEW} clusters (pairs, or other items that depend on each other): too few to trust an "
    "interval."
)


class PValue(float):
    """A p value. It is never shown as zero."""


class Number(float):
    """A number that is not a share, for example a correlation or a loss."""


class Code(str):
    """Text to copy: a command or a signature."""

    __slots__ = ()


@dataclass(frozen=True)
class Range:
    """The interval of a number that is not a share."""

    low: float
    high: float


@dataclass(frozen=True)
class Mean:
    """A mean share over seeds or prompts.

    Attributes:
        value: The mean.
        sd: Standard deviation over seeds or prompts, if it is known.
        low: Lower end of the 95 % interval, if it is known.
        high: Upper end.
        n: Number of cases.
    """

    value: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def over(cls, values: Iterable[float]) -> "Mean":
        """The mean and standard deviation of shares."""
        mean, deviation = spread(tuple(values))
        return cls(mean, deviation)


Cell = str | int | PValue | Number | Range | Estimate | Difference | Mean | None


def p_value(p: float | None) -> str:
    """Write p with three digits, as < 0.001 below that, and as < 0.05 where three digits would round it up to
    the level that it is below."""
    if p is None:
        return "–"
    if p < LEVEL and round(p, 3) == LEVEL:
        return f"< {LEVEL}"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def mark(cell: Cell) -> str:
    """The mark behind an interval of too few clusters (see FEW_CLUSTERS), or nothing."""
    return " †" if isinstance(cell, Estimate | Difference) and cell.few else ""


def text(cell: Cell, brief: bool = False) -> str:
    """Write a cell as people read it; – if there is no value.

    Args:
        cell: The cell.
        brief: Write the intervals of shares in whole per cents.
    """
    match cell:
        case None:
            return "–"
        case PValue():
            return p_value(cell)
        case Number():
            return f"{cell:.3f}".replace("-0.000", "0.000")
        case Range():
            return f"{cell.low:.2f} – {cell.high:.2f}"
        case Estimate():
            return f"{100 * cell.value:.1f}{_interval(cell.low, cell.high, brief)}{mark(cell)}"
        case Difference():
            return f"{100 * cell.value:+.1f} ({100 * cell.low:+.1f} – {100 * cell.high:+.1f}){mark(cell)}"
        case Mean():
            deviation = "" if cell.sd is None else f" ± {100 * cell.sd:.1f}"
            return f"{100 * cell.value:.1f}{deviation}{_interval(cell.low, cell.high, brief)}"
        case _:
            return str(cell)


def _interval(low: float | None, high: float | None, brief: bool) -> str:
    if low is None or high is None:
        return ""
    return f" ({100 * low:.0f}–{100 * high:.0f})" if brief else f" ({100 * low:.1f} – {100 * high:.1f})"

"""Tokens and money for replies, as the endpoints report them."""

from collections.abc import Mapping
from typing import Any

from figlang.reports.parts import Chapter, Section, fitted
from figlang.tables import Cell, Table

THOUGHT = "tokens_reasoning"  # a part of the tokens that came out
NOTE = (
    "As the endpoints count, with answers that were stored before. The cost is the endpoint's own, or that "
    "of its tokens by the prices that were set."
)


def line(usage: Mapping[str, Any]) -> str:
    """The `usage` of a metrics.json as a sentence.

    Args:
        usage: Requests, tokens and cost (`Meter.taken`).
    """
    said = f"{usage['counted']:,} of {usage['requests']:,} answers are counted by the endpoint"
    thought = f" ({took:,} of them reasoning)" if (took := usage.get(THOUGHT)) else ""
    tokens = f"{usage['tokens_in']:,} tokens in, {usage['tokens_out']:,} out{thought}"
    return f"{said}: {tokens}{_cost(usage, ', cost ')}."


def section(chapter: Chapter) -> Section | None:
    """A row for every run that asked an endpoint; None without one."""
    rows: list[tuple[Cell, ...]] = []
    for pool in chapter.pools:
        for system in pool.systems:
            if took := system.content.get("usage"):
                tokens = [took.get(name) for name in ("requests", "tokens_in", "tokens_out", THOUGHT)]
                rows.append((pool.name, system.content.get("seed"), *tokens, _cost(took) or None))
    if not rows:
        return None
    columns = ("system", "seed", "requests", "tokens in", "tokens out", "of them reasoning", "cost")
    return Section(
        "Tokens and cost", (fitted(Table("usage", "Tokens and cost", columns, tuple(rows), (NOTE,))),)
    )


def _cost(usage: Mapping[str, Any], before: str = "") -> str:
    if "cost" not in usage:
        return ""
    by = "as the endpoint says" if usage.get("cost_by") == "endpoint" else "by the prices that are set"
    return f"{before}{usage['cost']:.4g}{' ' + usage['currency'] if 'currency' in usage else ''} ({by})"

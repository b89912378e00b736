"""MUNCH's published numbers, and which of them an evaluation may be compared with."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from figlang.tasks import reference
from figlang.tasks.reference import Comparison, Published, comparable_first


def results() -> tuple[Published, ...]:
    """All published numbers of MUNCH's paper. Its Table 4 also has numbers of other benchmarks."""
    return reference.results(Path(__file__).parent)


def compare(data: str, place: Sequence[str], published_data: bool) -> list[Comparison]:
    """Published accuracies of single judgement prompts, which follow from Table 9.

    Args:
        data: The name of the evaluated data set.
        place: Where the evaluated prompt stands in the paper's tables: form, condition, number.
        published_data: Whether the evaluated file is, byte for byte, the published one.

    Returns:
        Comparable numbers first.
    """
    compared = []
    for row in results():
        if row.metric != "accuracy" or row.table != "derived from Table 9":
            continue
        where = (row.setting["judge"], row.setting["condition"], row.setting["prompt"])
        if not published_data:
            reason = f"measured on all published items of MUNCH, not on these items of {data}"
        elif where != tuple(place):
            reason = (
                f"measured with prompt {where[2]} of {where[0]} judgement, {where[1]}; this prompt is "
                f"{', '.join(place)}"
            )
        else:
            reason = ""
        in_percent = replace(row, value=None if row.value is None else 100 * row.value, unit="percent")
        compared.append(Comparison(in_percent, not reason, reason))
    return comparable_first(compared)


def table(name: str) -> list[Published]:
    """Rows of one of the paper's tables that are about MUNCH and have a value."""
    return [
        row for row in results() if row.benchmark == "MUNCH" and row.table == name and row.value is not None
    ]

"""Show a finished evaluation in the terminal, with published numbers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang.machine.printing import say
from figlang.machine.several import one_of_several
from figlang.reports import terminal
from figlang.runs import names, spelled
from figlang.statistics.metrics import as_row
from figlang.tasks import registry
from figlang.tasks.reference import Comparison
from figlang.tasks.task import Task


def show(content: Mapping[str, Any], folder: Path, console: Console, caution: str = "") -> None:
    """Print the tables of a metrics.json, its signature and its folder; of one of several runs, a line of its
    numbers and its folder.

    Args:
        content: The metrics.json.
        folder: Its folder.
        console: Where to print.
        caution: What is said of the command below the tables.
    """
    if one_of_several():
        _show_shortly(content, folder, console)
        return
    compared = compare(content, registry.task_of(content))
    terminal.summary(content, compared, title(content), console)
    terminal.published(compared, console)
    said = [(caution, "yellow")] if caution else []
    for line, style in (*said, (f"signature {content['signature']}", "dim"), (str(folder), "bold")):
        say(line, console, style)


def _show_shortly(content: Mapping[str, Any], folder: Path, console: Console) -> None:
    numbers = terminal.in_a_line(content)
    warned = [(line, "yellow") for line in terminal.cautions(content)[:1]]
    for line, style in ((f"{title(content)}: {numbers}", ""), *warned, (str(folder), "bold")):
        say(line, console, style)


def title(content: Mapping[str, Any]) -> str:
    """A system: what was evaluated, on which items, and how it was scored."""
    known = names.properties(content)
    how = ", ".join(known[key] for key in ("scoring", "norm") if known[key] not in names.SILENT)
    scored = f", scored {_by(how)}" if how else ""
    return f"{known['model']} on {spelled.evaluated(content)}{scored}{_orders(content)}"


def _orders(content: Mapping[str, Any]) -> str:
    """How often each item was asked, if a chat was shown its options in several orders: n counts them all."""
    items = content.get("data", {}).get(content["split"], {}).get("items")
    if "replies" not in content or not items or content["metrics"]["items"] % items:
        return ""
    orders, known = content["metrics"]["items"] // items, as_row(content["metrics"], "accuracy")
    # Two orders of more than two options are not both.
    both = orders == 2 and (known is None or known.chance == 1 / 2)
    return "" if orders == 1 else f", each item in {'both' if both else orders} orders"


def _by(how: str) -> str:
    return how if how.startswith("by ") else f"by {how}"


def compare(content: Mapping[str, Any], task: Task) -> list[Comparison]:
    """Published numbers of a task beside a metrics.json. If the model replied with letters, none is
    comparable."""
    compared = task.published(content)
    if "replies" not in content:
        return list(compared)
    reason = "measured by scores of the options, this is by letters in replies"
    return [replace(one, comparable=False, reason=one.reason or reason) for one in compared]

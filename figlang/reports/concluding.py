"""Show and write the conclusion of a sweep."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.machine.printing import say
from figlang.reports import sweep_figure, sweeping
from figlang.text.amounts import counted, form


def conclude(places: Sequence[Path], output: Path | None = None) -> None:
    """Show the conclusion of the finished runs in folders and below them.

    Args:
        places: The folders.
        output: Folder of the table and the figure, if they are to be written.

    Raises:
        FiglangError: No run is finished, or a file of a run is damaged.
    """
    found, unfinished = sweeping.below(places)
    if not found:
        raise FiglangError(_none(places))
    runs, repeated = sweeping.once(found)
    console = Console()
    table = sweeping.table(runs)
    tables.show([table], table.notes, console)
    if repeated:
        named = ", ".join(str(run.folder) for run in repeated)
        count = counted(len(repeated), "run")
        say(f"left out, since the same settings and seed are there already: {count}, {named}", console)
    if unfinished:
        one = "1 run is not finished and is left out; its own command resumes it"
        several = f"{unfinished} runs are not finished and are left out; their own commands resume them"
        say(form(unfinished, one, several), console)
    if command := sweeping.command(runs):
        say("The best setting is trained by:", console)
        say(command, console)
    if output is not None:
        with folders.replaced(output, "a sweep") as new:
            tables.write([table], new)
            sweep_figure.draw(runs, new / sweeping.TABLE)
        say(str(output), console)


def _none(places: Sequence[Path]) -> str:
    for place in places:
        if (place / f"{sweeping.TABLE}.csv").is_file():
            return (
                f"{place} holds the table of a sweep, {sweeping.TABLE}.md, and no runs; give the folders of "
                "the runs"
            )
    return f"no finished training in {', '.join(map(str, places))}; give folders of runs"


def conclude_multirun(trained: Sequence[str]) -> None:
    """Show and write the conclusion of trainings that one command made, if they differ in more than the seed.

    Args:
        trained: Their folders.
    """
    places = [Path(run) for run in trained if (Path(run) / "metrics.json").is_file()]
    runs, _ = sweeping.below(places)
    if len(sweeping.grouped(runs)) > 1:
        named = f"sweep-{digest(sorted(map(str, places)))}"
        conclude(places, Path(os.path.commonpath(places)) / named)

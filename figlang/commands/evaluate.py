"""Evaluate a run, a checkpoint or a pretrained model: `checkpoint=runs/…`, or `model=smollm2 scoring=pmi`."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from figlang import tables
from figlang.api import comparing
from figlang.config import EvaluateConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import assessment
from figlang.machine.printing import say
from figlang.reports import figures, showing
from figlang.runs import systems

log = logging.getLogger("figlang")


def side_by_side(folders: Sequence[str]) -> None:
    """Show the evaluations of one command beside each other, with paired tests.

    Evaluations of different items are in different tables, and those of different seeds are one system.

    Args:
        folders: The folders of the evaluations.
    """
    console = Console()
    try:
        for members in systems.tasks(systems.read(list(dict.fromkeys(folders)))):
            if len(systems.pooled(members)) > 1:
                found = comparing.of_paths([str(one.folder) for one in members])
                tables.show(found.tables(), found.lines(), console)
    except FiglangError as error:  # the evaluations themselves are finished
        log.warning("they are not set side by side: %s", error)


@entry("evaluate", side_by_side)
def main(config: EvaluateConfig) -> str | None:
    if config.epoch == "best" and config.checkpoint is not None:
        from figlang.training import best  # what trains takes a second to import

        config = replace(config, checkpoint=best.export(config.checkpoint, config.paths))
    assessed = assessment.assess(config)
    if assessed is None:
        return None  # one of several processes: the first one reports
    content, folder = assessed
    console = Console()
    showing.show(content, folder, console)
    for picture in figures.prompts(folder):
        say(str(picture), console, "bold")
    return str(folder)


if __name__ == "__main__":
    main()

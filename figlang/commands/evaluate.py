"""Evaluate a run, a checkpoint or a pretrained model: `checkpoint=runs/…`, or `model=smollm2 scoring=pmi`."""

import logging
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from figlang import tables
from figlang.api import comparing
from figlang.config import EvaluateConfig
from figlang.config.entry import entry
from figlang.config.presets import CONF, DEFAULTS
from figlang.errors import FiglangError
from figlang.evaluation import assessment, opening
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


def unasked(config: EvaluateConfig, words: Sequence[str]) -> str:
    """A line that names the data of a run, if the bundled sample was evaluated because no data were named.

    Args:
        config: The options of the evaluation.
        words: The words of its command line.

    Returns:
        The line. Empty if data were named, or if the run was trained on the sample too.
    """
    data, checkpoint = config.data, config.checkpoint
    if checkpoint is None or data.name != DEFAULTS.small or any(word.startswith("data=") for word in words):
        return ""
    trained = opening.trained_on(config)
    if trained is None or (trained.dataset, trained.root) == (data.dataset, data.root):
        return ""
    said = f"No data= was given, so this is {data.name}. {checkpoint} was trained on {trained.name}"
    if not (CONF / "data" / f"{trained.name}.yaml").is_file():  # files of one's own
        return f"{said}; data= names other items."
    return f"{said}: figlang evaluate checkpoint={shlex.quote(checkpoint)} data={trained.name}"


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
    showing.show(content, folder, console, unasked(config, sys.argv[1:]))
    for picture in figures.prompts(folder):
        say(str(picture), console, "bold")
    return str(folder)


if __name__ == "__main__":
    main()

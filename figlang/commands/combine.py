"""Combine the scores of several systems into one system: `RUN RUN fit=HELD-OUT,HELD-OUT output=FOLDER`.

The weights are given, equal, or fitted to results of the same systems on held-out items.
"""

import logging
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console

from figlang.config import CombineConfig
from figlang.config.entry import entry
from figlang.config.signature import program
from figlang.files import folders, ownership
from figlang.reports import showing
from figlang.runs import combining, kept, outputs, recomputed, results

log = logging.getLogger("figlang")


@entry("combine")
def main(config: CombineConfig) -> None:
    given = dict(zip(config.runs, config.weights, strict=False))
    members = combining.members(config.runs, config.fit)
    weights = combining.weights(members, [given[member.given] for member in members] if given else ())
    for member, weight in zip(members, weights, strict=True):
        log.info("weight %.6g: %s", weight, member.system.folder)
    answers = combining.answered(members, weights)
    command = f"{program()} {shlex.join(sys.argv[1:])}".rstrip()
    content = combining.about(members, weights, config.name, command)
    folder = Path(config.output)
    combining.check_output(members, folder)
    with (
        outputs.claimed_folder(folder, content["decided_by"], config.overwrite),
        folders.staged(folder, ownership.RESULT, outputs.MADE) as new,
    ):
        answers.write(new)
        if items := combining.kept_items(members, kept.ITEMS):
            shutil.copyfile(items, new / items.name)
        document = content | recomputed.measured(new)
        results.write(new / outputs.METRICS, document)
    showing.show(document, folder, Console())


if __name__ == "__main__":
    main()

"""Find evaluation text in the training text: `data=NAME against=[NAME,NAME]`."""

import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config import ContaminationConfig, DataConfig, PathsConfig
from figlang.config.composing import data_sets
from figlang.config.entry import entry
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.machine.printing import say
from figlang.runs import recomputed, stages
from figlang.runs.predictions import FORWARD, read_predictions
from figlang.tasks import overlap, overlap_table, unread
from figlang.tasks import registry as data
from figlang.text.amounts import counted


@entry("contamination")
def main(config: ContaminationConfig) -> None:
    unread.check([config.data], config.paths)
    train, _ = data.for_training(_searched(config.data, config.paths), config.paths)
    splits = overlap_table.evaluated(config.data, data_sets(config.against), config.paths)
    before = stages.before(Path(config.run), config.paths) if config.run is not None else []
    evaluations = [Path(folder) for folder in config.runs]
    rows = [read_predictions(folder / FORWARD) for folder in evaluations]
    contents = [recomputed.checked(folder / "metrics.json") for folder in evaluations]
    predicted = [(content["model"], chosen) for content, chosen in zip(contents, rows, strict=True)]
    overlaps = overlap.check(train, splits, config.n, before)
    folder = Path(config.output or Path(config.paths.runs) / "data" / f"{config.data.name}-contamination")
    named = f"{counted(overlaps['training_items'], 'training item')} of data={config.data.name}"
    made = [
        overlap_table.table(
            overlaps, named if not before else f"{named} and of {counted(len(before), 'stage')} before"
        )
    ]
    if predicted:
        made.append(overlap_table.by_cleanness(overlaps, splits, predicted))
    with folders.replaced(folder, "a table of overlaps") as new:
        tables.write(made, new)
        write_text(new / "overlap.json", json.dumps(overlaps, indent=2, ensure_ascii=False) + "\n")
    console = Console()
    for table in made:
        console.print(tables.markdown(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
    say(str(folder), console, "bold")


def _searched(given: DataConfig, paths: PathsConfig) -> DataConfig:
    """The settings by which training items are read. A file that is named alone is every split, and is
    searched whole: as in a training, each of its items would be left out for being in its other splits."""
    if given.file is None:
        return given
    alone = data.load("train", given, paths).sha256 in {one.sha256 for one in data.evaluated(given, paths)}
    return replace(given, drop_near_duplicates=False) if alone else given


if __name__ == "__main__":
    main()

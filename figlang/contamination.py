"""Evaluation text that is in the training text: `python -m figlang.contamination data=figqa_large against=[figqa_large,miqa]`."""

from pathlib import Path

from rich.console import Console

from figlang import data, overlap, overlap_table, results, tables
from figlang.command import data_presets, entry
from figlang.config import ContaminationConfig


@entry("contamination", ContaminationConfig)
def main(config: ContaminationConfig) -> None:
    train, _ = data.for_training(config.data, config.paths)
    splits = overlap_table.evaluated(config.data, data_presets(config.against), config.paths)
    found = overlap.check(train, splits, config.n)
    folder = Path(config.output or Path(config.paths.runs) / "data" / f"{config.data.name}-contamination")
    table = overlap_table.table(found, f"{len(train.items)} training items of data={config.data.name}")
    tables.write([table], folder)
    results.write(folder / "overlap.json", found)
    console = Console()
    console.print(tables.markdown(table), highlight=False, markup=False, soft_wrap=True)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()

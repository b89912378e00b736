"""MiQA's Table 3 for a causal model: every prompt, number of examples and question type in one go
(`model=smollm2`)."""

from dataclasses import replace

from rich.console import Console

from figlang import tables
from figlang.config import MiqaTable3Config
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import grid as miqa_grid
from figlang.evaluation import opening, predicting, soundness
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.runs import outputs, results
from figlang.tasks import registry as data
from figlang.tasks.miqa import table

MADE = ("metrics.json", "table3.md")


@entry("miqa_table3")
def main(config: MiqaTable3Config) -> None:
    grid = miqa_grid.grid(config)
    split, loaded = opening.opened(config)
    if not loaded.manifest.input_format.causal:
        raise FiglangError(
            f"{loaded.manifest.name} is no causal model, which this needs; evaluate.py "
            f"data={config.data.name} may do"
        )
    bos = loaded.bos(grid.scoring)
    scorer = predicting.engine(loaded, grid.scoring, bos)
    facts = predicting.origin(loaded) | grid.facts(config.prompt) | {"bos": bos}
    about = results.Evaluated(
        loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
    ).about()
    pool = data.load(config.split, replace(config.data, limit=None), config.paths).items
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.claimed(config, wanted) as folder:
        miqa_grid.claim(folder, about["signature"], config)
        with soundness.explained(loaded):
            took = miqa_grid.predict(scorer, split.items, pool, grid, folder, config.trainer.progress)
        if config.one_by_one:
            took["one_by_one"] = miqa_grid.one_by_one(scorer, split.items[: config.one_by_one], pool, grid)

        measured = table.measure(miqa_grid.read(folder, grid))
        content = about | {
            "questions": measured,
            "took": took,
            "notes": list(split.notes),
            "decided_by": wanted,
        }
        content |= soundness.texts(loaded, split.items)
        with folders.staged(folder, MADE) as new:
            write_text(new / "table3.md", table.markdown(content))
            tables.write(table.made(content), new / "tables")
            results.write(new / "metrics.json", content, counted=folder)
    table.show(content, Console())
    Console().print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()

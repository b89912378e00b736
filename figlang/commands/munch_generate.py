"""MUNCH's Tables 3 and 10 to 12: where the words that people gave come in a model's ranking
(`model=smollm2`)."""

import time

from rich.console import Console

from figlang import tables
from figlang.config import MunchGenerateConfig
from figlang.config.entry import entry
from figlang.evaluation import filling, opening, predicting, served_filling, soundness
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.models.checkpoint import Served
from figlang.runs import cells, outputs, results
from figlang.statistics import rankings
from figlang.tasks.munch import blanks as munch_generation
from figlang.tasks.munch import factors as munch_factors
from figlang.tasks.munch import table3

KEPT = ("rankings/*.jsonl",)
MADE = ("metrics.json", "tables.md")


@entry("munch_generate")
def main(config: MunchGenerateConfig) -> None:
    split, loaded = opening.opened(config, needed="words")
    way = served_filling.way(config, loaded) if isinstance(loaded, Served) else filling.way(config, loaded)
    names = config.prompts or list(munch_generation.PROMPTS)
    asked = {name: munch_generation.ask(split.items, name, way.form) for name in names}
    words = (
        filling.candidates(config.candidates, [item.options for item in split.items])
        if way.rank == "word"
        else []
    )
    filler: filling.Filler | served_filling.ServedFiller = (
        served_filling.ServedFiller(loaded, way)
        if isinstance(loaded, Served)
        else filling.Filler(loaded, way, words)
    )
    facts = predicting.origin(loaded) | way.facts() | {"prompt": "+".join(names), "bos": loaded.bos()}
    about = results.Evaluated(
        loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
    ).about()
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.claimed(config, wanted) as folder:
        cells.claim(folder, about["signature"], config, KEPT)
        kept = cells.left(folder, "rankings", names)
        started = time.perf_counter()
        for name, blanks in asked.items():
            if name not in kept:
                with soundness.explained(loaded):
                    filled = filler.fill(blanks, config.trainer.progress)
                rankings.write(folder / "rankings" / f"{name}.jsonl", filled)
        took = filler.took() | {"seconds": time.perf_counter() - started, "kept": kept}
        took |= cells.took_before(folder, made=len(kept) < len(names))

        ranked = {name: rankings.read(folder / "rankings" / f"{name}.jsonl") for name in names}
        measured = table3.measure(ranked, way.config.max_rank, config.ddof)
        best = rankings.cases(ranked[measured["best"]])
        factors = munch_factors.measure(best, config.quantity_test, config.class_test, config.least)
        about["data"] = results.about_data(config.data, {config.split: split}, ())
        content = (
            about
            | measured
            | {"factors": factors, "took": took, "notes": list(split.notes), "decided_by": wanted}
        )
        content |= soundness.texts(loaded, split.items)
        made, below = table3.tables(content), table3.below(content)
        with folders.staged(folder, MADE) as new:
            write_text(
                new / "tables.md", tables.document(f"MUNCH generation, {content['model']}", made, below)
            )
            tables.write(made, new / "tables")
            results.write(new / "metrics.json", content, counted=folder)
    tables.show(made, below, Console())
    Console().print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()

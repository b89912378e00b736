"""MUNCH's Tables 2 and 9 to 12 for a model that judges by letters: all 18 judgement prompts in one go
(`model=smollm2`)."""

from rich.console import Console

from figlang import tables
from figlang.config import MunchJudgeConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import judging, opening, predicting, soundness
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.runs import cells, outputs, results
from figlang.statistics import association
from figlang.tasks.munch import factors as munch_factors
from figlang.tasks.munch import prompts as munch
from figlang.tasks.munch import table

KEPT = tuple(f"{kind}/*.jsonl" for kind in ("predictions", "log_probabilities", "replies"))
MADE = ("metrics.json", "tables.md")


@entry("munch_judge")
def main(config: MunchJudgeConfig) -> None:
    split, loaded = opening.opened(config)
    judge = judging.judge(loaded, config.prompt, config.scoring)
    if config.one_by_one and not (isinstance(judge, judging.Judge) and config.prompt.reply == "letter"):
        raise FiglangError(
            "one_by_one= measures what scoring letters together spares, by a network that is here; leave it "
            "out"
        )
    asked = munch.by_prompt(split.items, config.prompts)
    facts = predicting.origin(loaded) | judge.facts("+".join(asked))
    about = results.Evaluated(
        loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
    ).about()
    wanted = outputs.decided_by(config, split, predicting.origin(loaded))
    with outputs.claimed(config, wanted) as folder:
        cells.claim(folder, about["signature"], config, KEPT)
        filled = cells.Cells(folder, cells.left(folder, "predictions", asked))
        for name, items in asked.items():
            if name not in filled.kept:
                with soundness.explained(loaded):
                    judged = judge.judge(items, name, config.trainer.progress)
                    filled.write(name, judged.predictions, judged.records, judged.kind)
                if judged.scored is not None:
                    filled.count(judged.scored)
        took = filled.took()
        if config.one_by_one and isinstance(judge, judging.Judge):
            some = {name: items[: config.one_by_one] for name, items in asked.items()}
            parts = [
                judge.sequences([each]) for name, items in some.items() for each in judge.ask(items, name)
            ]
            took["one_by_one"] = cells.one_by_one(judge.scorer.score_tokens, parts, len(parts))

        predictions = cells.read(folder, asked)
        measured = table.measure(predictions, config.ddof)
        best = association.cases(predictions[measured["best"]])
        factors = munch_factors.measure(best, config.quantity_test, config.class_test, config.least)
        content = (
            about
            | measured
            | {"factors": factors, "took": took, "notes": list(split.notes), "decided_by": wanted}
        )
        content |= soundness.texts(loaded, split.items)
        made, below = table.tables(content), table.below(content)
        with folders.staged(folder, MADE) as new:
            write_text(
                new / "tables.md", tables.document(f"MUNCH judgement, {content['model']}", made, below)
            )
            tables.write(made, new / "tables")
            results.write(new / "metrics.json", content, counted=folder)
    tables.show(made, below, Console())
    Console().print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()

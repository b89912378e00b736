"""MUNCH's Table 3 (Tong et al. 2024) for one model: made from rankings by prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from figlang.statistics import rankings
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Mean, Table
from figlang.tasks.munch import factors as munch_factors
from figlang.tasks.munch.blanks import PROMPTS
from figlang.tasks.munch.published import table as printed_table
from figlang.text.amounts import counted
from figlang.types import Ranking

COLUMNS = {
    "mrr": "MRR",
    "recall@5": "recall@5",
    "recall@10": "recall@10",
    "hit@1": "hit@1",
    "hit@5": "hit@5",
    "hit@10": "hit@10",
    "micro_recall@5": "recall@5 of answers",
    "micro_recall@10": "recall@10 of answers",
}
PRINTED = {"mrr": "mrr", "recall@5": "recall_at_5", "recall@10": "recall_at_10"}
FOOTNOTE = (
    "Intervals (95 %) are over sentences. recall@k: share of a sentence's answers that rank k or better; of "
    "answers: share of all "
    "answers; hit@k: sentences with an answer that does; hit@1 is the accuracy of Tables 11 and 12. best: "
    "selected by its MRR on these very sentences, as in the paper."
)


def measure(
    cells: Mapping[str, Sequence[Ranking]], max_rank: int | None = None, ddof: int = 1
) -> dict[str, Any]:
    """Measure every prompt, the mean and standard deviation over prompts, and find the prompt with the
    highest MRR.

    The interval of a mean resamples sentences, not prompts.
    """
    prompts = {
        name: {"number": PROMPTS[name].number, **rankings.measure(rows, max_rank)}
        for name, rows in cells.items()
    }
    pooled = rankings.measure([row for rows in cells.values() for row in rows], max_rank)
    over = {}
    for name in COLUMNS:
        if name in pooled:
            values = [found[name]["value"] for found in prompts.values()]
            sd = float(np.std(values, ddof=ddof)) if len(values) > ddof else None
            over[name] = {
                "mean": float(np.mean(values)),
                "sd": sd,
                "low": pooled[name]["low"],
                "high": pooled[name]["high"],
            }
    best = max(prompts, key=lambda name: prompts[name]["mrr"]["value"])
    return {"prompts": prompts, "over_prompts": over, "ddof": ddof, "max_rank": max_rank, "best": best}


def tables(content: Mapping[str, Any]) -> list[Table]:
    """All tables of a metrics.json, with the published rows if they are of the
    same sentences."""
    model, published, best = content["model"], content["published_file"], content["best"]
    factors = munch_factors.tables(
        content["factors"], model, f"generation, best prompt, here {best}", "generation", published
    )
    return [_third(content, model, published), *factors]


def _third(content: Mapping[str, Any], model: str, published: bool) -> Table:
    over, count = content["over_prompts"], len(content["prompts"])
    shown = [name for name in COLUMNS if name in over]
    means = [Mean(over[name]["mean"], over[name]["sd"]) for name in shown]
    own: list[list[Cell]] = [[f"{model}, mean ± sd of {count}" if count > 1 else model, *means]]
    own += [
        [f"{name} ({found['number']})", *(Estimate(**found[measure_]) for measure_ in shown)]
        for name, found in content["prompts"].items()
    ]
    theirs: dict[str, dict[str, float]] = {}
    for row in printed_table("Table 3") if published else []:
        theirs.setdefault(row.model, {})[row.metric] = row.value or 0.0
    rows: list[list[Cell]] = [
        [name, *(_printed(values, PRINTED.get(column, column)) for column in shown)]
        for name, values in theirs.items()
    ]
    heading = ["in %", *(COLUMNS[name] for name in shown)]
    sentences = next(iter(content["prompts"].values()))
    title = f"Table 3, {counted(sentences['items'], 'sentence')}, {counted(sentences['answers'], 'answer')}"
    return Table.of_blocks("table3", title, heading, [own, rows])


def _printed(values: Mapping[str, float], metric: str) -> str:
    if f"{metric}_mean" not in values:
        return ""
    return f"{100 * values[f'{metric}_mean']:.0f} ± {100 * values.get(f'{metric}_sd', 0):.0f}"

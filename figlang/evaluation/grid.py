"""Every prompt with every number of examples on MiQA, by one causal model that is loaded once."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from figlang.config import MiqaTable3Config, PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation.predicting import answer_scoring
from figlang.runs import cells
from figlang.scoring import choices
from figlang.scoring.likelihood import Scorer
from figlang.tasks.miqa import prompts as miqa
from figlang.tasks.miqa.prompts import Shots, Wording, ask
from figlang.types import Item, Prediction, Prompted

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Grid:
    """What is asked: `wordings` by name of the prompt, each after each number of examples, and how these are
    drawn."""

    wordings: Mapping[str, Wording]
    counts: Sequence[int]
    shots: Shots
    scoring: ScoringConfig

    def ask(self, items: Sequence[Item], prompt: str, pool: Sequence[Item]) -> dict[int, list[Prompted]]:
        """One prompt's questions by the number of examples before them, which come from `pool`."""
        return {
            count: ask(items, self.wordings[prompt], replace(self.shots, count=count), pool)
            for count in self.counts
        }

    def facts(self, prompt: PromptConfig) -> dict[str, Any]:
        """What of the questions can change a score, for the signature."""
        names, counts = "+".join(self.wordings), "+".join(map(str, self.counts))
        wording = miqa.describe(replace(prompt, question=names, k=0))
        shots = f"k={counts},per={prompt.per},separator={prompt.separator!r},seed={prompt.seed}"
        return {
            "scoring": f"{self.scoring.name}(minus_alone={self.scoring.minus_alone})",
            "norm": self.scoring.norm,
            "prompt": f"{wording},{shots}",
        }


def grid(config: MiqaTable3Config) -> Grid:
    """The grid of a command. A template of the user's own is one more prompt, `own`.

    Raises FiglangError for a prompt that does not exist or cannot be filled in, and for a number of examples
    in `prompt.k`.
    """
    prompt = config.prompt
    if prompt.k:
        raise FiglangError(
            f"prompt.k={prompt.k} is for evaluate.py; this table takes its numbers of examples from "
            "shots=[0,1,5]"
        )
    named = {
        name: miqa.wording_of(replace(prompt, question=name, template=None)) for name in config.questions
    }
    if prompt.template is not None:
        named["own"] = miqa.wording_of(prompt)
    usable = {name: wording for name, wording in named.items() if wording.has_answers}
    if not usable:
        raise FiglangError(
            f"prompt.reply={prompt.reply}, and {', '.join(named)} label no options; use "
            "prompt.reply=statement"
        )
    if len(usable) < len(named):
        log.info(
            "left out, since they label no options: %s",
            ", ".join(name for name in named if name not in usable),
        )
    shots = Shots(seed=prompt.seed, per=prompt.per, separator=prompt.separator)
    return Grid(usable, tuple(config.shots), shots, answer_scoring(config.scoring))


def claim(folder: Path, signature: str, config: MiqaTable3Config) -> None:
    """Clear a folder of the cells of other settings, see `cells.claim`."""
    cells.claim(folder, signature, config, [f"*/{_name('*', '[0-9]*')}.jsonl"])


def predict(
    scorer: Scorer,
    items: Sequence[Item],
    pool: Sequence[Item],
    grid: Grid,
    folder: Path,
    progress: bool = False,
) -> dict[str, Any]:
    """Predictions and log-probabilities of every cell into `folder`; returns what scoring took.

    A prompt's cells are scored together, so that memory stays small; those that are all there already are
    kept.
    """
    if not miqa.are_questions(items):
        raise FiglangError("these are not MiQA's questions; use data=miqa or data=miqa_sample")
    there = set(cells.left(folder, "predictions", _names(grid).values()))
    kept = [
        prompt for prompt in grid.wordings if there.issuperset(_name(prompt, count) for count in grid.counts)
    ]
    filled = cells.Cells(folder, kept)
    for prompt in grid.wordings:
        if prompt in kept:
            continue
        by_shots = grid.ask(items, prompt, pool)
        asked = [each for some in by_shots.values() for each in some]
        # Alone only where it is used: without a bos the first token of an answer has no probability.
        measured = choices.measure(scorer, asked, grid.scoring.minus_alone, progress)
        predictions, records = (
            measured.predictions(grid.scoring.norm, grid.scoring.minus_alone),
            measured.records(),
        )
        filled.count(measured.scored)
        for place, count in enumerate(by_shots):
            cell = slice(place * len(items), (place + 1) * len(items))
            filled.write(_name(prompt, count), predictions[cell], records[cell])
    return filled.took()


def one_by_one(scorer: Scorer, items: Sequence[Item], pool: Sequence[Item], grid: Grid) -> dict[str, Any]:
    """What sharing spares on the questions about these items: each answer by itself, and all together."""
    asked = [
        each for prompt in grid.wordings for some in grid.ask(items, prompt, pool).values() for each in some
    ]
    return cells.one_by_one(scorer.score, [[request] for request in choices.requests(asked)], len(asked))


def read(folder: Path, grid: Grid) -> dict[tuple[str, int], list[Prediction]]:
    """The predictions of every cell from their files."""
    names = _names(grid)
    found = cells.read(folder, names.values())
    return {key: found[name] for key, name in names.items()}


def _names(grid: Grid) -> dict[tuple[str, int], str]:
    return {(prompt, count): _name(prompt, count) for prompt in grid.wordings for count in grid.counts}


def _name(prompt: str, shots: int | str) -> str:
    return f"{prompt}-{shots}-shot"

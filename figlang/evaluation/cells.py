"""How a model fills the cells of a grid: with log-probabilities, letters or ranked words. Cells of an earlier
command are kept.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from figlang.config.verbs.reproduce import RankingConfig, ReproduceConfig
from figlang.errors import FiglangError
from figlang.evaluation import letters, likelihood, predicting, soundness
from figlang.evaluation.how import How, Share
from figlang.evaluation.ranking import Ranks
from figlang.models.hosted.opened import Hosted, Opened, not_here
from figlang.runs import cells
from figlang.scoring import choices
from figlang.statistics import rankings
from figlang.tasks import registry
from figlang.tasks.grid import AnswerGrid, BlankGrid, Grid, LetterGrid
from figlang.types import Item, Prediction, Ranking, Split


class Filling(ABC):
    """The cells of a grid while they are filled."""

    needed: ClassVar[str | None] = None
    """The ability that a served model needs, as in `checkpoint.model_of`."""
    kinds: ClassVar[tuple[str, ...]]
    """The folders that hold the files of a cell."""
    why_not_blind: ClassVar[str | None] = None
    """The reason why no context is hidden; None if it can be hidden."""

    @abstractmethod
    def open(self, split: Split, loaded: Opened) -> None:
        """Keep the items and the model.

        Raises:
            FiglangError: The model does not answer in this way, or the items are others.
        """

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The settings that can change a number, for the signature."""

    @abstractmethod
    def fill(self, folder: Path) -> dict[str, Any]:
        """Write the missing cells, and return the work that it took."""

    @abstractmethod
    def read(self, folder: Path) -> Mapping[str, Sequence[Any]]:
        """The rows of every cell, by its name."""

    def read_blind(self, folder: Path) -> Mapping[str, Sequence[Prediction]]:
        """The predictions of every cell with the context hidden. Empty if they were not wanted."""
        return {}


class Answers(Filling):
    """Cells of the log-probabilities of answers. The cells of a part are scored together, so that memory
    stays small."""

    kinds = (cells.SEEN, cells.UNSEEN, "log_probabilities")

    def __init__(self, grid: AnswerGrid[Any], config: ReproduceConfig) -> None:
        self._grid, self._config = grid, config
        self._scoring = likelihood.answer_scoring(config.scoring)
        self._names = [name for names in grid.parts().values() for name in names]

    def open(self, split: Split, loaded: Opened) -> None:
        if not loaded.manifest.input_format.causal:
            raise FiglangError(
                f"this table needs a causal model, but {loaded.manifest.name} is an encoder; try "
                f"figlang evaluate data={self._config.data.name}"
            )
        self._grid.check(split.items)
        self._loaded, self._items = loaded, split.items
        self._bos = loaded.bos(self._scoring)
        self._scorer = likelihood.engine(loaded, self._scoring, self._bos)
        config = self._config
        self._pool = registry.load(config.split, replace(config.data, limit=None), config.paths).items

    def facts(self) -> dict[str, Any]:
        return {
            "scoring": f"{self._scoring.name}(minus_alone={self._scoring.minus_alone})",
            "norm": self._scoring.norm,
            "prompt": self._grid.described(),
            "bos": self._bos,
        }

    def fill(self, folder: Path) -> dict[str, Any]:
        there = set(cells.left(folder, self._names, *_complete(self._config)))
        parts = self._grid.parts()
        filled = cells.Cells(folder, [part for part, names in parts.items() if there.issuperset(names)])
        for part in parts:
            if part not in filled.kept:
                self._fill(part, filled)
        took = filled.took()
        if count := getattr(self._config, "one_by_one", 0):
            questions = [
                question
                for part in parts
                for several in self._ask(self._items[:count], part).values()
                for question in several
            ]
            single = [[request] for request in choices.requests(questions)]
            took["one_by_one"] = cells.one_by_one(self._scorer.score, single, len(questions))
        return took

    def read(self, folder: Path) -> Mapping[str, Sequence[Any]]:
        return cells.read(folder, self._names)

    def read_blind(self, folder: Path) -> Mapping[str, Sequence[Prediction]]:
        return cells.read(folder, self._names, cells.UNSEEN) if self._config.blind else {}

    def _ask(self, items: Sequence[Item], part: str, blind: bool = False) -> dict[str, list[Any]]:
        return self._grid.ask(part, items, self._pool, blind)

    def _fill(self, part: str, filled: cells.Cells) -> None:
        asked = self._ask(self._items, part)
        questions = [question for several in asked.values() for question in several]
        unseen = self._ask(self._items, part, blind=True) if self._config.blind else {}
        hidden = [question for several in unseen.values() for question in several]
        scoring = self._scoring
        with soundness.explained(self._loaded):
            # Alone only where it is used: without a bos the first token of an answer has no probability.
            # Beginnings that a question shares with its hidden form, for example its examples, are read once.
            measured = choices.measure(
                self._scorer, [*questions, *hidden], scoring.minus_alone, self._config.trainer.progress
            )
            predictions = measured.predictions(scoring.norm, scoring.minus_alone)
            records = measured.records()
            # With the context hidden, the log-probability of the answer alone is not subtracted, as in
            # `evaluate`.
            blind = measured.predictions(scoring.norm)[len(questions) :]
            filled.count(measured.scored)
            for place, name in enumerate(asked):
                rows = slice(place * len(self._items), (place + 1) * len(self._items))
                filled.write(name, predictions[rows], records[rows], blind=blind[rows] if hidden else None)


class Letters(Filling):
    """Cells with the letters that a model chooses or writes."""

    kinds = (cells.SEEN, cells.UNSEEN, "log_probabilities", "replies")

    def __init__(self, grid: LetterGrid[Any], config: ReproduceConfig) -> None:
        self._grid, self._config = grid, config

    def open(self, split: Split, loaded: Opened) -> None:
        self._loaded = loaded
        questions = registry.task(split.task).asked(split.question)
        self._chooser = letters.chooser(loaded, questions, self._config.prompt, self._config.scoring)
        if self._grid.one_by_one and not (
            isinstance(self._chooser, letters.LetterChooser) and self._config.prompt.reply == "letter"
        ):
            raise FiglangError(
                "one_by_one= measures the time that a local network saves when it scores letters together, "
                "and this model is not one; leave it out"
            )
        self._asked = self._grid.ask(split.items)

    def facts(self) -> dict[str, Any]:
        return self._chooser.facts("+".join(self._asked))

    def fill(self, folder: Path) -> dict[str, Any]:
        filled = cells.Cells(folder, cells.left(folder, self._asked, *_complete(self._config)))
        for name, items in self._asked.items():
            if name in filled.kept:
                continue
            with soundness.explained(self._loaded):
                chosen = self._chooser.choose(items, name, self._config.trainer.progress, self._config.blind)
                filled.write(name, chosen.predictions, chosen.records, chosen.kind, chosen.blind)
            if chosen.scored is not None:
                filled.count(chosen.scored)
        took = filled.took()
        if self._grid.one_by_one and isinstance(self._chooser, letters.LetterChooser):
            took["one_by_one"] = self._one_by_one(self._chooser)
        return took

    def read(self, folder: Path) -> Mapping[str, Sequence[Any]]:
        return cells.read(folder, self._asked)

    def read_blind(self, folder: Path) -> Mapping[str, Sequence[Prediction]]:
        return cells.read(folder, self._asked, cells.UNSEEN) if self._config.blind else {}

    def _one_by_one(self, chooser: letters.LetterChooser) -> dict[str, Any]:
        single = [
            chooser.sequences([question])
            for name, items in self._asked.items()
            for question in chooser.ask(items[: self._grid.one_by_one], name)
        ]
        return cells.one_by_one(chooser.scorer.score_tokens, single, len(single))


class Words(Filling):
    """Cells of the ranks that a model gives to words at a blank."""

    needed = "words"
    kinds = ("rankings",)
    why_not_blind = (
        "The model ranks words here and chooses no option, so there is no accuracy with the context hidden."
    )

    def __init__(self, grid: BlankGrid[Any], config: RankingConfig) -> None:
        self._grid, self._config = grid, config

    def open(self, split: Split, loaded: Opened) -> None:
        if isinstance(loaded, Hosted):
            raise not_here(loaded)
        self._grid.check(split.items)
        self._loaded, self._prompts = loaded, self._grid.prompts()
        self._share = Share(split, range(len(split.items)))
        ranks = predicting.answering(loaded, self._share.questions)
        assert isinstance(ranks, Ranks), "items that the grid takes have a blank"
        self._ranks = ranks
        self._grid.config = ranks.way(self._config).config
        ranks.prepared(self._config, split.items)  # so that a mistake is found before the folder is touched

    def facts(self) -> dict[str, Any]:
        return self._ranks.facts(self._config, self._prompts)

    def fill(self, folder: Path) -> dict[str, Any]:
        kept = cells.left(folder, self._prompts, "rankings")
        started = time.perf_counter()
        for name in self._prompts:
            if name not in kept:
                rankings.write(folder / "rankings" / f"{name}.jsonl", self._ranked(name))
        took = self._ranks.took() | {"seconds": time.perf_counter() - started, "kept": kept}
        return took | cells.took_before(folder, made=len(kept) < len(self._prompts))

    def read(self, folder: Path) -> Mapping[str, Sequence[Any]]:
        return {name: rankings.read(folder / "rankings" / f"{name}.jsonl") for name in self._prompts}

    def _ranked(self, name: str) -> list[Ranking]:
        config = self._config
        how = How(config.trainer.progress, prompt=replace(config.prompt, question=name), ranking=config)
        with soundness.explained(self._loaded):
            rows, _ = self._ranks.answer(self._share, how)
        return list(rows.ranked.rows) if rows.ranked else []


def _complete(config: ReproduceConfig) -> tuple[str, ...]:
    """The files of predictions that a complete cell has. A cell of a command with blind=false has one."""
    return (cells.SEEN, cells.UNSEEN) if config.blind else (cells.SEEN,)


def filling_of(grid: Grid[Any, Any], config: Any) -> Filling:
    """The cells of a grid, not yet filled.

    Args:
        grid: The table whose cells are filled.
        config: The options of the command.

    Raises:
        FiglangError: The scoring does not apply to answers.
    """
    if isinstance(grid, AnswerGrid):
        return Answers(grid, config)
    if isinstance(grid, LetterGrid):
        return Letters(grid, config)
    assert isinstance(grid, BlankGrid)
    return Words(grid, config)

"""What a task is: the one interface between a benchmark and everything else.

A benchmark is a folder with a subclass of `Task` in its `task.py`. It says how its files become items, how an
item is put to each ability of a model, and what its numbers are set beside. The defaults below are right for
a benchmark whose items are a context with options that follow from it.

- choose: context and options of an `Item`; the model returns a score for each option.
- log-probabilities: `questions`, a prompt and its answers, or, without it, context and option as one string;
  the model returns log-probabilities of tokens.
- entail: `premises`, a premise and a hypothesis for each option; the model returns class probabilities.
- rank: `blanks`, a text with a blank; the model returns words in order.
- reply: `letters`, a message that is answered by a letter, or `open_questions`; the model returns text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tables import Cell, Table
from figlang.tasks.grid import Reproduced
from figlang.tasks.questions import Questions
from figlang.tasks.reference import Comparison
from figlang.tasks.scales import Scale
from figlang.types import Item, Open, Prediction, Split

# Attribute of items: item id: values.
Values = Mapping[str, Mapping[str, Sequence[str]]]
# A system: its name, and the predictions of each of its seeds.
System = tuple[str, Sequence[Sequence[Prediction]]]


@dataclass(frozen=True)
class Beside:
    """What a benchmark adds to a table of a report.

    `rows` are published numbers in the columns of the table, `notes` stand below it, `place` is where the
    paper has it, and `remark` a sentence for a reader who misses something.
    """

    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    place: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Frequencies:
    """How often each text of a kind occurs, the most frequent first: {kind: {text: count}}; with a table of
    how many there are."""

    counts: Mapping[str, Mapping[str, int]]
    table: Table


class Task:
    """A benchmark without peculiarities; a subclass overrides what is its own."""

    name: str = ""
    """The value of `data.dataset`."""
    title: str = "items of one's own"
    """The name in tables and sentences."""
    questions: tuple[str, ...] = ("both",)
    """Values of `data.question`."""
    sizes: tuple[str, ...] = ()
    """Values of `data.size`, which names a training file; empty if there is one file only."""
    files: tuple[str, ...] = ()
    """Settings of the group data that name a file, of those that not every task reads: `train`, `validation`,
    `test`, `test_labels`."""
    mixed_as: str | None = None
    """The `data.question` by which it is part of a mixture; None if it cannot be."""
    divided: bool = False
    """Whether `data.seed` and `data.held_out` divide one set of items into training and validation part."""
    examples: str = "train"
    """The split that examples before an item are drawn from. `validation`: there are no training items, and
    the other items of what is evaluated are its examples."""
    submitted: tuple[str, ...] = ()
    """The splits of which `submit` writes a file for the authors of the benchmark."""
    contradicts: bool = True
    """Whether a wrong option contradicts the context, so that NLI has a right class for it."""
    entailment_score: str = "entail_minus_contradict"
    """How probabilities of NLI classes become the score of an option, if `nli.score` does not say it."""

    scale: Scale | None = None
    """How people rate what models answer to its open questions; None if it has none."""
    context: str = "context"
    """What the context of an item is called in tables."""
    reproduced: tuple[type[Reproduced[Any]], ...] = ()
    """Published tables and figures that `figlang reproduce table=…` makes."""

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        """One split of the benchmark, all of it.

        Args:
            split: `train`, `validation` or `test`.
            data: The group data of the command. Its `limit` is not looked at here.
            paths: Where files are looked for and kept.

        Returns:
            The items with their source, the hash of the file and notes about rows.

        Raises:
            FiglangError: The split does not exist or its file cannot be read.
        """
        raise FiglangError(f"{self.title}: there are no files to read a split from; use another data.dataset")

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        """The splits that are evaluated on: `validation`, and `test` if there is one."""
        return ("validation",)

    def classified(self, data: DataConfig) -> bool:
        """Whether items are premises with hypotheses, and their options names of classes."""
        return False

    def submit(self, folder: Path, split: Split, predictions: Sequence[Prediction]) -> None:
        """Write the file that the authors of the benchmark are sent.

        Args:
            folder: Where the evaluation is written.
            split: The items.
            predictions: The prediction for each item, in their order.
        """

    def frequencies(self, split: Split, most: int | None) -> Frequencies | None:
        """How often parts of the texts occur, for `figlang describe`.

        Args:
            split: The items.
            most: The largest number of items whose texts are parsed; None for all.

        Returns:
            The counts; None if there is no such count of this benchmark.

        Raises:
            FiglangError: The texts cannot be parsed.
        """
        return None

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        """Training items that say the same as an item of `other`: the id of each, with that of its twin."""
        return {}

    def asked(self, question: str) -> Questions:
        """How items are put in words.

        Args:
            question: The value of `data.question` that they were loaded with.
        """
        return Questions()

    def premises(self, item: Item) -> list[tuple[str, str]]:
        """Premise and hypothesis for each option: does the premise entail the hypothesis?"""
        return [(item.context, option) for option in item.options]

    def open_questions(self, items: Sequence[Item], kinds: Sequence[str]) -> list[Open]:
        """Questions that a model answers in its own words.

        Args:
            items: What is asked about.
            kinds: Kinds of question, of a task that has several.

        Raises:
            FiglangError: There are none, or a kind is unknown.
        """
        raise FiglangError(f"{self.title} has no open questions; use another data=")

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        """SHA-256 of the files whose items published numbers are about."""
        return ()

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        """Published numbers to set beside an evaluation, comparable ones first; `content` is its
        metrics.json."""
        return ()

    def beside(self, table: str) -> Beside:
        """What to add to a table of a report.

        Args:
            table: The name of its file: `reliance`, `factors`, `errors_in_common` or `prompts`.
        """
        return Beside()

    def prompts(self) -> Mapping[str, Mapping[str, float]]:
        """Published accuracies by prompt: {model: {prompt: per cent}}. A prompt has the label of a report
        without spaces; `none` is no prompt."""
        return {}

    def breakdowns(self, systems: Sequence[System], attributes: Values) -> list[Table]:
        """The benchmark's own tables of accuracy by attribute, beside those that every attribute has."""
        return []

    def analyse(self, items: Sequence[Item], cache: Path, wanted: str) -> tuple[Values, str]:
        """Attributes that are not in the files but can be found from the texts.

        Args:
            items: Whose texts to look at.
            cache: The folder of what is downloaded.
            wanted: `auto`, or `on`: what is missing is an error then.

        Returns:
            The attributes, and a reason if there are none.

        Raises:
            FiglangError: `wanted` is `on` and a library or its data are missing.
        """
        return {}, ""

    def analysis_notes(self) -> tuple[str, ...]:
        """Sentences on how `analyse` found the attributes."""
        return ()

    def form(self, row: Prediction) -> tuple[str, str]:
        """The id of what an item asks about, and the form in which it does; empty if there is one form only.
        Systems that were asked in different forms can be compared by the first."""
        return row.id, ""

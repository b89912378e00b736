"""The class `Task`: the one interface between a benchmark and everything else.

A benchmark is a folder with a subclass of `Task` in its `task.py`. It says how its files become items, how an
item is put to each ability of a model, and which published numbers its results are compared with. The
defaults below are right for a benchmark whose items are a context with options that follow from it.

- choose: context and options of an `Item`; the model returns a score for each option.
- log-probabilities: a prompt and its answers if `asked` says so, else context and option as one string; the
model returns log-probabilities of tokens.
- entail: `premises`, a premise and a hypothesis for each option; the model returns class probabilities.
- rank: `blanks`, a text with a blank; the model returns words in order.
- reply: `letters`, a message that is answered by a letter, or `open_questions`; the model returns text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
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
    """The additions of a benchmark to a table of a report.

    `rows` are published numbers in the columns of the table. `notes` stand below it. `place` is the table's
    number in the paper. `remark` is a sentence about what is missing.
    """

    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    place: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Frequencies:
    """Counts of texts by kind, the most frequent first: {kind: {text: count}}. `table` counts different
    texts."""

    counts: Mapping[str, Mapping[str, int]]
    table: Table


@dataclass(frozen=True)
class Explained:
    """How a file of one's own was read: its parts with their columns, some items as text, and a YAML document
    that data= takes."""

    parts: Table
    examples: str
    document: str


class Task:
    """A benchmark without peculiarities; a subclass overrides what is its own."""

    name: str = ""
    """The value of `data.dataset`."""
    title: str = "items of one's own"
    """The name in tables and sentences."""
    hub: tuple[str, ...] = ()
    """The ids of its data sets on the Hugging Face hub."""
    languages: tuple[str, ...] = ()
    """Language codes of the training items (ISO 639); empty if they are not known."""
    questions: tuple[str, ...] = ("both",)
    """Values of `data.question`."""
    sizes: tuple[str, ...] = ()
    """Values of `data.size`, which names a training file; empty if there is one file only."""
    printed_sizes: Mapping[str, str] = MappingProxyType({})
    """What the paper calls a size, if it is another word."""
    files: tuple[str, ...] = ()
    """The settings that name files, or columns of a file, which the task reads (`FILES` of the registry)."""
    mixed_as: str | None = None
    """The `data.question` that is used if the task is part of a mixture; None if it cannot be part of one."""
    divided: bool = False
    """Whether `data.seed` and `data.held_out` divide the items into a training and a validation part."""
    examples: str = "train"
    """The split that the examples of a prompt are drawn from. `validation`: the task has no training items,
    so that examples are other items of the evaluated split."""
    submitted: tuple[str, ...] = ()
    """The splits for which `submit` writes a file."""
    contradicts: bool = True
    """Whether a wrong option contradicts the context, so that NLI has a right class for it."""
    entailment_score: str = "entail_minus_contradict"
    """The default of `nli.score`."""

    scale: Scale | None = None
    """The scale on which people rate answers to open questions; None if the task has no open questions."""
    context: str = "context"
    """The name of an item's context in tables."""
    reproduced: tuple[type[Reproduced[Any]], ...] = ()
    """Published tables and figures that `figlang reproduce table=…` makes."""

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        """Read one whole split of the benchmark.

        Args:
            split: `train`, `validation` or `test`.
            data: The group data of the command. `limit` is applied later.
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

    def reads(self, question: str) -> frozenset[str]:
        """Settings of the group data that only some tasks read, and that `load` or `twins` reads here.

        Args:
            question: The value of `data.question`.

        Returns:
            Their names, some of `OF_SOME` in `figlang/tasks/unread.py`. Commands refuse the others.
        """
        sized = {"size"} if self.sizes else set()
        drawn = {"held_out", "seed"} if self.divided else set()
        compared = {"drop_near_duplicates"} if type(self).twins is not Task.twins else set()
        return frozenset(sized | drawn | compared)

    def classified(self, data: DataConfig) -> bool:
        """Whether items are premises with hypotheses, and their options names of classes."""
        return False

    def submit(self, folder: Path, split: Split, predictions: Sequence[Prediction]) -> None:
        """Write a file of predictions to send to the authors of the benchmark.

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
            The counts; None if this benchmark does not count texts.

        Raises:
            FiglangError: The texts cannot be parsed.
        """
        return None

    def explained(self, split: str, data: DataConfig) -> Explained | None:
        """How the files that the options name were read, for `figlang describe`.

        Args:
            split: `train`, `validation` or `test`.
            data: The group data of the command.

        Returns:
            The explanation; None if the files of this benchmark have a known form.

        Raises:
            FiglangError: The files cannot be read.
        """
        return None

    def twins(self, train: Split, other: Split) -> Mapping[str, str]:
        """Find training items that say the same as an item of `other`. Maps the training id to the other
        id."""
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
            kinds: Kinds of question, if the task has several.

        Raises:
            FiglangError: There are none, or a kind is unknown.
        """
        raise FiglangError(
            f"{self.title}: there are no open questions; use another data=, or rate answers that were "
            "written elsewhere by figlang rate texts=[FILE.csv]"
        )

    def published_files(self, split: Split, role: str) -> tuple[str, ...]:
        """SHA-256 of the files that published numbers were measured on. An evaluation of all items of such a
        file has `published_file` true in its metrics.json."""
        return ()

    def published(self, content: Mapping[str, Any]) -> Sequence[Comparison]:
        """Published numbers to show beside an evaluation, comparable ones first.

        Args:
            content: Its metrics.json, of which `data_name`, `split`, `published_file` and `facts` (scoring,
                prompt and the like) say what was measured.
        """
        return ()

    def beside(self, table: str) -> Beside:
        """The additions to a table of a report.

        Args:
            table: The name of its file: `reliance`, `factors`, `errors_in_common` or `prompts`.
        """
        return Beside()

    def prompts(self) -> Mapping[str, Mapping[str, float]]:
        """Published accuracies by prompt: {model: {prompt: per cent}}. A prompt is named as in a report,
        without spaces. `none` stands for the absence of a prompt."""
        return {}

    def breakdowns(self, systems: Sequence[System], attributes: Values) -> list[Table]:
        """Tables of accuracy by attribute that only this benchmark has."""
        return []

    def analyse(self, items: Sequence[Item], cache: Path, wanted: str) -> tuple[Values, str]:
        """Attributes that are not in the files but can be found from the texts.

        Args:
            items: The items whose texts are analysed.
            cache: The folder for downloads.
            wanted: `auto` (no error if a library is missing) or `on`.

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
        """The id of what an item asks about, and the form of the question (empty if there is only one form).

        Systems that were asked in different forms can be compared by this id.
        """
        return row.id, ""

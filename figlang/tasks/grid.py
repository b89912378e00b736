"""The interface between a benchmark and the command that reproduces its published tables and figures.

A grid is made of cells, and a cell is a prompt about the items. A class below says how a model answers: by
log-probabilities, by letters or by ranked words. A benchmark's subclass says what is asked in each cell and
which tables are made of the answers; `figlang.evaluation.reproducing` joins the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from figlang.config import DataConfig
from figlang.config.verbs.reproduce import RankingConfig, ReproduceConfig
from figlang.statistics.clustered import Array
from figlang.tables import Table
from figlang.types import Item, Prediction, Prompted, Ranking, Split

Options = TypeVar("Options", bound=ReproduceConfig)
RankingOptions = TypeVar("RankingOptions", bound=RankingConfig)
Row = TypeVar("Row")


class Reproduced(ABC, Generic[Options]):
    """A published table or figure. Its options are checked when it is made."""

    table: ClassVar[str]
    """The value of `table=`."""
    heading: ClassVar[str]
    """The beginning of the title of its document."""
    document: ClassVar[str] = "tables.md"
    """The file of its tables in Markdown."""
    options: ClassVar[type[ReproduceConfig]]
    """The options of its command."""
    presets: ClassVar[Mapping[str, str | None]]
    """The default preset of each group in its command."""

    def __init__(self, config: Options) -> None:
        """Keep the options.

        Args:
            config: The options of the command.

        Raises:
            FiglangError: An option does not exist here or has no effect.
        """
        self.config = config

    def title(self, content: Mapping[str, Any]) -> str:
        """The title of the document of a metrics.json."""
        return f"{self.heading}, {content['model']}"

    @abstractmethod
    def tables(self, content: Mapping[str, Any]) -> list[Table]:
        """The tables of a metrics.json."""

    @abstractmethod
    def below(self, content: Mapping[str, Any]) -> list[str]:
        """The lines below the tables of a metrics.json."""


class Grid(Reproduced[Options], Generic[Options, Row]):
    """A table whose cells are prompts about the same items, each answered by a row for every item."""

    cells: ClassVar[str] = "*"
    """A pattern of the names of cells."""
    rated: ClassVar[bool] = False
    """Whether people rate the rows of its cells. If so, metrics.json says how to load the items again."""
    apart: ClassVar[str | None] = None
    """An attribute of items by whose values the gain over blind is measured. None: over all items."""

    @abstractmethod
    def measure(self, cells: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
        """Measure the answers. The result is the content of metrics.json.

        Args:
            cells: The rows of each cell, by its name.

        Returns:
            Plain data.
        """


class AnswerGrid(Grid[Options, Prediction]):
    """Prompts whose answers are compared by their log-probabilities."""

    @abstractmethod
    def check(self, items: Sequence[Item]) -> None:
        """Raises FiglangError if the items are not this benchmark's."""

    @abstractmethod
    def parts(self) -> Mapping[str, Sequence[str]]:
        """The names of cells that are scored together, by the name of the part."""

    @abstractmethod
    def ask(
        self, part: str, items: Sequence[Item], pool: Sequence[Item], blind: bool = False
    ) -> dict[str, list[Prompted]]:
        """The questions of a part.

        Args:
            part: Its name.
            items: What is asked about.
            pool: The pool that examples are drawn from.
            blind: Whether the context is hidden.

        Returns:
            A question for each item, by the name of the cell.

        Raises:
            FiglangError: There are too few examples.
        """

    @abstractmethod
    def described(self) -> str:
        """The settings of the prompts that can change a score, for the signature."""


class LetterGrid(Grid[Options, Prediction]):
    """Prompts that are answered by the letter of an option."""

    one_by_one: int = 0
    """Number of items whose letters are also scored one by one."""

    @abstractmethod
    def ask(self, items: Sequence[Item]) -> Mapping[str, Sequence[Item]]:
        """The items that each prompt asks about, by its name.

        Raises:
            FiglangError: A prompt does not exist, or asks about none of the items.
        """


class BlankGrid(Grid[RankingOptions, Ranking]):
    """Prompts with a blank, at which the model ranks words. Once the model is open, options that depend on it
    are filled in."""

    @abstractmethod
    def prompts(self) -> Sequence[str]:
        """The names of the prompts; the task's `Questions.blanks` words each of them."""

    @abstractmethod
    def check(self, items: Sequence[Item]) -> None:
        """Raises FiglangError if a prompt does not exist, or if an item has no answers."""


@dataclass(frozen=True)
class Overview:
    """Facts about a data set that need no model.

    Attributes:
        name: Shown instead of a model's name.
        facts: The settings that can change a number, for the signature.
        split: The items.
        content: What metrics.json says about them.
        others: Other sets of items that it describes, by name.
        draw: Writes the figures and their data into a folder.
    """

    name: str
    facts: Mapping[str, Any]
    split: Split
    content: Mapping[str, Any]
    others: Mapping[str, Split]
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Embeddings:
    """Input embeddings of a model.

    Attributes:
        name: The model's name.
        base: Where it comes from.
        matrix: Vectors by token, (tokens, dimensions).
        pieces: The ids of the tokens of a text.
    """

    name: str
    base: str
    matrix: Array
    pieces: Callable[[str], list[int]]


class Figures(Reproduced[Options]):
    """Tables and figures of the data set itself."""

    def title(self, content: Mapping[str, Any]) -> str:
        return self.heading

    @abstractmethod
    def overview(self, load: Callable[[DataConfig], Split], embeddings: Callable[[], Embeddings]) -> Overview:
        """Describe the data set.

        Args:
            load: Loads the split of the command with other settings of the data.
            embeddings: Opens the model of the command, if its vectors are asked for.

        Raises:
            FiglangError: The data are not this benchmark's, or the vectors cannot be read.
        """

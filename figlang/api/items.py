"""Items: those of a benchmark, a file or a list of Python."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsIndex, overload

from figlang.api import tabular
from figlang.api.quiet import quietly
from figlang.api.shown import Shown, clipped
from figlang.config import DataConfig, EvaluateConfig, PathsConfig, calling
from figlang.config.presets import CONF
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.runs import records, spelled
from figlang.statistics import metrics
from figlang.tables import Table
from figlang.tasks import outside, registry, unread
from figlang.text.amounts import counted
from figlang.types import Item, Prediction, Split

SHOWN = 5  # items that are shown
SPLITS = {"dev": "validation"}


class Items(Sequence[Item], Shown):
    """Items of one split, in order. It is a sequence of `Item`; a part of it is Items again.

    Attributes:
        split: The items with their source, its hash and notes about its rows.
        data: The options that the items were loaded with; None if they are the caller's own.
        role: `train`, `validation` or `test`.
        paths: Where the files of `data` are; None if the items are the caller's own.
        words: The words of `figlang evaluate` that give the same items; empty if there are none.
    """

    def __init__(
        self,
        split: Split,
        data: DataConfig | None = None,
        role: str = "validation",
        paths: PathsConfig | None = None,
        words: Sequence[str] = (),
    ) -> None:
        self.split, self.data, self.role, self.paths = split, data, role, paths
        self.words = tuple(words)

    @property
    def name(self) -> str:
        """The name of the data in tables."""
        return self.split.name if self.data is None else self.data.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about rows that were left out or changed."""
        return self.split.notes

    def __len__(self) -> int:
        return len(self.split.items)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> "Items": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Item | Items":
        if isinstance(place, slice):
            return self._part(self.split.items[place])
        return self.split.items[place]

    def where(self, **attributes: str) -> "Items":
        """The items of a category.

        Args:
            attributes: The wanted value of an attribute, for example `commonsense="objects"`.

        Returns:
            The items that have all of these values.

        Raises:
            FiglangError: There is no such item.
        """
        kept = tuple(
            item
            for item in self.split.items
            if all(value in item.attributes.get(name, ()) for name, value in attributes.items())
        )
        if not kept:
            asked = ", ".join(f"{name}={value}" for name, value in attributes.items())
            raise FiglangError(f"{self.name} has no items with {asked}")
        return self._part(kept)

    def _part(self, kept: tuple[Item, ...]) -> "Items":
        if len(kept) == len(self):
            return self
        drawn = f"part@{digest([item.id for item in kept])}"
        drawn = f"{self.split.drawn},{drawn}" if self.split.drawn else drawn
        return Items(
            replace(self.split, items=kept, drawn=drawn, whole=False), self.data, self.role, self.paths
        )

    def to_list(self) -> list[dict[str, Any]]:
        """The items as dictionaries, which `figlang.items` reads."""
        return [records.of_item(item) for item in self.split.items]

    def to_pandas(self) -> Any:
        """The items as a pandas DataFrame, a line for each; an attribute is a column."""
        return tabular.to_pandas(self.to_list())

    def to_datasets(self) -> Any:
        """The items as a `datasets.Dataset`, a line for each; an attribute is a column."""
        return tabular.to_datasets(self.to_list())

    @classmethod
    def from_pandas(cls, frame: Any, name: str = "items", task: str = "", question: str = "both") -> "Items":
        """Items from a pandas DataFrame; columns and arguments are those of `figlang.items`.

        Args:
            frame: The DataFrame, a line for each item.
            name: The name of the data in tables.
            task: The task whose wording is used.
            question: The question of that task.

        Raises:
            FiglangError: A line is not an item.
        """
        return items(tabular.from_pandas(frame), name, task, question)

    @classmethod
    def from_datasets(
        cls, dataset: Any, name: str = "items", task: str = "", question: str = "both"
    ) -> "Items":
        """Items from one split of a `datasets.Dataset`; columns and arguments are those of `figlang.items`.

        Args:
            dataset: The Dataset, a line for each item.
            name: The name of the data in tables.
            task: The task whose wording is used.
            question: The question of that task.

        Raises:
            FiglangError: A line is not an item.
        """
        return items(tabular.from_datasets(dataset), name, task, question)

    def tables(self) -> list[Table]:
        first = self.split.items[:SHOWN]
        lines = tuple(
            (
                clipped(item.id, 24),
                clipped(item.context),
                clipped(" | ".join(item.options)),
                "hidden" if item.gold is None else item.gold,
            )
            for item in first
        )
        role = spelled.split_in_words(self.role, self.split.name)
        title = f"{spelled.data(self.name)}, {role}: {counted(len(self), 'item')}"
        if pairs := len(metrics.pairs([Prediction.of(item, (0.0,)) for item in self.split.items])):
            title += f", {counted(pairs, 'pair')}"
        return [Table("items", title, ("id", "context", "options", "gold"), lines)]

    def lines(self) -> list[str]:
        rest = len(self) - SHOWN
        return [
            *([f"and {counted(rest, 'more item', 'more items')}"] if rest > 0 else []),
            *self.notes[:SHOWN],
        ]


def load(
    name: str | Path,
    split: str = "validation",
    *,
    folder: str | None = None,
    tasks: str | Path | None = None,
    **options: Any,
) -> Items:
    """Load the items of a benchmark or of a file.

    Args:
        name: A preset of `data=` (`figlang tasks` lists them), a file of your own, or the name of a benchmark
            of your own.
        split: `train`, `validation` (also called `dev`) or `test`.
        folder: The folder with the data sets. None: the folder that FIGLANG_DATA names or, without it, a
            download.
        tasks: The folder of a benchmark of your own, with its `task.py`. None: an installed package has it.
        options: Options of the group data, for example `limit=100`.

    Returns:
        The items, in the order of the file.

    Raises:
        FiglangError: There are no such data, or a file cannot be read.

    Example:
        >>> import figlang
        >>> with open("sayings.csv", "w", encoding="utf-8") as file:
        ...     _ = file.write("context,option1,option2,gold\\nShe froze,She was afraid,She was calm,0\\n")
        >>> items = figlang.load("sayings.csv", split="dev")
        >>> len(items), items[0].options[items[0].gold]
        (1, 'She was afraid')
    """
    if not isinstance(name, str | Path):
        raise FiglangError("figlang.load reads a preset or a file; rows of your own: figlang.items(rows)")
    own = [] if tasks is None else [calling.word("paths.tasks", str(tasks))]
    words = [*own, calling.word(_named_by(str(name), tasks), str(name)), f"split={SPLITS.get(split, split)}"]
    words += [calling.word(f"data.{key}", value) for key, value in options.items()]
    words += [] if folder is None else [calling.word("paths.data", folder)]
    config = calling.options("evaluate", EvaluateConfig, words)
    unread.check([config.data], config.paths)
    with quietly():
        split_read = registry.load(config.split, config.data, config.paths)
    return Items(split_read, config.data, config.split, config.paths, words)


def _named_by(name: str, tasks: str | Path | None) -> str:
    """The option that takes a name: that of presets and files, or that of benchmarks outside of figlang."""
    if (CONF / "data" / f"{name}.yaml").is_file():
        return "data"
    known = outside.installed() if tasks is None else outside.in_folder(Path(tasks))
    return "data.dataset" if any(task.name == name for task in known) else "data"


def items(
    rows: Iterable[Mapping[str, Any]], name: str = "items", task: str = "", question: str = "both"
) -> Items:
    """Make items of your own from Python.

    Args:
        rows: A dictionary for each item. `context` (text) and `options` (a list of at least two texts) are
            needed. `gold` is the place of the right option, from 0; without it the label is hidden. `id` is
            its name. Items with the same `group` depend on each other. They are a pair if they have the same
            options and another one is right in each; `paired` (True or False) says it for other groups. Every
            other key is an attribute, text or a list of texts, by which accuracy is broken down.
        name: The name of the data in tables.
        task: The task whose wording is used, as `data.dataset` names it. Empty: the wording of files of your
            own.
        question: The question of that task.

    Returns:
        The items, in their order.

    Raises:
        FiglangError: A row is not an item; the message says which one and why.

    Example:
        >>> import figlang
        >>> own = figlang.items([
        ...     {"context": "Her voice was velvet", "options": ["It was soft.", "It was rough."], "gold": 0},
        ...     {"context": "Her voice was gravel", "options": ["It was soft.", "It was rough."], "gold": 1},
        ... ])
        >>> len(own), own[1].gold
        (2, 1)
    """
    read = records.read_items(rows)
    task = task or registry.OWN
    if question not in (known := registry.task(task).questions):
        raise FiglangError(
            f"question={question} is not a question of {task}; choose one of {', '.join(known)}"
        )
    plain = json.dumps([records.of_item(item) for item in read], ensure_ascii=False, sort_keys=True)
    sha256 = hashlib.sha256(plain.encode()).hexdigest()
    return Items(Split(name, tuple(read), "Python", sha256, task=task, question=question))

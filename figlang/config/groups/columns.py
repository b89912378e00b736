"""The section data.columns: which columns of a table hold an item's parts."""

from dataclasses import dataclass, field
from typing import Any

from figlang.config.section import Section, option, words
from figlang.errors import FiglangError

OPTIONS = "A column with a list of options, or the columns with one option each: [a,b,c]."


@dataclass
class ColumnsConfig(Section):
    """Columns of a file of your own. Those without a name are guessed, as `figlang describe FILE` shows."""

    context: str | None = option(None, "Column with the text that the options follow from.")
    options: Any = field(default=None, metadata={"help": OPTIONS, "choices": ()})
    gold: str | None = option(None, "Column with the right option: its number, letter or text; -1 if hidden.")
    gold_as: str = option(
        "auto",
        "Form of the right option: number (from 0), number_from_1, letter (A, B, …), or text of the option.",
        ("auto", "number", "number_from_1", "letter", "text"),
    )
    cluster: str | None = option(
        None,
        "Column with the name of an item's cluster, for example a pair. Intervals take clusters as "
        "independent. null: items with the same context are a cluster.",
    )
    attributes: list[str] = words("Columns with categories to break the accuracy down by: [a,b].")
    id: str | None = option(None, "Column with the name of an item. null: file and number of the row.")

    def __post_init__(self) -> None:
        super().__post_init__()
        several = [self.options] if isinstance(self.options, str | None) else self.options
        if not isinstance(several, list | tuple) or not all(isinstance(one, str | None) for one in several):
            raise FiglangError(
                f"data.columns.options={self.options!r} names no columns; give a column with a list, or the "
                "columns with one option each: [a,b,c]"
            )

    @classmethod
    def named(cls, name: str) -> str:
        return f"data.columns.{name}"

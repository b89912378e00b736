"""CSV files of your own, with the columns of Fig-QA, as a task."""

from pathlib import Path

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.figqa import reading, rows
from figlang.tasks.figqa.task import FigQa
from figlang.types import Split


class OwnFiles(FigQa):
    """Items from files that the options name. Everything else is like Fig-QA."""

    name = "figqa_csv"
    hub = ()
    languages = ()
    sizes = ()
    files = ("file", "train", "validation", "test", "test_labels")
    mixed_as = None

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        file = {"train": data.train, "validation": data.validation, "test": data.test}[split] or data.file
        if file is None:
            raise FiglangError(
                f"data.{split} is not set; give data.{split}=FILE.csv with the columns "
                f"{', '.join(rows.COLUMNS)}"
            )
        loaded = reading.read(Path(file).expanduser(), data.strict, distinct=data.drop_duplicates)
        if split == "test" and data.test_labels is not None:
            return reading.with_labels(loaded, Path(data.test_labels).expanduser(), data.strict)
        return loaded

    def evaluated(self, data: DataConfig) -> tuple[str, ...]:
        return ("validation", "test") if data.test is not None else ("validation",)

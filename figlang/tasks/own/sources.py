"""Where the rows of a split of one's own come from: a table, a file of another tool, or the hub."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from figlang.config import ColumnsConfig, DataConfig
from figlang.errors import FiglangError, one_line
from figlang.files import tables
from figlang.files.rows import Problems, whole_json
from figlang.files.sources import local_path, sha256
from figlang.files.tables import Record
from figlang.tasks.own import bigbench, documents, golds, harness
from figlang.tasks.own.harness import HarnessTask, is_task

# Names of splits on the hub for each of figlang's, the surest first.
PARTS = {
    "train": ("train", "training"),
    "validation": ("validation", "dev", "val", "valid", "test"),
    "test": ("test",),
}


@dataclass(frozen=True)
class Rows:
    """The rows of a split.

    Attributes:
        records: The rows. They are taken out when items are made of them.
        columns: The columns that are named.
        stem: The start of the names of items.
        source: The file or data set.
        sha256: The hash of its bytes, or of its rows.
        problems: Notes about the rows.
        cut: Whether texts stay as they are, since the file words them.
        fixed: Whether the form of the file says what context, options and right option are.
    """

    records: list[Record]
    columns: ColumnsConfig
    stem: str
    source: str
    sha256: str
    problems: Problems
    cut: bool = False
    fixed: bool = False


def settings(data: DataConfig) -> tuple[DataConfig, HarnessTask | None]:
    """The settings of data with those of its YAML file, or with the task of the harness that the file is."""
    if data.file is None or Path(data.file).suffix.lower() not in documents.ENDINGS:
        return data, None
    path = local_path(data.file)
    content = documents.read(path)
    if is_task(content):
        return data, HarnessTask.of(path, content)
    return documents.filled(data, content, path), None


def read(split: str, given: DataConfig) -> Rows:
    """The rows of a split.

    Args:
        split: `train`, `validation` or `test`.
        given: The group data of the command.

    Raises:
        FiglangError: There is no file for the split, or it cannot be read.
    """
    data, task = settings(given)
    own = {"train": data.train, "validation": data.validation, "test": data.test}[split]
    if task is not None and own is None:
        return _harness(task, split, data)
    if (file := own or data.file) is not None:
        return _table(local_path(file), data)
    if data.hub is not None:
        return _hub(data.hub, split, data)
    raise FiglangError(
        f"data.{split} is not set; give data.{split}=FILE, data.file=FILE or data.hub=ORG/NAME"
    )


def _table(path: Path, data: DataConfig) -> Rows:
    problems = Problems(path, data.strict)
    if path.suffix.lower() == ".json" and bigbench.is_task(content := whole_json(path)):
        records = list(bigbench.records(content, problems))
        columns = _fixed(data.columns, bigbench.COLUMNS, path)
        cut = bigbench.worded(content, path)
        stem = bigbench.stem(path)
        return Rows(records, columns, stem, str(path), sha256(path), problems, cut, fixed=True)
    records = list(tables.records(path, problems))
    return Rows(records, data.columns, path.stem, str(path), sha256(path), problems)


def _harness(task: HarnessTask, split: str, data: DataConfig) -> Rows:
    part = task.part(split)
    problems = Problems(task.path, data.strict)
    files = task.files(part)
    if files is None:
        name, configuration = task.hub()
        records, digest = _from_hub(name, configuration, part)
        source = f"{name} ({part})"
    else:
        records = [record for file in files for record in _typed(file, problems)]
        records = [(number, row) for number, (_, row) in enumerate(records, start=1)]
        digest = hashlib.sha256("".join(map(sha256, files)).encode()).hexdigest()
        digest, source = (sha256(files[0]) if len(files) == 1 else digest), ", ".join(map(str, files))
    worded = list(task.rows(records, problems))
    columns = _fixed(data.columns, harness.COLUMNS, task.path)
    return Rows(worded, columns, task.name, source, digest, problems, cut=True, fixed=True)


def _typed(path: Path, problems: Problems) -> list[Record]:
    """The rows of a file; those of CSV columns of whole numbers are numbers, as in `datasets`."""
    records = list(tables.records(path, problems))
    if path.suffix.lower() not in (".csv", ".tsv"):
        return records
    names = {name for _, row in records for name in row}
    whole = {name for name in names if all(golds.number(row.get(name)) is not None for _, row in records)}
    return [
        (number, {name: golds.number(value) if name in whole else value for name, value in row.items()})
        for number, row in records
    ]


def _hub(source: str, split: str, data: DataConfig) -> Rows:
    name, _, configuration = source.partition(":")
    from datasets import get_dataset_split_names

    try:
        there = get_dataset_split_names(name, configuration or None)
    except Exception as error:  # the library raises what its transport raises: a dozen types
        raise _unreachable(name, error) from error
    part = next((part for part in PARTS[split] if part in there), None)
    if part is None:
        raise FiglangError(
            f"data.hub={source} has no split for {split} (it has {', '.join(there)}); give data.{split}=FILE"
        )
    records, digest = _from_hub(name, configuration or None, part)
    stem = f"{name.rpartition('/')[2]}-{part}"
    return Rows(records, data.columns, stem, f"{source} ({part})", digest, Problems(Path(stem), data.strict))


def _from_hub(name: str, configuration: str | None, part: str) -> tuple[list[Record], str]:
    from datasets import load_dataset

    try:
        loaded = load_dataset(name, configuration, split=part)
    except Exception as error:  # as above
        raise _unreachable(name, error) from error
    records = list(tables.numbered(loaded))
    text = json.dumps(records, ensure_ascii=False, default=str)
    return records, hashlib.sha256(text.encode()).hexdigest()


def _unreachable(name: str, error: Exception) -> FiglangError:
    return FiglangError(
        f"the data set {name} on the hub could not be read ({type(error).__name__}: {one_line(error)}); "
        "check its name, or give its files by data.file=FILE"
    )


def _fixed(given: ColumnsConfig, columns: tuple[str, str, str], path: Path) -> ColumnsConfig:
    """The columns of a form that has its own context, options and right option.

    Raises:
        FiglangError: One of these is named, which would have no effect.
    """
    context, options, gold = columns
    for name in ("context", "options", "gold"):
        if getattr(given, name) is not None:
            raise FiglangError(f"data.columns.{name} has no effect: {path} says what it is; leave it out")
    return replace(given, context=context, options=options, gold=gold, gold_as="number")

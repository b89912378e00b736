"""Tasks of lm-evaluation-harness with `output_type: multiple_choice`: their YAML as rows of figlang."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.files.rows import Problems
from figlang.files.tables import Record
from figlang.tasks.own import documents, golds, options
from figlang.tasks.own.templates import rendered
from figlang.text.amounts import form

KIND = "multiple_choice"
# Readers of `datasets` that take local files.
LOCAL = ("json", "csv", "parquet")
SPLITS = {
    "train": ("training_split", "fewshot_split"),
    "validation": ("validation_split", "test_split"),
    "test": ("test_split",),
}
COLUMNS = CONTEXT, OPTIONS, GOLD = "doc_to_text", "doc_to_choice", "doc_to_target"
# Keys that make the rows and texts. Code in others, for example of a metric, is of no concern here.
NEEDED = (*COLUMNS, "process_docs", "custom_dataset", "description", "dataset_kwargs", "target_delimiter")


def is_task(content: Mapping[str, Any]) -> bool:
    """Whether the content of a YAML file is a task of the harness."""
    return bool({"output_type", "include", CONTEXT, "dataset_path"} & set(content))


@dataclass(frozen=True)
class HarnessTask:
    """A task file: its path, and its keys with those of the files that it includes."""

    path: Path
    keys: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, content: Mapping[str, Any]) -> "HarnessTask":
        """Check a task file.

        Raises:
            FiglangError: It is not of multiple choice, or needs code.
        """
        keys = _with_includes(path, content, (path.resolve(),))
        for key in NEEDED:
            if isinstance(code := keys.get(key), documents.Code):
                raise code.refusal()
        if keys.get("output_type") != KIND:
            raise FiglangError(
                f"{path}: output_type is {keys.get('output_type', 'not set')}, and figlang reads tasks with "
                f"output_type: {KIND}; give such a task"
            )
        for key in (CONTEXT, OPTIONS, GOLD):
            if keys.get(key) is None:
                raise FiglangError(f"{path}: {key} is not set; name a column or write a Jinja template")
        if isinstance(keys[CONTEXT], int) or keys.get("use_prompt"):
            raise FiglangError(
                f"{path}: tasks whose options are contexts, and prompts of other packages, are not read; "
                "export the rows to a JSONL file"
            )
        if not isinstance(keys.get("dataset_kwargs") or {}, dict):
            raise FiglangError(f"{path}: dataset_kwargs holds no keys with values; name data_files there")
        return cls(path, keys)

    @property
    def name(self) -> str:
        """The name of the task; that of the file if it has none."""
        return str(self.keys.get("task") or self.path.stem)

    def part(self, split: str) -> str:
        """The task's name of a split.

        Raises:
            FiglangError: It has none.
        """
        for key in SPLITS[split]:
            if self.keys.get(key):
                return str(self.keys[key])
        raise FiglangError(
            f"{self.path}: it has no split for {split}; set {' or '.join(SPLITS[split])}, or give "
            f"data.{split}=FILE"
        )

    def files(self, part: str) -> list[Path] | None:
        """The local files of a split; None if the data set is on the hub.

        Raises:
            FiglangError: There is no file for the split.
        """
        if self.keys.get("dataset_path") not in LOCAL:
            return None
        given = (self.keys.get("dataset_kwargs") or {}).get("data_files")
        if not isinstance(given, dict):  # as `datasets` takes it
            given = {"train": given}
        names = given.get(part)
        names = [names] if isinstance(names, str) else names
        if not names:
            raise FiglangError(f"{self.path}: dataset_kwargs.data_files names no file of {part}; add one")
        return [self._place(str(name)) for name in names]

    def hub(self) -> tuple[str, str | None]:
        """The data set on the hub, and its configuration."""
        extra = set(self.keys.get("dataset_kwargs") or {}) - {"trust_remote_code"}
        if extra or not self.keys.get("dataset_path"):
            wrong = f"dataset_kwargs.{min(extra)} is not read" if extra else "dataset_path is not set"
            raise FiglangError(f"{self.path}: {wrong}; give the rows as a local file by data_files")
        name = self.keys.get("dataset_name")
        return str(self.keys["dataset_path"]), None if name is None else str(name)

    def rows(self, records: Sequence[Record], problems: Problems) -> Iterator[Record]:
        """The rows with the task's text, choices and target beside their own columns.

        Args:
            records: The rows of the data set.
            problems: Takes notes about rows that cannot be worded.
        """
        names = {name for _, row in records for name in row}
        spaced = 0
        delimiter = str(self.keys.get("target_delimiter", " "))
        for number, row in records:
            document = _nested(row)
            text = self._description(document) + self._text(document, names)
            choices = self._choices(document, names)
            target = self._target(document, names, choices)
            spaced += any(
                f"{text}{delimiter}{choice}" != f"{text.strip()} {choice.strip()}" for choice in choices
            )
            yield number, {**row, CONTEXT: text, OPTIONS: choices, GOLD: target}
        if spaced:
            joined = form(spaced, "context and option is", "contexts and options are")
            problems.note(
                f"{self.path.name}: {spaced} {joined} joined by other spaces there; figlang writes one space "
                "between them and none around them"
            )

    def _place(self, name: str) -> Path:
        beside = self.path.parent / Path(name).expanduser()
        return beside if beside.is_file() else Path(name).expanduser()  # as the harness: from where it runs

    def _where(self, key: str) -> str:
        return f"{self.path}: {key}"

    def _description(self, row: Mapping[str, Any]) -> str:
        text = self.keys.get("description")
        return rendered(str(text), row, self._where("description")) if text else ""

    def _text(self, row: Mapping[str, Any], names: set[str]) -> str:
        template = str(self.keys[CONTEXT])
        return str(row[template]) if template in names else rendered(template, row, self._where(CONTEXT))

    def _choices(self, row: Mapping[str, Any], names: set[str]) -> list[str]:
        given = self.keys[OPTIONS]
        if isinstance(given, dict):
            return [str(one) for one in given.values()]
        if isinstance(given, list):
            return [str(one) for one in given]
        if given in names:
            return _texts(row.get(given)) or []
        listed = _texts(_literal(rendered(str(given), row, self._where(OPTIONS))))
        if listed is None:
            raise FiglangError(
                f"{self._where(OPTIONS)}: {str(given)[:60]!r} gives no list; write a column with a list, or "
                "a template such as {{[a, b]}}"
            )
        return listed

    def _target(self, row: Mapping[str, Any], names: set[str], choices: Sequence[str]) -> Any:
        given = self.keys[GOLD]
        if isinstance(given, str):
            # A column keeps its type, as in the harness: a whole number is a place, a text is an option.
            given = row.get(given) if given in names else _literal(rendered(given, row, self._where(GOLD)))
        if isinstance(given, list) and len(given) == 1:
            given = given[0]
        return given if isinstance(given, int) else golds.place(given, choices, "text")


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose columns `outer.inner` are objects too, as templates of the harness see them."""
    made = dict(row)
    for name, value in row.items():
        *outer, inner = name.split(".")
        place: Any = made
        for part in outer:
            place = place.setdefault(part, {}) if isinstance(place, dict) else None
        if outer and isinstance(place, dict):
            place[inner] = value
    return made


def _texts(value: Any) -> list[str] | None:
    """The choices with the spaces around them; None for what is not a list."""
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    listed = options.listed(value)
    return None if listed is None else list(listed)


def _literal(text: str) -> Any:
    if text.strip().isdecimal() and len(text) < 19:
        return int(text)
    if text.startswith("[") and text.endswith("]"):
        try:
            return ast.literal_eval(text)  # literals only: nothing is run
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
    return text


def _with_includes(path: Path, content: Mapping[str, Any], seen: tuple[Path, ...]) -> dict[str, Any]:
    included = content.get("include")
    keys: dict[str, Any] = {}
    several = [included] if isinstance(included, str | None) else included
    if not isinstance(several, list):
        raise FiglangError(f"{path}: include: {included!r} is not the name of a file; give one or a list")
    for name in filter(None, several):
        parent = path.parent / str(name)
        if parent.resolve() in seen:
            raise FiglangError(f"{path}: include: {name} includes itself; remove the line")
        keys |= _with_includes(parent, documents.read(parent), (*seen, parent.resolve()))
    return {**keys, **{key: value for key, value in content.items() if key != "include"}}

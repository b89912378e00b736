"""The list of `figlang tasks`: the presets of data= and benchmarks without presets, with their numbers of
items. No data are read."""

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from pathlib import Path

import yaml

from figlang.errors import FiglangError

# The entry points by which other packages name their tasks.
GROUP = "figlang.tasks"
COUNTS = Path(__file__).parent / "counts.csv"
COLUMNS = 80


@dataclass(frozen=True)
class Preset:
    """A preset of data=: its name, its task and the sentence about it. A benchmark outside of figlang has no
    preset, and `dataset` is true."""

    name: str
    task: str
    about: str
    dataset: bool = False

    @property
    def words(self) -> str:
        """What to type for it."""
        return f"data.dataset={self.name}" if self.dataset else f"data={self.name}"


@dataclass(frozen=True)
class Count:
    """Numbers of items by split, and of options (a range such as 2-4 if items differ). Empty: there are
    none."""

    preset: str
    train: str
    validation: str
    test: str
    options: str


def presets(folder: Path, task: str | None = None, others: Sequence[Preset] = ()) -> list[Preset]:
    """The presets of data=, or those of one task.

    Args:
        folder: The folder of the presets.
        task: The name of a task; None for all.
        others: Benchmarks without presets, which are listed too.

    Returns:
        The presets, by task and name.

    Raises:
        FiglangError: No preset has this task.
    """
    found = [*others]
    for file in folder.glob("*.yaml"):
        lines = file.read_text(encoding="utf-8").splitlines()
        about = next((line[1:].strip() for line in lines if line.startswith("# ")), "")
        found.append(Preset(file.stem, str(yaml.safe_load("\n".join(lines))["dataset"]), about))
    found.sort(key=lambda preset: (preset.task, preset.name))
    tasks = list(dict.fromkeys(preset.task for preset in found))
    if task is None:
        return found
    if task not in tasks:
        meant = "".join(f"did you mean {close}? " for close in get_close_matches(task, tasks, n=1))
        raise FiglangError(f"task={task} is not a task of this list; {meant}choose one of {', '.join(tasks)}")
    return [preset for preset in found if preset.task == task]


def carried() -> dict[str, Count]:
    """The counts that figlang carries, by preset. `figlang tasks count=true output=FILE` wrote them."""
    with COUNTS.open(encoding="utf-8", newline="") as file:
        return {row["preset"]: Count(**row) for row in csv.DictReader(file)}


def document(counts: Mapping[str, Count]) -> str:
    """Counts as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [spec.name for spec in fields(Count)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(count) for count in counts.values())
    return text.getvalue()


def text(shown: Sequence[Preset], counts: Mapping[str, Count]) -> str:
    """The list for a terminal of 80 columns."""
    lines: list[str] = []
    task = None
    for preset in shown:
        if preset.task != task:
            task = preset.task
            lines += ["", f"{task}:"] if lines else [f"{task}:"]
        numbers = _numbers(counts[preset.name]) if preset.name in counts else "not counted"
        lines += [f"  {preset.words:<27} {numbers}"]
        lines += textwrap.wrap(
            preset.about, COLUMNS, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
        )
    lines += ["", "Items: train / validation / test. –: no such split, or no file of it here."]
    if any(preset.dataset for preset in shown):
        lines += ["data.dataset=NAME stands alone, without data=; a folder's also needs paths.tasks=FOLDER."]
    lines += ["Your own items: data=FILE, any table (`figlang describe FILE`, `--help data`)."]
    return "\n".join(lines) + "\n"


def _numbers(count: Count) -> str:
    sizes = [f"{int(size):,}" if size else "–" for size in (count.train, count.validation, count.test)]
    options = f", {count.options} options" if count.options else ""
    return f"{' / '.join(sizes)} items{options}"

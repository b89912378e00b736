"""Describe a data set by counts and by rules without a model: `data=NAME`, and `split=train` for training
items.

It also counts the subjects, relations and objects of metaphors (§3.1).
"""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config import DataConfig, DescribeConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.machine.printing import say
from figlang.reports import plots, surface
from figlang.tables import Cell, Table, drawing
from figlang.tasks import registry as data
from figlang.tasks import unread
from figlang.tasks.task import Frequencies
from figlang.types import Item, Split

log = logging.getLogger("figlang")

USED_BY = "Evaluate it by this command (MiniLM reads English; `figlang models` lists other models):"
MOST = 50  # an attribute with more values than this is a number or a name


@entry("describe")
def main(config: DescribeConfig) -> None:
    role = config.split or _usual(config.data)
    unread.check([config.data], config.paths)
    split = data.load(role, config.data, config.paths)
    console = Console()
    folder = Path(config.output or Path(config.paths.runs) / "data" / f"{config.data.name}-{role}")
    explained = data.task(config.data.dataset).explained(role, config.data)
    made, frequencies = [counts(split)], _frequencies(config, split)
    if beside := surface.table(split.items, _training(config, role, split), role == "train"):
        made.append(beside)
    if frequencies is not None:
        made.append(frequencies.table)
    with folders.replaced(folder, "a description of data") as new:
        tables.write(made, new)
        if frequencies is not None:
            drawing.save(plots.frequencies(frequencies.counts), new / "segments", ("svg", "pdf"))
        if explained is not None:
            (new / f"{config.data.name}.yaml").write_text(explained.document, encoding="utf-8")
    if explained is not None:
        _show([tables.markdown(explained.parts), explained.examples, explained.document], console)
    for table in made:
        console.print(tables.markdown(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
    say(str(folder), console, "bold")
    if explained is not None:
        _show([USED_BY, use(folder / f"{config.data.name}.yaml")], console)


def _usual(settings: DataConfig) -> str:
    """The split that is described if none is named: the evaluated one, unless only training items are
    named."""
    only = settings.train is not None and settings.validation is None and settings.file is None
    return "train" if only else "validation"


def use(document: Path) -> str:
    """The command that evaluates a described file of one's own.

    Args:
        document: Its YAML document.
    """
    return shlex.join(["figlang", "evaluate", "model=minilm", f"data={document}"])


def _show(texts: Sequence[str], console: Console) -> None:
    for line in "\n".join(texts).splitlines():
        say(line, console)


def _frequencies(config: DescribeConfig, split: Split) -> Frequencies | None:
    """How often parts of the texts occur; None if they are not counted, which the log explains."""
    try:
        return data.task(config.data.dataset).frequencies(split, config.parsed)
    except FiglangError as error:  # the other counts need no parser
        log.warning("without the counts of parts of texts: %s", error)
        return None


def _training(config: DescribeConfig, role: str, described: Split) -> Sequence[Item]:
    """Load the training items for the frequency baseline. Empty if these are the ones that are described."""
    if role == "train":
        return ()
    try:
        train = data.load("train", config.data, config.paths)
    except FiglangError as error:
        log.info("without the training split: %s", error)
        return ()
    return () if train.sha256 == described.sha256 else train.items


def counts(split: Split) -> Table:
    """Count items, clusters, items whose label is hidden, and the items with each value of an attribute (an
    item may have several values)."""
    items = split.items
    hidden = sum(item.gold is None for item in items)
    rows: list[tuple[Cell, ...]] = [
        ("items", "", len(items), ""),
        ("clusters", "", len({item.group for item in items}), ""),
    ]
    if hidden:
        rows.append(("hidden labels", "", hidden, f"{100 * hidden / len(items):.1f} %"))
    names = dict.fromkeys(name for item in items for name in item.attributes)
    for name in names:
        values = sorted({value for item in items for value in item.attributes.get(name, ())})
        if len(values) > MOST:
            having = sum(bool(item.attributes.get(name)) for item in items)
            rows.append((name, f"{len(values)} different", having, f"{100 * having / len(items):.1f} %"))
            continue
        for value in values:
            n = sum(value in item.attributes.get(name, ()) for item in items)
            rows.append((name, value, n, f"{100 * n / len(items):.1f} %"))
    return Table(
        "counts",
        f"{split.name} of {split.source}",
        ("attribute", "value", "items", "share"),
        tuple(rows),
        split.notes,
    )


if __name__ == "__main__":
    main()

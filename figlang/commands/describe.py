"""Describe a data set by counts and by rules without a model: `data=figqa_medium split=train`.

Of Fig-QA's splits it also counts the words of Figure 1, §3.1 and §3.2.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config import DescribeConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.report import plots, surface
from figlang.tables import Cell, Table, drawing
from figlang.tasks import registry as data
from figlang.tasks.figqa import linguistic
from figlang.tasks.figqa import published as figures
from figlang.types import Item, Split

log = logging.getLogger("figlang")

MOST = 50  # an attribute with more values than this is a number or a name


@entry("describe")
def main(config: DescribeConfig) -> None:
    split = data.load(config.split, config.data, config.paths)
    console = Console()
    folder = Path(config.output or Path(config.paths.runs) / "data" / f"{config.data.name}-{config.split}")
    made, picture = [counts(split)], None
    if beside := surface.table(split.items, _training(config)):
        made.append(beside)
    if config.data.dataset in ("figqa", "figqa_csv"):
        found, note = _segments(split, config)
        if found is None:
            log.warning("without subjects, relations and objects: %s", note)
        else:
            made.append(unique(found, note))
            picture = plots.frequencies(found)
    with folders.replaced(folder, "a description of data") as new:
        tables.write(made, new)
        if picture is not None:
            drawing.save(picture, new / "segments", ("svg", "pdf"))
    for table in made:
        console.print(tables.markdown(table), highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


def _segments(split: Split, config: DescribeConfig) -> tuple[dict[str, dict[str, int]] | None, str]:
    """How often which subject, relation and object occurs, with a note of what was parsed; or None, and
    why."""
    if not linguistic.latin(item.context for item in split.items):
        return None, "the parser is English, and most letters of these texts are not Latin"
    parsed, note = split.items, ""
    if config.parsed is not None and len(parsed) > config.parsed:
        parsed = linguistic.every(parsed, config.parsed)
        note = (
            f"Only {len(parsed):,} of {len(split.items):,} items were parsed, pairs from all over the "
            "split; parsed=null takes all."
        )
    try:
        return linguistic.frequencies(parsed), note
    except FiglangError as error:  # counts need no parser
        return None, str(error)


def _training(config: DescribeConfig) -> Sequence[Item]:
    """The training items, for the baseline that goes by frequency; the training split itself would know its
    own answers."""
    if config.split == "train":
        return ()
    try:
        return data.load("train", config.data, config.paths).items
    except FiglangError as error:
        log.info("without the training split: %s", error)
        return ()


def counts(split: Split) -> Table:
    """Items, groups and, by attribute, how many items have which value (an item may have several)."""
    items = split.items
    rows: list[tuple[Cell, ...]] = [
        ("items", "", len(items), ""),
        ("groups", "", len({item.group for item in items}), ""),
    ]
    names = dict.fromkeys(name for item in items for name in item.attributes)
    for name in names:
        values = sorted({value for item in items for value in item.attributes.get(name, ())})
        if len(values) > MOST:
            having = sum(bool(item.attributes.get(name)) for item in items)
            rows.append((name, f"{len(values)} different", having, f"{100 * having / len(items):.1f} %"))
            continue
        for value in values:
            n = _having(items, name, value)
            rows.append((name, value, n, f"{100 * n / len(items):.1f} %"))
    return Table(
        "counts",
        f"{split.name} of {split.source}",
        ("attribute", "value", "items", "share"),
        tuple(rows),
        split.notes,
    )


def _having(items: Sequence[Item], name: str, value: str) -> int:
    return sum(value in item.attributes.get(name, ()) for item in items)


def unique(found: dict[str, dict[str, int]], note: str = "") -> Table:
    """How many different subjects, relations and objects there are, beside the paper's counts for the medium
    training file."""
    published = {
        row.setting["segment"].removesuffix("s"): row.value
        for row in figures.results()
        if row.table == "Sec 3.1" and row.metric == "n_unique" and row.value is not None
    }
    rows = tuple((part, len(counted), f"{published[part]:.0f}") for part, counted in found.items())
    published_by = (
        "Published: medium training file, spaCy 3.2 and NLTK's noun lemmatiser (Liu et al. 2022, §3.1, "
        "and their code)."
    )
    notes = (note, published_by) if note else (published_by,)
    return Table(
        "segments",
        "Different subjects, relations and objects",
        ("segment", "different", "published"),
        rows,
        notes,
    )


if __name__ == "__main__":
    main()

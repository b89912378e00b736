"""The words of Fig-QA's metaphors (Liu et al. 2022, Figure 1 and §3.1): subjects, relations and objects."""

from collections.abc import Mapping
from dataclasses import replace

from figlang.errors import FiglangError
from figlang.tables import Table
from figlang.tasks.figqa import linguistic, published
from figlang.tasks.task import Frequencies
from figlang.types import Split

PUBLISHED = (
    "Published: medium training file, spaCy 3.2 and NLTK's noun lemmatiser (Liu et al. 2022, §3.1, and their "
    "code)."
)


def frequencies(split: Split, most: int | None, beside: bool = True) -> Frequencies:
    """How often every subject, relation and object occurs.

    Args:
        split: The items.
        most: The largest number of items that are parsed; None for all.
        beside: Whether the paper's counts stand in the table.

    Returns:
        The counts.

    Raises:
        FiglangError: The texts are not English, or there is no parser. If an English parser finds the three
            parts in fewer than three quarters of the texts, these are taken for texts in another language.
    """
    if not linguistic.latin(item.context for item in split.items):
        raise FiglangError("the parser is English, and most letters of these texts are not Latin")
    parsed = split.items
    notes: tuple[str, ...] = (PUBLISHED,) if beside else ()
    if most is not None and len(parsed) > most:
        parsed = linguistic.every(parsed, most)
        note = (
            f"Only {len(parsed):,} of {len(split.items):,} items were parsed, pairs from all over the "
            "split; parsed=null takes all."
        )
        notes = (note, *notes)
    counts = linguistic.frequencies(parsed)
    table = different(counts, notes)
    if not beside:
        table = replace(table, columns=table.columns[:-1], rows=tuple(row[:-1] for row in table.rows))
    return Frequencies(counts, table)


def different(counts: Mapping[str, Mapping[str, int]], notes: tuple[str, ...] = (PUBLISHED,)) -> Table:
    """How many different subjects, relations and objects there are, beside the paper's counts for the medium
    training file.

    Args:
        counts: How often each text of a kind occurs.
        notes: The lines below the table.
    """
    theirs = {
        row.setting["segment"].removesuffix("s"): row.value
        for row in published.results()
        if row.table == "Sec 3.1" and row.metric == "n_unique" and row.value is not None
    }
    rows = tuple((kind, len(texts), f"{theirs[kind]:.0f}") for kind, texts in counts.items())
    return Table(
        "segments",
        "Different subjects, relations and objects",
        ("segment", "different", "published"),
        rows,
        notes,
    )

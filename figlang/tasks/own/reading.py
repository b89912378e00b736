"""The items of a split of one's own: rows, their columns, the form of the right option, items."""

from dataclasses import dataclass, replace

from figlang.config import DataConfig
from figlang.config.presets import DEFAULTS
from figlang.errors import FiglangError
from figlang.tasks.own import columns, golds, items, options, sources, unpaired
from figlang.tasks.own.columns import Chosen
from figlang.tasks.own.sources import Rows
from figlang.text import amounts
from figlang.types import Split


@dataclass(frozen=True)
class Read:
    """A split with the columns that it was read from, the form of the right option, and whether the file
    itself words items. `guess` is the note about columns that were guessed; empty if all were named."""

    split: Split
    columns: Chosen
    form: str
    fixed: bool
    guess: str = ""


def read(split: str, data: DataConfig) -> Read:
    """Read a split.

    Args:
        split: `train`, `validation` or `test`.
        data: The group data of the command.

    Raises:
        FiglangError: There is no file for the split, its columns cannot be found, or no row can be used.
    """
    found = sources.read(split, data)
    chosen, form = _understood(found)
    words = replace(chosen, gold_as=form).words()
    guess = ""
    if chosen.guessed:
        guess = (
            f"{found.problems.path.name}: columns {words} ({', '.join(chosen.guessed)} guessed; data.columns "
            "names others)"
        )
        found.problems.note(guess)
    if chosen.rivals:
        found.problems.note(
            f"{found.problems.path.name}: {', '.join(chosen.rivals)} may be the context as well, and "
            f"{amounts.form(len(chosen.rivals), 'is', 'are')} not read; name the right one by "
            "data.columns.context=COLUMN"
        )
    renamed = [name for name in chosen.attributes if items.called(name) != name]
    if renamed:
        found.problems.note(
            f"{found.problems.path.name}: {', '.join(renamed)} stands in tables as "
            f"{', '.join(map(items.called, renamed))}, since figlang has an attribute of that name"
        )
    made = items.Made(chosen, form, found.stem, data.drop_duplicates, found.cut)
    usable = items.of(found.records, made, found.problems)
    if not usable:
        raise found.problems.nothing_usable("add rows below the header")
    pairs = 0 if chosen.cluster or found.fixed else unpaired.counts(usable)[0]
    if pairs:
        # A table of these columns has a preset that finds pairs by itself.
        by_neighbours = any(
            {chosen.context, *chosen.options} >= set(known) for known in DEFAULTS.by_columns.values()
        )
        found.problems.note(
            f"{found.problems.path.name}: {pairs:,} rows look like pairs (two rows have the same options, "
            "and another one is right in each) and are read as independent; if they are pairs, name their "
            "column by data.columns.cluster=COLUMN"
            + (", or give a CSV file of them by data=FILE, of which neighbours are pairs" * by_neighbours)
        )
    notes = tuple(found.problems.found)
    loaded = Split(found.stem, usable, found.source, found.sha256, notes, drawn=words.replace("|", "/"))
    return Read(loaded, chosen, form, found.fixed, guess)


def _understood(found: Rows) -> tuple[Chosen, str]:
    """The columns of rows, and the form of the right option."""
    values = [row for _, row in found.records]
    if not values:
        raise found.problems.nothing_usable("it has no rows; add some")
    chosen = columns.choose(found.columns, values, found.source)
    if chosen.gold is None:
        raise FiglangError(
            f"{found.source}: no column looks like the right option; name it by data.columns.gold=COLUMN, "
            "with -1 in rows where it is hidden"
        )
    if chosen.gold_as != "auto":
        return chosen, chosen.gold_as
    told = [(row.get(chosen.gold), options.of(row, chosen.options) or ()) for row in values]
    return chosen, golds.form_of(told, found.source, chosen.gold)

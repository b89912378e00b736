"""Tables of an evaluation in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from figlang.errors import FiglangError
from figlang.machine.printing import printable, say
from figlang.machine.several import one_of_several
from figlang.reports import pairs, spending
from figlang.runs import legibility, origins, recomputed
from figlang.statistics.clustered import FEW
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, as_row, spread
from figlang.tables import FEW_CLUSTERS, mark, p_value
from figlang.tables.screen import plain, show_title
from figlang.tasks.reference import Comparison, Published
from figlang.text.amounts import counted, form

# The metrics that terminal, page, cards and Python show, by their name in metrics.json.
TITLES = {
    "accuracy": "accuracy",
    "pair_accuracy": "pair accuracy",
    "same_answer": "same answer",
    "first_option": "first option",
}

# The accuracy with the context hidden, and how much more is right with it.
BLIND, GAIN = "blind accuracy", "gain over blind"
# Replies of a chat model that cannot be read, and count as wrong.
UNREAD = "unread replies"
# The accuracy without the items that share text with training items.
CLEAN = "accuracy, clean items"

NONE = "none comparable"
UNCORRECTED = "The p of values of attributes are not corrected for their number."
WIDE = 100  # columns of a terminal that have room for published numbers


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def summary(
    content: Mapping[str, Any], comparisons: Sequence[Comparison], title: str, console: Console
) -> None:
    """Print the result of one evaluation (a metrics.json): value, interval, chance, and the best comparable
    published number.

    Args:
        content: The metrics.json.
        comparisons: Published numbers, comparable ones first.
        title: The title of the table.
        console: Where to print.
    """
    metrics = content["metrics"]
    # Two blanks between columns: with longer numbers a third one would not leave room for all of them at 80.
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    beside = console.width >= WIDE and bool(comparisons)
    for column in ("metric", "value", "95 % CI", "n", "chance", "p", *(["published"] if beside else [])):
        table.add_column(
            column,
            justify="left" if column in ("metric", "published") else "right",
            no_wrap=column not in ("metric", "published"),  # words are folded, numbers never cut
        )
    best = {name: _best(comparisons, name) for name in TITLES if as_row(metrics, name) is not None}
    for name, heading in TITLES.items():
        if (estimate := as_row(metrics, name)) is not None:
            table.add_row(heading, *_cells(estimate), *([best[name]] if beside else []))
    for name in ("accuracy", "pair_accuracy"):
        if (estimate := as_row(content.get("backward", {}), name)) is not None:
            table.add_row(f"backward {TITLES[name]}", *_cells(estimate))
    if (estimate := as_row(content.get("blind", {}), "accuracy")) is not None:
        table.add_row(BLIND, *_cells(estimate))
    if "gain" in content:
        gain = Difference(**content["gain"])
        interval = f"{100 * gain.low:+.1f} – {100 * gain.high:+.1f}{mark(gain)}"
        table.add_row(GAIN, f"{100 * gain.value:+.2f}", interval, str(gain.n), "–", p_value(gain.p))
    others = (
        (content.get("clean", {}), "accuracy", CLEAN),
        (content.get("three_way", {}), "accuracy", "three-way accuracy"),
        (content.get("replies", {}), "invalid", UNREAD),
        (content.get("blind", {}).get("replies", {}), "invalid", "unread blind replies"),
    )
    for part, name, heading in others:
        if (estimate := as_row(part, name)) is not None:
            table.add_row(heading, *_cells(estimate))
    _add_refused(table, content.get("refused", {}))
    _add_parts(table, metrics["accuracy_by"], metrics["items"] - metrics["hidden"])
    if metrics["hidden"] == metrics["items"]:
        table.add_row(f"{counted(metrics['items'], 'item')}, labels hidden", *["–"] * 5)
    show_title(title, console)
    console.print(table)
    for line in _below(content):
        say(line, console, "dim")
    # The table of published numbers says if none is comparable, and why.
    beneath = {} if beside else {name: found for name, found in best.items() if found not in ("", NONE)}
    for line, style in (
        *((line, "yellow") for line in cautions(content)),
        *((f"best published {TITLES[name]}: {found}", "") for name, found in beneath.items()),
    ):
        say(line, console, style)


def _add_refused(table: Table, refused: Mapping[str, Any]) -> None:
    """Rows for items that a content filter refused."""
    for name, heading in (("items", "refused items"), ("blind", "refused blind items")):
        if refused.get(name):
            share = f"{100 * refused[name] / refused['n']:.2f}"
            table.add_row(heading, share, "–", str(refused["n"]), "–", "–")


def _below(content: Mapping[str, Any]) -> list[str]:
    """Sentences that explain numbers of the table."""
    shares = [as_row(content["metrics"], name) for name in ("accuracy", "pair_accuracy")]
    tests = [cell["p"] for by in content["metrics"]["accuracy_by"].values() for cell in by.values()]
    lines = [
        FEW_CLUSTERS if _few(content) else "",
        UNCORRECTED if len(tests) > 1 and any(p is not None for p in tests) else "",
        pairs.sentence(*shares),
        cleanness(content["clean"]) if "clean" in content else "",
        spending.line(content["usage"]) if "usage" in content else "",
    ]
    return [line for line in lines if line]


def in_a_line(content: Mapping[str, Any]) -> str:
    """The main numbers of a metrics.json."""
    found = [(heading, as_row(content["metrics"], name)) for name, heading in list(TITLES.items())[:2]]
    told = [
        f"{heading} {percent(estimate.value)} ({100 * estimate.low:.1f} – {100 * estimate.high:.1f})"
        for heading, estimate in found
        if estimate is not None
    ]
    return ", ".join(told) or f"{counted(content['metrics']['items'], 'item')}, labels hidden"


def cautions(content: Mapping[str, Any]) -> list[str]:
    """Warnings about the items of a metrics.json: ties, and texts that the tokenizer reads badly."""
    lines = []
    for name, part in (("", "metrics"), ("backward ", "backward")):
        ties, items = content.get(part, {}).get("ties", 0), content.get(part, {}).get("items", 0)
        # A reply that names no option is a tie too, and counted as unread.
        if ties and "replies" not in content:
            lines.append(
                f"{ties:,} of {items:,} {name}choices {form(ties, 'is a tie', 'are ties')}: no option "
                f"scores above all others. {form(ties, 'It counts', 'They count')} as wrong."
            )
    if (unknown := content.get("unknown_tokens", {})).get("unknown"):
        where = (
            f"{unknown['unknown']:,} of {unknown['tokens']:,} tokens, in {counted(unknown['items'], 'item')}"
        )
        examples = f", {', '.join(map(repr, words))} for example" if (words := unknown.get("words")) else ""
        scripts = f" Their script: {', '.join(unknown['scripts'])}." if unknown["scripts"] else ""
        lines.append(f"The tokenizer does not know {where}{examples}.{scripts}")
    return lines + legibility.sentences(content)


def _add_parts(table: Table, accuracy_by: Mapping[str, Any], items: int) -> None:
    """Add the accuracy by each value of each attribute, which some of the `items` have."""
    for attribute, values in accuracy_by.items():
        table.add_section()
        table.add_row(Text(printable(f"{attribute}:"), style="dim"))
        for value, cell in values.items():
            share, interval, n, *rest = _cells(Estimate(**cell))
            table.add_row(plain(f"  {value}"), share, interval, f"{n} of {items}", *rest)


def _few(content: Mapping[str, Any]) -> bool:
    """Whether a number of the table has too few clusters."""
    cells = [cell for by in content["metrics"]["accuracy_by"].values() for cell in by.values()]
    for part in content.values():
        if isinstance(part, Mapping):
            # The items that are not clean are not in the table.
            cells += [value for name, value in part.items() if name != "others"]
    return any(isinstance(cell, Mapping) and (cell.get("clusters") or FEW) < FEW for cell in cells)


def cleanness(clean: Mapping[str, Any]) -> str:
    """Say how many items share text with training items.

    Args:
        clean: The part `clean` of a metrics.json.

    Returns:
        A sentence.
    """
    stages = "" if clean["stages"] == 1 else f", of {clean['stages']} stages"
    searched = f"{counted(clean['training_items'], 'training item')}{stages}"
    if not clean["touched"]:
        return f"All items are clean: none shares text with the {searched}."
    return f"Clean items: without {len(clean['touched']):,} that share text with the {searched}."


def _cells(estimate: Estimate) -> tuple[str, ...]:
    chance = "–" if estimate.chance is None else percent(estimate.chance)
    return (
        percent(estimate.value),
        f"{100 * estimate.low:.1f} – {100 * estimate.high:.1f}{mark(estimate)}",
        str(estimate.n),
        chance,
        p_value(estimate.p),
    )


def _best(comparisons: Sequence[Comparison], metric: str) -> str:
    usable = [
        c.published
        for c in comparisons
        if c.comparable and c.published.metric == metric and c.published.value is not None
    ]
    if not usable:
        return NONE if comparisons and metric in ("accuracy", "pair_accuracy") else ""
    systems = [published for published in usable if not published.of_people]
    best = max(systems or usable, key=lambda published: published.value or 0)
    regime = _regime(best)
    return f"{best.value:.2f} % {best.model}" + (f", {regime}" if regime else "")


def _regime(row: Published) -> str:
    return " ".join(filter(None, (row.setting.get("regime"), row.setting.get("train"))))


def published(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print the comparable published numbers, and one sentence about the others."""
    usable = [comparison for comparison in comparisons if comparison.comparable]
    if usable:
        table = Table(title="Published numbers", title_justify="left", box=SIMPLE_HEAD)
        for column in ("model", "regime", "metric", "value", "where"):
            table.add_column(column, justify="right" if column == "value" else "left")
        for row in (comparison.published for comparison in usable):
            value = "–" if row.value is None else f"{row.value:.2f} %"
            table.add_row(row.model, _regime(row), row.metric.replace("_", " "), value, row.table)
        console.print(table)
    reasons = Counter(comparison.reason for comparison in comparisons if not comparison.comparable)
    if reasons:
        (reason, _), *others = reasons.most_common()
        say(
            f"{'Other published' if usable else 'Published'} numbers are not comparable: {reason}"
            f"{', or other reasons' if others else ''}. `figlang report` lists them.",
            console,
            "dim",
        )


def seeds(run: Path, console: Console) -> None:
    """Print mean ± sd over the seeds of a recipe.

    They are the finished runs in the folders beside `run`, each seed once. A mean of weights is not a seed.
    Prints nothing for a single run.
    """
    folder, recipe = run.parent, origins.without_seed(origins.recipe(run))
    known: dict[int, dict[str, Any]] = {}
    # The run itself comes first, so that no copy stands for it.
    for path in sorted(folder.glob("seed*/metrics.json"), key=lambda path: (path.parent != run, path)):
        try:
            if origins.without_seed(origins.recipe(path.parent)) == recipe:
                content = recomputed.checked(path)
                if "averaged" not in content:
                    known.setdefault(int(content["seed"]), content)
        except FiglangError as error:
            say(f"left out: {error}", console, "yellow")
    runs = [known[seed] for seed in sorted(known)]
    if len(runs) < 2:
        return
    names = ", ".join(str(run["seed"]) for run in runs)
    if one_of_several():
        mean, deviation = spread([run["metrics"]["accuracy"]["value"] for run in runs])
        share = f"{100 * mean:.2f} ± {100 * (deviation or 0):.2f}"
        say(f"{folder}, {len(runs)} seeds ({names}): accuracy {share}", console)
    else:
        console.print(_over_seeds(runs, names))
        say(str(folder), console, "bold")
    collapsed = [str(run["seed"]) for run in runs if stayed_at_chance(run)]
    if collapsed:
        console.print(
            "these seeds stayed at chance in training, and the mean includes them: seed "
            f"{', '.join(collapsed)}",
            style="yellow",
        )


def _over_seeds(runs: Sequence[Mapping[str, Any]], names: str) -> Table:
    table = Table(title=f"{len(runs)} seeds ({names})", title_justify="left", box=SIMPLE_HEAD)
    for column in ("metric", "mean ± sd", "lowest", "highest"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, heading in TITLES.items():
        _add_spread(table, heading, [as_row(run["metrics"], name) for run in runs])
    _add_spread(table, BLIND, [as_row(run.get("blind", {}), "accuracy") for run in runs])
    return table


def _add_spread(table: Table, heading: str, found: Sequence[Estimate | None]) -> None:
    """A row for a metric of several seeds, if all have it."""
    values = [estimate.value for estimate in found if estimate is not None]
    if len(values) < len(found):
        return
    mean, deviation = spread(values)
    assert deviation is not None, "there are several seeds"
    share = f"{100 * mean:.2f} ± {100 * deviation:.2f}"
    table.add_row(heading, share, percent(min(values)), percent(max(values)))


def stayed_at_chance(run: Mapping[str, Any]) -> bool:
    """Whether a run (its metrics.json) was still at chance on its training items in the last epoch."""
    last = run.get("training", {}).get("epochs")
    return any(
        finding["code"] == "collapsed" and finding["epoch"] == last for finding in run.get("health", ())
    )

"""The model card of an export, made from its run."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from figlang.config.presets import DEFAULTS
from figlang.models import gguf
from figlang.models.manifest import Manifest
from figlang.release import beside, commands, matter, portable, using
from figlang.reports import intervals
from figlang.reports.terminal import BLIND, CLEAN, GAIN, TITLES, percent
from figlang.runs import spelled
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate, as_row
from figlang.tables import (
    FEW_CLUSTERS,
    Cell,
    Code,
    Mean,
    Table,
    mark,
    markdown,
    markdown_code,
    markdown_text,
)
from figlang.tasks import overlap_table
from figlang.text.amounts import form
from figlang.training import displacement

SELECTED = {
    "none": (
        "The validation items took no part in training or in the choice of the epoch: the last one is "
        "exported."
    ),
    "heldout": (
        "The validation items took no part in training or in the choice of the epoch: {epoch} was best "
        "on held-out pairs."
    ),
    "validation": "Epoch {epoch} is exported, selected on these validation items: the numbers are optimistic.",
}
WHOLE = (
    "These are of whole texts, the context with the answer, as this training scores them. So they do not "
    "compare with numbers of answers alone."
)
WORDED = {
    "clean": "one final period, first letter upper-case",
    "gpt3": "a period added, first letter upper-case",
}


def card(manifest: Manifest, document: Mapping[str, Any]) -> str:
    """Write the card as Markdown with front matter; `document` is the run's metrics.json.

    A path of this machine is shown by its last part, because it says nothing to other readers.
    """
    base = manifest.base
    before, after = (
        portable.plain(part.replace(base, portable.source(base)) if base else part)
        for part in (_before_use(manifest, document), _after_use(manifest, document))
    )
    return before + _use(manifest) + after


def _before_use(manifest: Manifest, document: Mapping[str, Any]) -> str:
    """The card up to the lines of Python."""
    data, training = document["data"], document["training"]
    carried = gguf.title(manifest.base)
    titled = f" ({markdown_text(carried)})" if carried else ""
    trained = markdown_text(f"{manifest.name} trained on {manifest.trained_on}")
    # Checkpoints of one network and one data set differ in their own names only.
    released = document.get("release", {}).get("name")
    title, sentence = (markdown_text(released), f"{trained}. ") if released else (trained, "")
    seeded = "" if manifest.seed is None else f", seed {manifest.seed}"
    return f"""---
{matter.front(manifest, document)}---

# {title}

{sentence}Method {markdown_text(manifest.method)}, input format `{manifest.format}`, from {markdown_code(manifest.base)}{titled}{seeded}.

| {data["validation"]["items"]} {form(data["validation"]["items"], "validation item")} | value | 95 % interval | n | chance |
|---|---|---|---|---|
{chr(10).join(_results(document))}

{markdown_code(document["signature"])}

{_intervals(document["metrics"])} {_selected(document)}{_chosen(document)}
{_teachers(document)}
## Reproduce

{commands.listed(document, manifest.trained_on)}

- {"run 1: " if document.get("shares") else ""}{training["items"]} {form(training["items"], "item")}, {training["epochs"]} {form(training["epochs"], "epoch")}, {training["steps"]} {form(training["steps"], "step")}, {training["precision"]}
- {_cost(training, document)}
- training file sha256 `{data["train"]["sha256"]}`
- validation file sha256 `{data["validation"]["sha256"]}`
"""


def _use(manifest: Manifest) -> str:
    """Lines of Python that score with the export."""
    return f"""
## Use

The model reads texts that are worded like this: {WORDED.get(manifest.text, "text as it is")}. With figlang, from the folder of this card:

```python
{using.use(manifest)}
```

With plain {"transformers and peft" if manifest.base_sha256 else "transformers"}:

```python
{using.lines(manifest)}
```
"""


def _after_use(manifest: Manifest, document: Mapping[str, Any]) -> str:
    """The card from the lines of Python on."""
    return f"""
On a benchmark: `figlang evaluate checkpoint=. data={DEFAULTS.described}`.{_copied(manifest)}

## Health of the training

{chr(10).join(_health(document["health"]))}
{_likely(document)}{_released(document)}{_contamination(document, manifest.trained_on)}"""


def _copied(manifest: Manifest) -> str:
    """How a copy of the network below adapters is named; empty if the export is a whole network."""
    if not manifest.base_sha256:
        return ""
    word = "FILE" if manifest.base and manifest.base.endswith(".gguf") else "FOLDER"
    return (
        f" If the network below the adapters is elsewhere, name it by `model.base={word}`, in Python by "
        f"`figlang.open_model(folder, base={word})` and in the plain lines by `base`."
    )


def _results(document: Mapping[str, Any]) -> list[str]:
    """The rows of the table of metrics."""
    rows = []
    for name, heading in TITLES.items():
        if (estimate := as_row(document["metrics"], name)) is not None:
            rows.append(_row(heading, estimate, "" if estimate.chance is None else percent(estimate.chance)))
    if "gain" in document:
        gain = Difference(**document["gain"])
        rows.append(_row(BLIND, Estimate(**document["blind"]["accuracy"])))
        rows.append(
            f"| {GAIN} | {100 * gain.value:+.2f} | {100 * gain.low:+.1f} – {100 * gain.high:+.1f}{mark(gain)} "
            f"| {gain.n} |  |"
        )
    if (estimate := as_row(document.get("clean", {}), "accuracy")) is not None:
        rows.append(_row(CLEAN, estimate))
    return rows


def _row(heading: str, share: Estimate, chance: str = "") -> str:
    interval = f"{100 * share.low:.1f} – {100 * share.high:.1f}{mark(share)}"
    return f"| {heading} | {percent(share.value)} | {interval} | {share.n} | {chance} |"


def _intervals(metrics: Any) -> str:
    """A sentence on what is resampled for the intervals, with a warning if that is few."""
    whole, unit = as_row(metrics, "accuracy"), intervals.TOGETHER
    if as_row(metrics, "pair_accuracy") is not None:
        unit = "pairs"
    elif whole is not None and whole.clusters == whole.n:
        unit = intervals.ALONE
    few = any(mark(as_row(metrics, name)) for name in TITLES)
    return f"Intervals are over {unit}. {FEW_CLUSTERS}" if few else f"Intervals are over {unit}."


def _selected(document: Mapping[str, Any]) -> str:
    """How the exported weights were chosen, or of which they are the mean."""
    training = document["training"]
    text = SELECTED[training["selection"]].format(epoch=training["exported_epoch"])
    if averaged := document.get("averaged"):
        share, shares = document.get("start_share", 0.0), document.get("shares", [])
        text += f" Averaged in weights: {mean_of(len(averaged), share, shares)}."
        text += " The start is what the training began from." if share else ""
        text += " The runs stand in the order of their commands." if shares else ""
    return text


def _chosen(document: Mapping[str, Any]) -> str:
    """How it was chosen for release, a paragraph beside the numbers that the choice may have raised."""
    note = document.get("release", {}).get("note")
    return f"\n\n{note}" if note else ""


def _teachers(document: Mapping[str, Any]) -> str:
    """The systems whose scores were learnt, and on what they were trained. Empty if there were none."""
    if not (teachers := document.get("teachers")):
        return ""
    rows = tuple(
        (
            spelled.model(str(teacher["model"])),
            _trained_on(teacher),
            f"{spelled.data(str(teacher['data_name']))}, {teacher['split']}",
            teacher["items"],
            Code(str(teacher["signature"])),
        )
        for teacher in teachers
    )
    title = "The model also learnt the scores of other systems (distillation)"
    columns = ("teacher", "trained on", "scored", "items", "signature")
    return f"\n## Teachers\n\n{markdown(Table('teachers', title, columns, rows))}"


def _trained_on(teacher: Mapping[str, Any]) -> str:
    last, before, drawn = spelled.trained(teacher)
    return f"{f'{before} > ' if before else ''}{last}{f' ({drawn})' if drawn else ''}"


def _likely(document: Mapping[str, Any]) -> str:
    """How likely right and wrong answers were before and after; empty for an encoder."""
    said = displacement.sentence(document["training"].get("log_probs", {}))
    whole = f" {WHOLE}" if "span=whole" in document["signature"] else ""
    return f"\nThe {said}.{whole}\n" if said else ""


def _health(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"- epoch {finding['epoch']}: {markdown_text(finding['message'])}" for finding in findings] or [
        "- none"
    ]


def _spread(values: Iterable[float]) -> Mean | None:
    """Mean and standard deviation over seeds; None for a single seed."""
    seeds = tuple(values)
    return Mean.over(seeds) if len(seeds) > 1 else None


def mean_of(runs: int, start: float, shares: Sequence[float]) -> str:
    """Describe a mean of weights in a formula.

    Args:
        runs: The number of runs.
        start: The share of the network that the training started from.
        shares: The shares of the runs; empty for seeds of one recipe, which have equal ones. If they are
            less than one, the rest is the network as it comes.
    """
    if shares:
        parts = [f"{share:g} × run {number}" for number, share in enumerate(shares, 1)]
        rest = 1 - fsum(shares)
        return " + ".join([*parts, *([f"{rest:.4g} × the network as it comes"] if rest > 1e-6 else [])])
    own = "one seed" if runs == 1 else f"mean of {runs} seeds"
    return f"{start:g} × start + {1 - start:g} × {own}" if start else own


def _cost(training: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Time and memory of a training, as far as they were measured; for a mean, those of all its runs."""
    averaged, noun = len(document.get("averaged", [])), "runs" if document.get("shares") else "seeds"
    parts = [f"{training['seconds']:.0f} s of training"]
    if averaged > 1:
        parts.append(f"{averaged} {noun} together")
    if "tokens_per_second" in training:
        parts.append(f"{training['tokens_per_second']:,.0f} tokens a second")
        if training["peak_memory_mb"] is not None:
            parts.append(f"{training['peak_memory_mb']:,.0f} MiB of memory at most")
    if (reached := training.get("peak_share")) is not None:
        parts.append(
            f"{100 * reached:.0f} % of what matrix products alone reached on the same CPU right afterwards"
        )
    return ", ".join(parts)


def _released(document: Mapping[str, Any]) -> str:
    """The released seed beside the others of its recipe, and its results on other data.

    Empty for a run that is not released.
    """
    if (released := document.get("release")) is None:
        return ""
    text = _several(document) if document.get("shares") else _seeds(document)
    text += (
        f"\nThe runs are in float32. This folder is in {released['dtype']}, and what stands above was "
        "measured with it.\n"
    )
    if elsewhere := released["evaluations"]:
        cells: list[tuple[Cell, ...]] = [
            (
                evaluation["data_name"],
                evaluation["split"],
                as_row(evaluation, "accuracy"),
                as_row(evaluation, "pair_accuracy"),
                Code(evaluation["signature"]),
            )
            for evaluation in elsewhere
        ]
        columns = ("data", "split", "accuracy", "pair accuracy", "signature")
        table = Table("elsewhere", "The run on other data", columns, tuple(cells))
        text += f"\n{markdown(table)}"
    return text + beside.section(released.get("beside", ()))


def _seeds(document: Mapping[str, Any]) -> str:
    """The released seed, or mean of seeds, beside the seeds of its recipe."""
    seeds, own = document["release"]["seeds"], document["release"]["run"]
    which = f"seed {own['seed']}"
    if len(averaged := document.get("averaged", [])) > 1:
        which = mean_of(len(averaged), document.get("start_share", 0.0), ())
    rows: list[tuple[Cell, ...]] = [
        (
            name.replace("_", " "),
            percent(own[name]),
            _spread(seed[name] for seed in seeds),
            *(percent(seed[name]) for seed in seeds),
        )
        for name in own
        if name != "seed"
    ]
    columns = ("of the runs", f"{which}, released", "mean ± sd", *(f"seed {seed['seed']}" for seed in seeds))
    title = "One seed was trained" if len(seeds) == 1 else f"{len(seeds)} seeds were trained, in %"
    return f"\n## Seeds of the recipe\n\n{markdown(Table('seeds', title, columns, tuple(rows)))}"


def _several(document: Mapping[str, Any]) -> str:
    """The mean of runs of several recipes beside them, in the order of their shares."""
    runs, own = document["release"]["seeds"], document["release"]["run"]
    rows: list[tuple[Cell, ...]] = [
        (name.replace("_", " "), percent(own[name]), *(percent(run[name]) for run in runs))
        for name in own
        if name != "seed"
    ]
    columns = ("of the runs", "mean, released", *(f"run {number}" for number in range(1, len(runs) + 1)))
    title = "One run was trained, in %" if len(runs) == 1 else f"{len(runs)} runs were trained, in %"
    return f"\n## Runs of the mean\n\n{markdown(Table('runs', title, columns, tuple(rows)))}"


def _contamination(document: Mapping[str, Any], trained_on: str) -> str:
    """The section about text that evaluation items and training items share.

    Empty if the run is from an earlier version of figlang, which did not search for overlaps. If a network
    was trained in several stages and only the last was searched, the text says so.
    """
    if (overlaps := document.get("contamination")) is None:
        return ""
    count = overlaps.get("training_items", document["data"]["train"]["items"])
    of_teachers = overlaps.get("teacher_items")
    more = "" if of_teachers is None else f" and {of_teachers} that only its teachers were trained on"
    table = overlap_table.table(overlaps, f"{count} {form(count, 'training item')}{more}")
    listed = "".join(f"- {line}\n" for line in overlap_table.ids(overlaps))
    text = f"\n## Contamination\n\n{markdown(table)}" + (
        f"\nContexts, each with its training item:\n\n{listed}" if listed else ""
    )
    *before, last = trained_on.split(">")
    if len(before) >= overlaps.get("stages", 1):
        looked = f"Only the items of {last} were looked at; what those of {', '.join(before)} before share"
        text += f"\n{looked} stands on the card that it began from.\n"
    if document.get("teachers") and of_teachers is None:
        text += "\nThe training items of its teachers were not looked at, except where they are its own.\n"
    if unknown := overlaps.get("teachers_unknown"):
        text += (
            f"\nWhat these teachers were trained on was not looked at: {markdown_text(', '.join(unknown))}.\n"
        )
    if anchor := overlaps.get("anchor_data"):
        text += f"\nThe texts of {markdown_text(anchor)}, which an anchor read, were not looked at.\n"
    return text

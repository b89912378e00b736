"""The model card of an export, made from its run."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang.files.sources import PACKAGE
from figlang.models import gguf
from figlang.models.lora import OWN
from figlang.models.manifest import Manifest
from figlang.models.weights import address
from figlang.report.terminal import BLIND, GAIN, TITLES, percent
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
    yaml_text,
)
from figlang.tables import text as shown
from figlang.tasks import overlap_table
from figlang.types import SentenceVectors

LOAD = {
    "pair": """from transformers import AutoModelForMultipleChoice, AutoTokenizer

network = AutoModelForMultipleChoice.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer([metaphor, metaphor], [answer1, answer2], padding=True, return_tensors="pt")
scores = network(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0]""",
    "joint": """from transformers import AutoModelForSequenceClassification, AutoTokenizer

network = AutoModelForSequenceClassification.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
first, second = sorted([answer1, answer2])  # options enter in alphabetical order; so do the scores
between = tokenizer.sep_token or tokenizer.eos_token
scores = network(**tokenizer(metaphor, f"{first} {between} {second}", return_tensors="pt")).logits[0]""",
    "dual": """{imports}from torch.nn.functional import cosine_similarity
from transformers import AutoModel, AutoTokenizer

network = AutoModel.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer({sentences}, padding=True, return_tensors="pt")
mask = inputs["attention_mask"][..., None]
vectors = {vectors}
scores = {scale:g} * {similarity}""",
    "nli": """from transformers import AutoModelForSequenceClassification, AutoTokenizer

network = AutoModelForSequenceClassification.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer([metaphor, metaphor], [answer1, answer2], padding=True, return_tensors="pt")
classes = {name: index for index, name in network.config.id2label.items()}
chances = network(**inputs).logits.softmax(-1)
scores = chances[:, classes["entailment"]] - chances[:, classes["contradiction"]]""",
    "causal": """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

network = AutoModelForCausalLM.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
first = {bos}  # the token before every string
before, string = ({texts})
ids = first + tokenizer(before + string, add_special_tokens=False).input_ids
start = {start}
log_probs = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
score = {score}""",
    "causal, minus alone": """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

network = AutoModelForCausalLM.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
first = {bos}  # the token before every string
def log_prob(before, string):  # of a string after what stands before it
    ids = first + tokenizer(before + string, add_special_tokens=False).input_ids
    start = len(first + tokenizer(before, add_special_tokens=False).input_ids) - 1
    log_probs = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return {score}
score = log_prob({texts}) - log_prob("", {alone})""",
}
POOLED = {
    "cls": "states[:, 0]",
    "max": "states.masked_fill(mask == 0, -torch.inf).amax(1)",
    "mean": "(states * mask).sum(1) / mask.sum(1)",
    "mean_sqrt_len_tokens": "(states * mask).sum(1) / mask.sum(1).sqrt()",
    "weightedmean": "(states * mask * mask.cumsum(1)).sum(1) / (mask * mask.cumsum(1)).sum(1)",
    "lasttoken": "states[torch.arange(3), mask.sum(1)[:, 0] - 1]",
}
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


def card(manifest: Manifest, document: Mapping[str, Any]) -> str:
    """Write the card as Markdown with front matter; `document` is the run's metrics.json.

    The function is long because it holds the whole text of the card.
    """
    rows = []
    for name, heading in TITLES.items():
        if (estimate := as_row(document["metrics"], name)) is not None:
            chance = "" if estimate.chance is None else percent(estimate.chance)
            interval = f"{100 * estimate.low:.1f} – {100 * estimate.high:.1f}{mark(estimate)}"
            rows.append(f"| {heading} | {percent(estimate.value)} | {interval} | {estimate.n} | {chance} |")
    if "gain" in document:
        unseen, gain = Estimate(**document["blind"]["accuracy"]), Difference(**document["gain"])
        rows.append(
            f"| {BLIND} | {percent(unseen.value)} | {100 * unseen.low:.1f} – {100 * unseen.high:.1f} | "
            f"{unseen.n} |  |"
        )
        rows.append(
            f"| {GAIN} | {100 * gain.value:+.2f} | {100 * gain.low:+.1f} – {100 * gain.high:+.1f} | {gain.n} "
            "|  |"
        )
    few = any(mark(as_row(document["metrics"], name)) for name in TITLES)
    intervals = f"Intervals are over pairs. {FEW_CLUSTERS}" if few else "Intervals are over pairs."
    data = document["data"]
    training = document["training"]
    warnings = [
        f"- epoch {finding['epoch']}: {markdown_text(finding['message'])}" for finding in document["health"]
    ] or ["- none"]
    worded = {
        "clean": "one final period, first letter upper-case",
        "gpt3": "a period added, first letter upper-case",
    }
    selected = SELECTED[training["selection"]].format(epoch=training["exported_epoch"])
    if averaged := document.get("averaged"):
        selected += f" Averaged in weights: {mean_of(len(averaged), document.get('start_share', 0.0))}."
    title = gguf.title(manifest.base)
    titled = f" ({markdown_text(title)})" if title else ""
    seeded = "" if manifest.seed is None else f", seed {manifest.seed}"
    library = "transformers" if manifest.base_sha256 is None else "peft"
    matter = {
        "library_name": library,
        "base_model": manifest.base,
        "tags": ["figurative-language", "figlang"],
    }
    return f"""---
{yaml_text(matter)}---

# {markdown_text(f"{manifest.name} trained on {manifest.trained_on}")}

Method {markdown_text(manifest.method)}, input format `{manifest.format}`, from {markdown_code(manifest.base)}{titled}{seeded}.

| {data["validation"]["items"]} validation items | value | 95 % interval | n | chance |
|---|---|---|---|---|
{chr(10).join(rows)}

{markdown_code(document["signature"])}

{intervals} {selected}

## Reproduce

```sh
{chr(10).join([*document.get("commands", []), document["command"]])}
```

- {training["items"]} items, {training["epochs"]} epochs, {training["steps"]} steps, {training["precision"]}
- {_cost(training, len(document.get("averaged", [])))}
- training file sha256 `{data["train"]["sha256"]}`
- validation file sha256 `{data["validation"]["sha256"]}`

## Use

`folder` is where this card lies; metaphor and answers are worded as: {worded.get(manifest.text, "text as it is")}.

```python
{_lines(manifest)}
```

Or `python evaluate.py checkpoint=<this folder> data=figqa_medium`.

## Health of the training

{chr(10).join(warnings)}
{_released(document)}{_contamination(document, manifest.trained_on)}"""


def _spread(values: Iterable[float]) -> Mean | None:
    """Mean and standard deviation over seeds; None for a single seed."""
    seeds = tuple(values)
    return Mean.over(seeds) if len(seeds) > 1 else None


def mean_of(seeds: int, start: float) -> str:
    """Describe a mean of weights in a formula.

    `start` is the share of the network that the training started from.
    """
    own = "one seed" if seeds == 1 else f"mean of {seeds} seeds"
    return f"{start:g} × start + {1 - start:g} × {own}" if start else own


def _cost(training: Mapping[str, Any], averaged: int) -> str:
    """Time and memory of a training, as far as they were measured; for a mean, those of all its seeds."""
    parts = [
        f"{training['seconds']:.0f} s of training" + (f", {averaged} seeds together" if averaged > 1 else "")
    ]
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
    seeds, own = released["seeds"], released["run"]
    which = f"seed {own['seed']}"
    if len(averaged := document.get("averaged", [])) > 1:
        which = mean_of(len(averaged), document.get("start_share", 0.0))
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
    text = f"\n## Seeds of the recipe\n\n{markdown(Table('seeds', title, columns, tuple(rows)))}"
    text += (
        f"\nThe runs are in float32. This folder is in {released['dtype']}, and what stands above was "
        "measured with it.\n"
    )
    if released.get("note"):
        text += f"\n{released['note']}\n"
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
    return text + _beside(released.get("beside", ()))


def _beside(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The checkpoint beside its untrained base, and what its training won and lost.

    Empty if there are no such evaluations.
    """
    if not evaluations:
        return ""
    cells: list[tuple[Cell, ...]] = [
        (
            f"{evaluation['data_name']}, {evaluation['scoring']}",
            *_seen(evaluation),
            *_seen(evaluation["base"]),
            Difference(**evaluation["difference"]),
        )
        for evaluation in evaluations
    ]
    columns = (
        "data, scoring",
        "accuracy",
        BLIND,
        GAIN,
        "base",
        f"base, {BLIND}",
        f"base, {GAIN}",
        "to the base",
    )
    notes = (
        "Blind: the same network chooses among the same options with the context hidden. Gains and "
        "differences are in points.",
    )
    lost = _named([row for row in evaluations if row["difference"]["high"] < 0])
    won = _named([row for row in evaluations if row["difference"]["low"] > 0])
    table = markdown(
        Table("beside", "This checkpoint and its base as it comes", columns, tuple(cells), notes)
    )
    return f"\n## What the training won and lost\n\nWon: {won}. Lost: {lost}.\n\n{table}"


def _named(changed: Sequence[Mapping[str, Any]]) -> str:
    listed = ", ".join(f"{row['data_name']} {shown(Difference(**row['difference']))}" for row in changed)
    return listed or "nothing that its interval tells from 0"


def _seen(numbers: Mapping[str, Any]) -> tuple[Cell, Cell, Cell]:
    gain = Difference(**numbers["gain"]) if "gain" in numbers else None
    return as_row(numbers, "accuracy"), as_row(numbers, "blind"), gain


def _contamination(document: Mapping[str, Any], trained_on: str) -> str:
    """The section about text that evaluation items and training items share.

    Empty if the run is from an earlier version of figlang, which did not search for overlaps. If a network
    was trained in several stages and only the last was searched, the text says so.
    """
    if (overlaps := document.get("contamination")) is None:
        return ""
    count = overlaps.get("training_items", document["data"]["train"]["items"])
    table = overlap_table.table(overlaps, f"{count} training items")
    listed = "".join(f"- {line}\n" for line in overlap_table.ids(overlaps))
    text = f"\n## Contamination\n\n{markdown(table)}" + (
        f"\nContexts, each with its training item:\n\n{listed}" if listed else ""
    )
    *before, last = trained_on.split(">")
    if len(before) >= overlaps.get("stages", 1):
        looked = f"Only the items of {last} were looked at; what those of {', '.join(before)} before share"
        text += f"\n{looked} stands on the card that it began from.\n"
    return text


def _vectors(vectors: SentenceVectors) -> dict[str, str]:
    """How a dual encoder makes vectors of sentences, as text for the lines of its format."""
    sentence = "sentence.lower()" if vectors.lower else "sentence"
    prompted = (
        f"{vectors.prompt!r}{'.lower()' if vectors.lower else ''} + {sentence}"
        if vectors.prompt
        else sentence
    )
    states = "network(**inputs).last_hidden_state"
    parts = [POOLED[mode].replace("states", states) for mode in vectors.pooling]
    return {
        "{imports}": "import torch\n" if any("torch." in part for part in parts) or len(parts) > 1 else "",
        "{sentences}": "[metaphor, answer1, answer2]"
        if prompted == "sentence"
        else f"[{prompted} for sentence in (metaphor, answer1, answer2)]",
        "{vectors}": parts[0] if len(parts) == 1 else f"torch.cat([{', '.join(parts)}], dim=-1)",
        "{similarity}": "cosine_similarity(vectors[:1], vectors[1:])"
        if vectors.similarity == "cosine"
        else "(vectors[:1] * vectors[1:]).sum(-1)",
    }


def _lines(manifest: Manifest) -> str:
    """The lines by which plain transformers scores with the export."""
    filled = {"{scale:g}": f"{manifest.scale:g}", **_vectors(manifest.sentence_vectors)}
    if manifest.scoring is not None:
        scoring = manifest.scoring
        bos = {"none": "[]", "add": "[tokenizer.bos_token_id]"}.get(manifest.bos, f"[{manifest.bos}]")
        before, after = scoring["template"].split("{answer}")
        whole = scoring["span"] == "whole"
        score = {"sum": "log_probs[start:].sum()", "mean": "log_probs[start:].mean()"}.get(
            scoring["norm"], "log_probs[start:].sum() / len(string.encode())"
        )
        filled |= {
            "{bos}": bos,
            "{texts}": f'"", f"{before}{{answer}}{after}"'
            if whole
            else f'f"{before.rstrip()}", f"{before[len(before.rstrip()) :]}{{answer}}{after}"',
            "{start}": "max(len(first), 1) - 1"
            if whole
            else "len(first + tokenizer(before, add_special_tokens=False).input_ids) - 1",
            "{score}": score,
            "{alone}": f'f"{{answer}}{after}"',
        }
    alone = manifest.scoring is not None and manifest.scoring["minus_alone"]
    text = LOAD[f"{manifest.format}, minus alone" if alone else manifest.format]
    for name, value in filled.items():
        text = text.replace(name, value)
    return text if manifest.base_sha256 is None else _over_base(text, manifest)


def _over_base(text: str, manifest: Manifest) -> str:
    """Change lines that load a whole network from `folder` to lines that lay adapters over their network."""
    base, _, revision = manifest.base.partition("@")
    imports, (dtype, _, bits) = "from peft import PeftModel\n", str(manifest.base_precision).partition("+")
    inside = Path(base).name if gguf.is_gguf(base) else ""
    if base.startswith("random:"):
        where = f'f"{{folder}}/{OWN}"'
    elif base.startswith(
        PACKAGE
    ):  # found but not imported: a package with weights may need libraries that are not needed here
        module, _, path = base.removeprefix(PACKAGE).partition("/")
        path = path.removesuffix(inside).rstrip("/")
        imports = f"from importlib.util import find_spec\n\n{imports}"
        where = f'find_spec("{module}").submodule_search_locations[0]' + (f' + "/{path}"' if path else "")
    else:
        where = f'"{Path(base).parent if inside else address(base)}"'
    source = ", ".join(
        [
            "base",
            *([f'gguf_file="{inside}"'] if inside else []),
            *([f'revision="{revision}"'] if revision else []),
        ]
    )
    needed = {}
    if manifest.input_format.counted:
        needed["AutoConfig"] = "config=AutoConfig.from_pretrained(folder)"
    if bits:
        needed["BitsAndBytesConfig"] = (
            'quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")'
        )
    arguments = [source, f'dtype="{dtype}"', *needed.values()]
    text = text.replace("network = ", f"base = {where}\nnetwork = ", 1)
    text = text.replace("AutoTokenizer.from_pretrained(folder)", f"AutoTokenizer.from_pretrained({source})")
    text = text.replace(
        "from transformers import ", "from transformers import " + "".join(f"{name}, " for name in needed), 1
    )
    text = re.sub(
        r"(AutoModel\w*)\.from_pretrained\(folder\)",
        lambda match: (
            f"PeftModel.from_pretrained({match[1]}.from_pretrained({', '.join(arguments)}), folder)"
        ),
        text,
    )
    return f"{imports}{text}"

"""Tables of the released checkpoints, from the metrics.json in each of their folders."""

import json
import re
from collections.abc import Mapping
from functools import cache
from statistics import mean, stdev
from typing import Any

from docs.making.measured import cell, read
from docs.making.rows import ROOT, in_repository, interval, percent, table

CHECKPOINTS = ROOT / "checkpoints"
BENCHMARKS = {"figqa_large": "Fig-QA dev", "miqa": "MiQA", "munch_paraphrase": "MUNCH"}
BASES = {
    "minilm": "MiniLM as it comes",
    "mpnet": "MPNet as it comes",
    "smollm2": "SmolLM2-135M-Instruct (Q4_1) as it comes",
}
# A checkpoint of each base, whose folder has the base's own numbers.
MADE_OF = {"minilm": "minilm-figqa-large", "mpnet": "mpnet-figqa-large", "smollm2": "smollm2-figqa-large-lm"}


@cache
def content() -> dict[str, dict[str, Any]]:
    """The metrics.json of every released checkpoint, by name."""
    return {
        file.parent.name: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(CHECKPOINTS.glob("*/metrics.json"))
    }


def estimate(found: Mapping[str, Any] | None) -> str:
    """An estimate of a metrics.json as a reader sees it; empty if there is none."""
    if found is None:
        return ""
    return interval(percent(found["value"]), percent(found["low"]), percent(found["high"]))


def kept(name: str) -> str:
    """What of the seeds is released, and the size."""
    manifest = content()[name]
    files = (CHECKPOINTS / name).glob("*.safetensors")
    size = sum(file.stat().st_size for file in files) / 1e6
    averaged = manifest.get("averaged") or ()
    noun = "runs" if manifest.get("shares") else "seeds"
    what = f"mean of {len(averaged)} {noun}" if len(averaged) > 1 else f"seed {manifest['seed']}"
    share = manifest.get("start_share")
    return f"{what}{f', {1 - share:g} of it' if share else ''}, {size:.1f} MB"


def named(name: str, folder: str | None) -> str:
    """The name of a checkpoint that leads to its card."""
    if folder is None:
        return in_repository(name, f"checkpoints/{name}/README.md")
    return f"[{name}]({folder}/{name}/README.md)"


def released(folder: str | None = None) -> str:
    """The released checkpoints and their bases on Fig-QA dev, beside blind and their bases, and five seeds.

    Args:
        folder: Where their folders lie, seen from the document. None: in the repository.

    Returns:
        Markdown.
    """
    rows = []
    for name, manifest in content().items():
        metrics, backward = manifest["metrics"], manifest.get("backward") or {}
        of_recipe = [] if manifest.get("shares") else manifest["release"]["seeds"]
        seeds = [seed["accuracy"] for seed in of_recipe]
        varied = f"{percent(mean(seeds))} ± {percent(stdev(seeds))}" if len(seeds) > 1 else ""
        beside = manifest["release"]["beside"][0]
        rows.append(
            [
                named(name, folder),
                kept(name),
                beside["scoring"],
                estimate(metrics["accuracy"]),
                estimate(metrics["pair_accuracy"]),
                percent(beside["blind"]["value"]),
                percent(beside["gain"]["value"]),
                percent(beside["base"]["accuracy"]["value"]),
                estimate(backward.get("accuracy")),
                varied,
            ]
        )
    for row in read("figqa_dev"):
        if row["trained on"] == "nothing" and (base := _base(row)) is not None:
            hidden = [percent(base[key]["value"]) for key in ("blind", "gain")]
            ends = [*hidden, "–", cell(row, "backward accuracy")]
            shares = [cell(row, "accuracy"), cell(row, "pairs"), *ends]
            name = row["system"].removesuffix(", as it comes")
            rows.append([f"{name}, as it comes", "–", row["scoring"], *shares, ""])
    heads = [
        "checkpoint",
        "released",
        "scoring",
        "accuracy",
        "pairs",
        "blind",
        "gain",
        "base",
        "backward accuracy",
        "its seeds",
    ]
    return table(heads, rows, texts=3)


def _base(row: Mapping[str, str]) -> dict[str, Any] | None:
    """What is known of an untrained network by a scoring; None if no checkpoint is made from it so."""
    for manifest in content().values():
        beside = manifest["release"]["beside"][0]
        base = BASES[manifest["model"]].removesuffix(" as it comes")
        if row["system"].startswith(base) and beside["scoring"] == row["scoring"]:
            found: dict[str, Any] = beside["base"]
            return found
    return None


def across() -> str:
    """Released checkpoints and their bases on the three benchmarks: accuracy, blind accuracy and gain.

    A base has a row for each length at which its texts were cut, if that changes a number.
    """
    rows: list[list[str]] = []
    bases: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for name, manifest in content().items():
        for beside in manifest["release"]["beside"]:
            data, scoring = BENCHMARKS[beside["data_name"]], beside["scoring"]
            rows.append([name, data, scoring, *_three(beside), estimate(beside["difference"])])
            found = re.search(r"\|max_length:(\d+)\|", beside["signature"])
            of_base = bases.setdefault((BASES[manifest["model"]], data, scoring), {})
            of_base[found[1] if found else ""] = _three(beside["base"])
    heads = [
        "system",
        "data",
        "scoring",
        "accuracy",
        "blind",
        "gain over blind",
        "won or lost against its base",
    ]
    for (base, data, scoring), measured in bases.items():
        several = len({tuple(three) for three in measured.values()}) > 1
        for length, three in measured.items() if several else [*measured.items()][:1]:
            rows.append([base, data, f"{scoring}, {length} tokens" if several else scoring, *three, ""])
    rows.sort(key=_order)
    return table(heads, rows, texts=3)


def _three(found: Mapping[str, Any]) -> list[str]:
    return [estimate(found["accuracy"]), estimate(found["blind"]), estimate(found["gain"])]


def _order(row: list[str]) -> tuple[int, bool, str]:
    return list(BENCHMARKS.values()).index(row[1]), row[0] in BASES.values(), row[0]


def gains() -> str:
    """The mean of the gains over the three benchmarks, by system, with an interval.

    The interval is normal: the three are about different items, so their variances add up.
    """
    three: dict[str, list[tuple[float, float, float]]] = {}
    for name, manifest in content().items():
        three[name] = [_ends(beside["gain"]) for beside in manifest["release"]["beside"]]
    for name, after in MADE_OF.items():
        beside = content()[after]["release"]["beside"]
        three[BASES[name]] = [_ends(each["base"]["gain"]) for each in beside]
    chosen = [("Fig-QA dev", "clean"), ("MiQA", "pmi"), ("MUNCH, 275 triples", "clean")]
    rows = [row for row in read("gemma") if (row["data set"], row["scoring"]) in chosen]
    three["Gemma 3 270M (Q4_K_M) as it comes"] = [_read(row) for row in rows]
    lines = []
    for name, found in three.items():
        assert len(found) == len(BENCHMARKS), name
        mean = sum(value for value, *_ in found) / len(found)
        half = sum(((high - low) / 2) ** 2 for _, low, high in found) ** 0.5 / len(found)
        lines.append([name, interval(percent(mean), percent(mean - half), percent(mean + half))])
    return table(["system", "mean gain over blind"], lines)


def _ends(found: Mapping[str, float]) -> tuple[float, float, float]:
    return found["value"], found["low"], found["high"]


def _read(row: Mapping[str, str]) -> tuple[float, float, float]:
    """The gain of a row of a CSV file; Fig-QA's is the accuracy less 50."""
    if row["gain"]:
        value, low, high = (float(row[f"gain{end}"]) / 100 for end in ("", " low", " high"))
        return value, low, high
    value, low, high = (float(row[f"accuracy{end}"]) / 100 - 0.5 for end in ("", " low", " high"))
    return value, low, high


def headline(readme: bool = False) -> str:
    """The rows of the first page, on Fig-QA dev: accuracy and pairs with intervals, and blind accuracy."""
    rows = []
    encoders = ("mpnet-figqa-large", "minilm-figqa-distilled", "minilm-figqa-large")
    for name in (*encoders, "smollm2-figqa-pmi", "smollm2-multitask", "smollm2-figqa-large-lm"):
        manifest = content()[name]
        beside = manifest["release"]["beside"][0]
        rows.append(
            [
                named(name, "checkpoints" if readme else None),
                estimate(manifest["metrics"]["accuracy"]),
                estimate(manifest["metrics"]["pair_accuracy"]),
                percent(beside["blind"]["value"]),
            ]
        )
    for row in read("figqa_dev"):
        untrained = row["trained on"] == "nothing"
        if untrained and (row["system"].startswith("MiniLM") or row["scoring"] == "pmi"):
            parts = [cell(row, "accuracy"), cell(row, "pairs")]
            label = "MiniLM as it comes" if row["scoring"] == "dual" else "SmolLM2-135M as it comes, by PMI"
            base = _base(row)
            assert base is not None, f"no checkpoint knows the blind accuracy of {label}"
            rows.append([label, *parts, percent(base["blind"]["value"])])
    return table(["system", "accuracy (95 % CI)", "pairs (95 % CI)", "blind"], rows)

"""The front matter of a model card, which the hub reads: licence, base model, data sets and results."""

from collections.abc import Mapping
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from figlang.files.sources import PACKAGE
from figlang.models.carried import carried, hub_id
from figlang.models.manifest import Manifest
from figlang.release import portable
from figlang.reports.terminal import TITLES
from figlang.runs import spelled
from figlang.statistics.metrics import as_row
from figlang.tasks import registry
from figlang.tasks.task import Task

TAGS = ("figurative-language", "figlang")
SHOWN = ("accuracy", "pair_accuracy")
DIGITS = 4  # of a result, which is a share of the items


def front(manifest: Manifest, document: Mapping[str, Any]) -> str:
    """Write the front matter as YAML.

    Args:
        manifest: The manifest of the checkpoint.
        document: Its metrics.json. What it does not say is left out.

    Returns:
        Lines without the `---` around them.
    """
    adapters = manifest.base_sha256 is not None
    base, released = hub_id(manifest.base), document.get("release", {})
    trained = _trained(document)
    languages = sorted({language for task in trained for language in task.languages})
    published = sorted({name for task in trained for name in task.hub}) if _whole(document) else []
    more: dict[str, Any] = {"base_model_source": portable.source(manifest.base)}
    if base is not None:
        more["base_model_relation"] = "adapter" if adapters else "finetune"
    if adapters:  # of the numbers in the network below, not of a file
        more["base_model_sha256"] = manifest.base_sha256
    known = carried(manifest.base)
    data = ModelCardData(
        language=languages or None,
        license=released.get("licence") or (known.licence if known else None),
        library_name="peft" if adapters else "transformers",
        tags=list(TAGS),
        datasets=published or None,
        base_model=base,
        model_name=str(released.get("name") or manifest.name),
        eval_results=_results(document) or None,
        **more,
    )
    return f"{data.to_yaml()}\n"


def _trained(document: Mapping[str, Any]) -> list[Task]:
    """The tasks of the last training; empty if the document does not say it."""
    settings = document["data"].get("settings", {})
    names = [name for name, share in settings.get("mix", {}).items() if share]
    names = names or [str(settings["dataset"])] if settings.get("dataset") else []
    return [registry.TASKS[name] for name in names if name in registry.TASKS]


def _whole(document: Mapping[str, Any]) -> bool:
    """Whether the items are those of the data sets: not the bundled samples, nor a part by a limit."""
    settings = document["data"].get("settings", {})
    cut = any(settings.get(name) is not None for name in ("limit", "train_limit"))
    return not str(settings.get("root") or "").startswith(PACKAGE) and not cut


def _results(document: Mapping[str, Any]) -> list[EvalResult]:
    """Measurements of the checkpoint itself, in the form of the hub."""
    if "data_name" not in document:
        return []
    task = registry.task_of(document)
    # A part of a data set, or a sample in its form, is not the data set of the hub.
    hub = task.hub[0] if len(task.hub) == 1 else task.name
    data = document["data"].get("validation", {})
    found = []
    for name in SHOWN:
        estimate = as_row(document["metrics"], name)
        if estimate is None:
            continue
        interval = [round(estimate.low, DIGITS), round(estimate.high, DIGITS)]
        found.append(
            EvalResult(
                task_type="multiple-choice",
                dataset_type=hub if _whole(document) else str(document["data_name"]),
                dataset_name=spelled.evaluated(document),
                dataset_split=str(document["split"]),
                dataset_args={"sha256": str(data["sha256"])} if "sha256" in data else None,
                metric_type=name,
                metric_name=TITLES[name],
                metric_value=round(estimate.value, DIGITS),
                metric_args={"interval_95": interval, "n": estimate.n},
            )
        )
    return found

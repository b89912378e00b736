"""How people write the models, data sets and ways of training that presets name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from figlang.tasks import registry

UNTRAINED = "untrained"
# The parts of the names of model presets, which have underscores between them.
MODELS = {
    "minilm": "MiniLM",
    "smollm2": "SmolLM2",
    "mpnet": "MPNet",
    "bert": "BERT",
    "modernbert": "ModernBERT",
    "roberta": "RoBERTa",
    "deberta": "DeBERTa",
    "gpt2": "GPT-2",
    "gpt": "GPT",
    "neo": "Neo",
    "gemma": "Gemma",
    "llama": "Llama",
    "pythia": "Pythia",
    "qwen": "Qwen",
    "nli": "NLI",
    "lora": "LoRA",
}
SIZES = ("base", "small", "medium", "large", "xl")
LOSSES = {
    "lm": "LM loss",
    "contrastive": "contrastive loss",
    "contrastive-anchored": "anchored loss",
}
TUNING = {"lora": "LoRA", "": "all weights"}
NORMS = {"mean": "mean per token", "sum": "summed", "none": "none"}


def model(name: str) -> str:
    """A model as people write it. A name that no preset has stays as it is, without its folder."""
    end = name.rstrip("/").rpartition("/")[2] or name
    parts = end.split("_")
    if not all(part in (*MODELS, *SIZES) or re.fullmatch(r"v\d+", part) for part in parts):
        return end
    return " ".join(MODELS.get(part, part) for part in parts)


def data(name: str) -> str:
    """A data set as papers write it: the title of the benchmark, and a size as its paper prints it.

    A name of a preset that begins with no benchmark stays as it is.
    """
    if name == "multitask":
        return "multi-task"
    known = [each for each in registry.TASKS if name == each or name.startswith(f"{each}_")]
    if not known:
        return name
    task = registry.TASKS[max(known, key=len)]
    rest = name[len(task.name) :].strip("_")
    rest = task.printed_sizes.get(rest, rest.upper() if rest in task.sizes else rest.replace("_", " "))
    return f"{task.title} {rest}".strip()


def evaluated(content: Mapping[str, Any]) -> str:
    """The evaluated items in words.

    All training sizes of a benchmark have the same items to evaluate, so the size is not said. A mixture
    is evaluated on its first part.

    Args:
        content: A metrics.json with the fields `data_name` and `split`.
    """
    name = str(content["data_name"])
    task = registry.task_of(content)
    settings = content.get("data", {}).get("settings", {})
    called = split_of(content)
    if settings.get("dataset") == "mix" or (task.name and name.removeprefix(f"{task.name}_") in task.sizes):
        return f"{task.title}, {called}"
    return f"{data(name)}, {called}"


def together(contents: Sequence[Mapping[str, Any]]) -> str:
    """The evaluated items of several systems in words.

    If the systems call them by different names, the title of the benchmark is used.

    Args:
        contents: Their metrics.json.

    Returns:
        The words; empty if none of the systems says what it was evaluated on.
    """
    known = [content for content in contents if "data_name" in content]
    called = list(dict.fromkeys(map(evaluated, known)))
    if len(called) < 2:
        return called[0] if called else ""
    return f"{registry.task_of(known[0]).title}, {called[0].rpartition(', ')[2]}"


def split_of(content: Mapping[str, Any]) -> str:
    """The name of the evaluated split in words.

    Args:
        content: A metrics.json. Without one it is the split that trainings measure themselves on.
    """
    split = str(content.get("split", "validation"))
    return split_in_words(split, str(content.get("data", {}).get(split, {}).get("name", "")))


def split_in_words(split: str, file: str) -> str:
    """The name of a split: `dev` for validation items of a file that is called dev, else figlang's name."""
    return "dev" if split == "validation" and re.match(r"dev\b", file) else split


def trained(content: Mapping[str, Any]) -> tuple[str, str, str]:
    """The training of a system: the last data set, the ones before it, and the settings of a mixture.

    Args:
        content: A metrics.json.

    Returns:
        Three texts. If nothing was trained, they are `untrained` and two empty texts.
    """
    whole = str(content.get("facts", {}).get("trained", "nothing@none")).rpartition("@")[0]
    if whole in ("", "nothing", "none"):
        return UNTRAINED, "", ""
    *before, last = whole.split(">")
    name, _, settings = last.partition("(")
    stages = " > ".join(data(each.partition("(")[0]) for each in before)
    return data(name), stages, settings.rstrip(")").replace(",", ", ")


def method(content: Mapping[str, Any]) -> tuple[str, str, str]:
    """The loss, the trained part of the weights, and how several runs were averaged.

    Args:
        content: A metrics.json.

    Returns:
        Three texts, empty for a network that was not trained.
    """
    if trained(content)[0] == UNTRAINED:
        return "", "", ""
    main, _, averaged = str(content.get("facts", {}).get("method", "")).partition(", ")
    loss, _, tuning = main.partition("+")
    return LOSSES.get(loss, loss), TUNING.get(tuning, tuning), averaged

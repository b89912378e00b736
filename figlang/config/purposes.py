"""The purposes of the verbs, in the order in which `figlang` lists them."""

from collections.abc import Mapping

PURPOSES: Mapping[str, tuple[str, ...]] = {
    "Train and evaluate": ("train", "find_lr", "evaluate", "transfer", "sensitivity", "reproduce"),
    "Compare and report": ("compare", "report", "combine", "sweep"),
    "Answers in free text": ("generate", "rate", "rate serve", "judge"),
    "Data": ("tasks", "describe", "contamination", "create", "export"),
    "Models and releases": ("models", "merge", "average", "release", "push"),
    "This terminal": ("completion",),
}


def verb(stem: str) -> str:
    """The verb of a file of figlang/commands/. One of two words (`rate serve`) has an underscore there."""
    words = stem.replace("_", " ")
    return words if any(words in verbs for verbs in PURPOSES.values()) else stem

"""What each verb is for: the order in which `figlang` lists them."""

from collections.abc import Mapping

PURPOSES: Mapping[str, tuple[str, ...]] = {
    "Train and evaluate": ("train", "evaluate", "transfer", "sensitivity", "reproduce"),
    "Compare and report": ("compare", "report", "combine", "sweep"),
    "Answers in free text": ("generate", "rate", "rate serve", "judge"),
    "Data": ("tasks", "describe", "contamination", "create", "export"),
    "Models and releases": ("models", "merge", "average", "release", "push"),
    "This terminal": ("completion",),
}

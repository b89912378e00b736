"""MiQA's published numbers, and which of them an evaluation may be compared with."""

from collections.abc import Collection
from pathlib import Path

from figlang.tasks import reference
from figlang.tasks.reference import Comparison, Published, comparable_first


def results() -> tuple[Published, ...]:
    """All published numbers of MiQA."""
    return reference.results(Path(__file__).parent)


def compare(
    data: str, questions: Collection[str], shots: int | None, published_data: bool
) -> list[Comparison]:
    """Published accuracies to set beside an evaluation.

    Args:
        data: The name of the evaluated data set.
        questions: The evaluated question types.
        shots: Number of examples before a question; None if there is no prompt, as for NLI models.
        published_data: Whether the evaluated file is, byte for byte, the published one.

    Returns:
        Comparable numbers first.
    """
    wanted = "" if shots is None else str(shots)
    compared = []
    for row in results():
        if row.metric != "accuracy" or "question" not in row.setting or row.model == "Chance":
            continue
        if not published_data:
            reason = f"measured on the whole of MiQA as published, not on these items of {data}"
        elif {row.setting["question"]} != set(questions):
            reason = (
                f"measured on {row.setting['question']}-questions alone, this is {' and '.join(questions)}"
            )
        elif "raters" not in row.setting and row.setting.get("shots", "") != wanted:
            reason = "measured after another number of examples, or without a prompt"
        else:
            reason = ""
        compared.append(Comparison(row, not reason, reason))
    return comparable_first(compared)


def table3(question: str) -> dict[str, dict[str, float]]:
    """Rows of Table 3 for a question type: {model: {shots: accuracy in per cent}}; shots are "" where there
    are none."""
    by_model: dict[str, dict[str, float]] = {}
    for row in results():
        if row.table == "Table 3" and row.setting.get("question") == question and row.value is not None:
            by_model.setdefault(row.model, {})[row.setting.get("shots", "")] = row.value
    return by_model

"""Fig-QA's published numbers, and which of them an evaluation may be compared with."""

from pathlib import Path

from figlang.tasks import reference
from figlang.tasks.reference import Comparison, Published, comparable_first

# Why a row cannot be compared with an accuracy, by a part of its note.
DISQUALIFIED = {
    "BACKWARD": "backward pairs, not forward pairs",
    "INFLATED": "computed with a faulty join",
    "duplicate of": "a copied cell",
    "2 judgements per example": "two three-way judgements an item, not a choice",
    "shots are drawn from the gold-answered split": "its prompts held answers of the split",
}


def results() -> tuple[Published, ...]:
    """All published numbers of Fig-QA."""
    return reference.results(Path(__file__).parent)


def compare(data: str, split: str, published_data: bool) -> list[Comparison]:
    """Published accuracies and pair accuracies to set beside an evaluation.

    Args:
        data: The name of the evaluated data set.
        split: `train`, `validation` or `test`.
        published_data: Whether the evaluated file is, byte for byte, the published one. If it is not, no
            number is comparable.

    Returns:
        Comparable numbers first.
    """
    return comparable_first(
        _compare(row, data, split, published_data)
        for row in results()
        if row.metric in ("accuracy", "pair_accuracy") and _headline(row)
    )


def prompts() -> dict[str, dict[str, float]]:
    """Fig-QA's Figure 2: {model: {prompt: accuracy in per cent}}, with the prompts none, suffix, k=3, k=5,
    k=10.

    The numbers are the plot data in the authors' repository. They are test accuracies: nearly all are shares
    of the 1,146 test items and not of the 1,094 of dev.
    """
    by_model: dict[str, dict[str, float]] = {}
    for row in results():
        if row.table == "Figure 2 (plot data)" and row.value is not None:
            prompt = row.setting["prompting"]
            by_model.setdefault(row.model, {})["none" if prompt == "zero-shot" else prompt] = row.value
    return by_model


def _headline(row: Published) -> bool:
    return (
        row.table in ("Table 4", "Table 11", "Footnote 4", "dev results (repo)")
        and row.setting.get("direction", "forward") == "forward"
    )


def _compare(row: Published, data: str, split: str, published_data: bool) -> Comparison:
    where, here = row.setting.get("split", "test"), "dev" if split == "validation" else split
    if not published_data:
        reason = f"measured on the whole {where} part of Fig-QA, not on these items of {data}"
    elif where != here:
        reason = f"measured on {where}, this is {here}"
    else:
        reason = next((reason for mark, reason in DISQUALIFIED.items() if mark in row.note), "")
    return Comparison(row, not reason, reason)

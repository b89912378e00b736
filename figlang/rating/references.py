"""References of answers, read from a file, and the character overlap of answers with them (chrF)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv
from figlang.tasks.scales import LIKENESS, Scale, Verdict
from figlang.types import Generation

CHRF = "chrF"


def of(answers: Mapping[str, Generation], scale: Scale, path: Path | None) -> dict[str, list[str]]:
    """The references of each answer.

    Args:
        answers: Answers by their names on the sheet.
        scale: The scale. Its rubric says which parts of a question are shown.
        path: A CSV file with the columns `reference` and `item` or `prompt`, and a row for each reference.
            None: the question itself is the reference, so that metrics say how much an answer repeats.

    Returns:
        References by the names of the answers.

    Raises:
        FiglangError: The file cannot be read, or an answer has no reference in it.
    """
    if path is None:
        rubric = scale.rubric
        return {
            name: [one.question if rubric is None else rubric.asked(one)] for name, one in answers.items()
        }
    found: dict[str, list[str]] = defaultdict(list)
    for number, row in read_csv(path, ("reference",), Problems(path, strict=False)):
        key = row.get("item", "").strip() or row.get("prompt", "").strip()
        if not key or not row["reference"].strip():
            raise FiglangError(
                f"{path}: row {number} needs a reference, and the item or prompt that it is of; fill them in"
            )
        found[key].append(row["reference"].strip())
    references = {name: found.get(one.item) or found.get(one.question, []) for name, one in answers.items()}
    if bare := next((name for name, several in references.items() if not several), None):
        raise FiglangError(
            f"{path} has no reference for the item {answers[bare].item}; add a row for it, or leave "
            "references= out"
        )
    return references


def overlap(answers: Mapping[str, Generation], references: Mapping[str, Sequence[str]]) -> list[Verdict]:
    """chrF of each answer, by the package `sacrebleu`, from 0 to 1. The best of several references counts.

    Source: Popović (2015), https://aclanthology.org/W15-3049.

    Raises:
        FiglangError: The package is not installed.
    """
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise FiglangError(
            "chrF needs a package: pip install 'figlang[judging]', or leave it out with chrf=false"
        ) from error
    metric = metrics.CHRF()
    return [
        Verdict(
            name,
            None,
            {LIKENESS: metric.sentence_score(one.answer.strip(" ,"), references[name]).score / 100},
        )
        for name, one in answers.items()
    ]

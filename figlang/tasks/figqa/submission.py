"""The prediction file for Fig-QA's hidden test split: ExplainaBoard's qa-multiple-choice form."""

import json
from collections.abc import Sequence
from pathlib import Path

from figlang.files.whole import write_text
from figlang.types import Item, Prediction


def write(path: Path, items: Sequence[Item], predictions: Sequence[Prediction]) -> None:
    """A JSON list with context, options, answer (hidden: null and -1) and predicted answer of every item.

    A tie, which counts as wrong everywhere else, is submitted as the first of the best options, since the
    form cannot say "none".
    """
    rows = []
    for item, prediction in zip(items, predictions, strict=True):
        if item.id != prediction.id:
            raise ValueError(f"item {item.id!r} has the prediction of {prediction.id!r}")
        chosen = prediction.scores.index(max(prediction.scores))
        gold = {"text": None, "option_index": -1} if item.gold is None else _answer(item, item.gold)
        rows.append(
            {
                "context": item.context,
                "question": "",
                "options": list(item.options),
                "answers": gold,
                "predicted_answers": _answer(item, chosen),
            }
        )
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _answer(item: Item, index: int) -> dict[str, object]:
    return {"text": item.options[index], "option_index": index}

"""Predictions to and from a file. Needs no torch: whatever only counts starts at once."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files import whole_file
from figlang.types import Prediction

# What an evaluation's folder holds: choices, choices of the metaphor for a given answer, choices with the context hidden, what an
# NLI network said of each answer.
FORWARD, BACKWARD, BLIND = "predictions.jsonl", "predictions_backward.jsonl", "predictions_blind.jsonl"
JUDGEMENTS = "judgements.jsonl"
# And what choices were made of: log-probabilities of strings, replies of a chat model.
MEASURED, REPLIES = "log_probabilities.jsonl", "replies.jsonl"


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """One JSON object a line, written beside and renamed, so that a half-written file never has the name."""
    with whole_file(path) as beside, beside.open("w", encoding="utf-8") as file:
        for row in predictions:
            content = {**asdict(row), "choice": row.choice}
            if row.paired:  # so in files that say nothing of it
                del content["paired"]
            file.write(json.dumps(content, ensure_ascii=False) + "\n")


def read_predictions(path: Path) -> list[Prediction]:
    """Predictions of a file; a row whose id came before is dropped (distributed samplers pad with duplicates).

    Raises FiglangError that names the line which is not a prediction.
    """
    if not path.is_file():
        raise FiglangError(f"no predictions file {path}; evaluate.py writes one")
    rows: dict[str, Prediction] = {}
    # Bytes, since text also ends a line at U+2028 and the like, which may stand in an id.
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            row = json.loads(line)
            attributes = {name: tuple(values) for name, values in row["attributes"].items()}
            scores = tuple(float(value) for value in row["scores"])
            found = Prediction(row["id"], row["group"], row["gold"], scores, attributes, bool(row.get("paired", True)))
            if not scores or not (found.gold is None or found.gold in range(len(scores))):
                raise ValueError("no scores, or its gold option has none")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FiglangError(
                f"{path}: line {number} is not a prediction ({error}); restore the file or evaluate again"
            ) from error
        rows.setdefault(found.id, found)
    return list(rows.values())

"""Damages of the files of a finished evaluation, each with what is said of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Change = Callable[[Any], Any]


def of_line(name: str, change: Change, number: int = 2) -> Callable[[Path], None]:
    """Damage one line of a JSONL file: `change` maps its object to another, or to a text."""

    def damage(folder: Path) -> None:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        changed = change(json.loads(lines[number - 1]))
        lines[number - 1] = changed if isinstance(changed, str) else json.dumps(changed)
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return damage


def of_document(name: str, change: Change) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        changed = change(json.loads((folder / name).read_text()))
        (folder / name).write_text(changed if isinstance(changed, str) else json.dumps(changed))

    return damage


def put(**values: Any) -> Change:
    return lambda row: row | values


def without(key: str) -> Change:
    return lambda row: {name: value for name, value in row.items() if name != key}


def inside(path: str, value: Any) -> Change:
    """A document with another value at a place such as metrics.accuracy.value."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        *way, last = path.split(".")
        place = content
        for key in way:
            place = place[key]
        place[last] = value
        return content

    return change


PREDICTIONS, BACKWARD, MEASURED, REPLIES = (
    "predictions.jsonl",
    "predictions_backward.jsonl",
    "log_probabilities.jsonl",
    "replies.jsonl",
)
DEEP = "[" * 100_000 + "]" * 100_000
ROWS: list[tuple[str, Change, str]] = [
    *[
        (name, change, said)
        for name in (PREDICTIONS, BACKWARD)
        for change, said in (
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "NaN"), "finite number"),
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "-Infinity"), "finite number"),
            (lambda row: json.dumps(row).replace(str(row["scores"][0]), "1e999"), "finite number"),
            (put(id=["a", ["b"]]), "id: input should be a valid string"),
            (put(id=7), "id: input should be a valid string"),
            (put(id=""), "id: string should have at least 1 character"),
            (put(group=None), "group: input should be a valid string"),
            (put(gold="0"), "gold: input should be a valid integer"),
            (put(gold=True), "gold: input should be a valid integer"),
            (put(gold=0.5), "gold: input should be a valid integer"),
            (put(gold=-1), "gold: input should be greater than or equal to 0"),
            (put(gold=2, choice=None), "is not a prediction"),
            (put(scores=[]), "scores: "),
            (put(scores="12"), "scores: input should be a valid"),
            (put(scores=[1.0, "2"]), "scores.1: input should be a valid number"),
            (put(scores=[1.0, None]), "scores.1: input should be a valid number"),
            (put(scores=[[1.0], [2.0]]), "scores.0: input should be a valid number"),
            (put(scores={"0": 1.0}), "scores: input should be a valid"),
            (put(attributes=["obj"]), "attributes: input should be"),
            (put(attributes={"commonsense": "obj"}), "attributes.commonsense: input should be a valid"),
            (
                put(attributes={"commonsense": [1]}),
                "attributes.commonsense.0: input should be a valid string",
            ),
            (put(paired="yes"), "paired: input should be a valid boolean"),
            (put(choice="0"), "choice: input should be a valid integer"),
            (put(scores=[3.0, 1.0], choice=1), "its choice is 1, but its scores say 0"),
            (put(scores=[1.0, 1.0], choice=1), "its choice is 1, but its scores say None"),
            (put(scores=[1.0, 3.0, 2.0], choice=1), "3 scores, but others of its group"),
            *(
                (without(key), f"{key}: field required")
                for key in ("id", "group", "gold", "scores", "attributes")
            ),
            (lambda row: "", "invalid JSON"),
            (lambda row: "null", "is not a prediction"),
            (lambda row: "[]", "is not a prediction"),
            (lambda row: DEEP, "recursion limit"),
            (lambda row: json.dumps(row)[:-5], "invalid JSON"),
        )
    ],
    *[
        (MEASURED, change, said)
        for change, said in (
            (put(answer_alone=[[float("nan"), 4, 20], [-5.0, 4, 21]]), "finite number"),
            (put(answer_alone=[[-3.0, 0, 20], [-5.0, 4, 21]]), "greater than or equal to 1"),
            (put(answer_alone=[[-3.0, 4], [-5.0, 4, 21]]), "answer_alone.0.2: field required"),
            (put(answer_alone=[[-3.0, 4, 20]]), "1 values of answer_alone, but its prediction has 2 options"),
            (put(answer_alone=7), "answer_alone: input should be a valid array"),
            (put(whole={"a": 1}), "whole: input should be a valid array"),
            (put(id="nowhere"), "is about nowhere, which has no prediction"),
            (without("id"), "id: field required"),
            (lambda row: "{", "invalid JSON"),
        )
    ],
    *[
        (REPLIES, change, said)
        for change, said in (
            (put(letter="AB"), "letter: string should match pattern"),
            (put(letter=1), "letter: input should be a valid string"),
            (put(cut=None), "cut: input should be a valid boolean"),
            (put(id="nowhere"), "is about nowhere, which has no prediction"),
            (without("letter"), "letter: field required"),
            (lambda row: DEEP, "recursion limit"),
        )
    ],
]
DOCUMENTS: list[tuple[str, Change, str]] = [
    *[
        ("metrics.json", change, said)
        for change, said in (
            (
                inside("metrics.accuracy.value", 99),
                "metrics.accuracy.value: input should be less than or equal to 1",
            ),
            (
                inside("metrics.accuracy.value", -0.1),
                "metrics.accuracy.value: input should be greater than or equal to 0",
            ),
            (inside("metrics.accuracy.value", float("nan")), "is damaged"),
            (inside("metrics.accuracy.low", float("inf")), "is damaged"),
            (
                inside("metrics.accuracy.value", "0.5"),
                "metrics.accuracy.value: input should be a valid number",
            ),
            (
                inside("metrics.accuracy.n", 0),
                "metrics.accuracy.n: input should be greater than or equal to 1",
            ),
            (inside("metrics.accuracy", 0.5), "metrics.accuracy: input should be"),
            (inside("metrics.pair_accuracy", {"value": 0.5}), "metrics.pair_accuracy.low: field required"),
            (inside("metrics.accuracy_by", []), "metrics.accuracy_by: input should be"),
            (
                inside("metrics.accuracy_by", {"a": {"b": {"value": 2}}}),
                "metrics.accuracy_by.a.b.value: input should be less",
            ),
            (inside("metrics.items", "23"), "metrics.items: input should be a valid integer"),
            (inside("metrics.items", 22), "rows were added"),
            (inside("metrics.items", 1000), "rows are missing"),
            (inside("metrics.accuracy.chance", 0.25), "other numbers of options"),
            (
                inside("backward.accuracy.value", 99),
                "backward.accuracy.value: input should be less than or equal to 1",
            ),
            (inside("backward.items", 2), "rows were added"),
            (
                inside("replies.invalid.value", 3),
                "replies.invalid.value: input should be less than or equal to 1",
            ),
            (inside("seed", "0"), "seed: input should be a valid integer"),
            (inside("model", ["m"]), "model: input should be a valid string"),
            (inside("facts", ["m"]), "facts: input should be"),
            (inside("facts.model", ["m"]), "facts.model"),
            (inside("facts.train_seed", [0]), "facts.train_seed"),
            (inside("versions.torch", 2), "versions.torch: input should be a valid string"),
            (inside("health", [{"code": "collapsed"}]), "health.0.epoch: field required"),
            (inside("health", "ill"), "health: input should be a valid list"),
            (inside("training", []), "training: input should be"),
            (inside("data", 3), "data: input should be"),
            (inside("command", 3), "command: input should be a valid string"),
            *(
                (without(key), f"{key}: field required")
                for key in ("signature", "metrics", "model", "data_name", "split", "seed")
            ),
            (lambda content: DEEP, "recursion limit"),
            (lambda content: "", "is damaged"),
            (lambda content: "[]", "does not hold an object"),
            (lambda content: json.dumps(content)[:-9], "is damaged"),
        )
    ],
    ("recipe.json", without("settings"), "settings: field required"),
    ("recipe.json", inside("settings", []), "settings: input should be"),
    ("recipe.json", lambda content: "{", "is damaged"),
]

"""Items that a model solves without the context are those that its own blind evaluations get right."""

import json
from pathlib import Path

import pytest

from figlang.commands.create import main as create_command
from figlang.commands.evaluate import main as evaluate_command
from figlang.evaluation import unaided
from figlang.runs.predictions import BLIND, read_predictions
from tests.creation.written import rows, table

QUIET = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1")
TINY = ("model=smollm2", "model.init=tiny")


def test_flagged_items_are_those_that_blind_evaluations_get_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    some = rows(8)
    for number, row in enumerate(some):  # the norms differ on some pairs and agree on others
        row["meaning1"] = f"It is {'so ' * (number % 3)}great{number}."
        row["meaning2"] = f"It is extraordinarily small{number}."
    # To the tokenizer of tiny networks all words are the same, so that a mean has only ties.
    monkeypatch.setattr(unaided, "NORMS", ("sum", "byte"))
    table(tmp_path / "items.csv", some)
    create = ["create.py", "file=items.csv", "output=mine", "guesses=0", *TINY, *QUIET]
    monkeypatch.setattr("sys.argv", create)
    create_command()
    right = []
    for norm in unaided.NORMS:
        words = ["data=mine/people.yaml", "scoring.span=answer", f"scoring.norm={norm}", f"output={norm}"]
        monkeypatch.setattr("sys.argv", ["evaluate.py", "scoring=clean", *words, *TINY, *QUIET])
        evaluate_command()
        right.append({row.id for row in read_predictions(tmp_path / norm / BLIND) if row.correct})
    flagged = set(json.loads((tmp_path / "mine" / "create.json").read_text(encoding="utf-8"))["flagged"])
    assert flagged == set.intersection(*right)
    assert flagged
    # The same meaning is the more likely one, whichever metaphor is hidden.
    assert all(len({name[:-2] for name in names}) == len(names) for names in right)
    for keep in ("hard", "hardest"):
        monkeypatch.setattr("sys.argv", [*create, f"keep={keep}", f"output={keep}"])
        create_command()
        kept = [
            json.loads(line) for line in (tmp_path / keep / "items.jsonl").read_text("utf-8").splitlines()
        ]
        groups = {name[:-2] for name in flagged} if keep == "hardest" else set()
        assert {row["group"] for row in kept} == {f"p{number}" for number in range(8)} - groups


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/home/ann/runs/a/seed0", "a/seed0"), ("runs/b/seed1/", "b/seed1"), ("checkpoint", "checkpoint")],
)
def test_a_look_of_a_checkpoint_names_no_path_of_the_machine(folder: str, name: str) -> None:
    assert unaided.called(folder) == name

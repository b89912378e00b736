"""A run that was stopped says so, and which command goes on; a run has a name."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.runs import names, unfinished
from figlang.training import best
from tests.running import TINY, run

WORDS = [*TINY, "model=minilm", "model.init=tiny", "data=figqa_sample", "blind=false", "name=short"]


def test_an_unfinished_run_gives_the_command_that_resumes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> None:
        raise FiglangError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr("figlang.training.fitting.fit", stopped)
        assert run(tmp_path, "train.py", *WORDS).returncode == 2
    (recipe,) = tmp_path.rglob("recipe.json")
    folder = recipe.parent
    refused = run(tmp_path, "evaluate.py", f"checkpoint={folder}", "data=figqa_sample", "trainer=cpu")
    assert refused.returncode == 2
    said = refused.stderr.splitlines()[-1]
    assert f"{folder} is an unfinished run; it keeps no weights to evaluate" in said
    assert said.endswith(f"python train.py paths.runs={tmp_path}/runs {' '.join(WORDS)}")

    assert run(tmp_path, "train.py", *WORDS).returncode == 0, "the same command goes on"
    assert not (folder / unfinished.COMMAND).parent.exists()
    assert names.given(json.loads((folder / "metrics.json").read_text())) == "short"
    assert "short" not in folder.name + folder.parent.name, "a name does not change the folder"
    unfinished.check(str(folder))


def test_a_run_of_before_has_no_command(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(FiglangError, match="the command that began it resumes it"):
        unfinished.check(str(tmp_path))
    (tmp_path / "metrics.json").write_text("{}")
    unfinished.check(str(tmp_path))


@pytest.mark.parametrize("own", [False, True])
def test_the_best_weights_of_an_unfinished_run_are_those_that_it_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    def stopped(*_: Any) -> None:
        raise FiglangError("stopped")

    data = [_file(tmp_path / "items.csv", "room"), f"data.validation={tmp_path / 'others.csv'}"]
    _file(tmp_path / "others.csv", "house")
    words = [word for word in WORDS if not own or word != "data=figqa_sample"]
    words += [*(data if own else ()), "method.selection=heldout", "method.epochs=2"]
    with monkeypatch.context() as patch:
        patch.setattr("figlang.commands.train._export", stopped)
        assert run(tmp_path, "train.py", *words).returncode == 2
    (recipe,) = tmp_path.rglob("recipe.json")
    folder = recipe.parent
    asked = [f"checkpoint={folder}", "data.limit=32", "trainer=cpu", "blind=false"]
    asked += data if own else ["data=figqa_sample"]
    refused = run(tmp_path, "evaluate.py", *asked)
    assert "epoch=best evaluates its best weights so far; it is resumed by" in refused.stderr
    early = run(tmp_path, "evaluate.py", *asked, "epoch=best", f"output={tmp_path / 'early'}")
    assert early.returncode == 0, early.stderr
    assert "its best weights so far are those of epoch" in early.stderr

    assert run(tmp_path, "train.py", *words).returncode == 0
    late = (folder / "predictions.jsonl").read_text().splitlines()
    soon = (tmp_path / "early" / "predictions.jsonl").read_text().splitlines()
    scores = [[score for line in lines for score in json.loads(line)["scores"]] for lines in (soon, late)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_a_run_without_best_weights_says_how_to_keep_them(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"has no weights of a best epoch; .* method.selection=heldout"):
        best.export(str(tmp_path), PathsConfig())


def _file(path: Path, place: str) -> str:
    """Write a file of items, and name it on a command line."""
    lines = ["startphrase,ending1,ending2,labels"]
    for number in range(40):
        warm = "warm" if number % 2 else "cold"
        lines.append(f"The {place} {number // 2} was {warm}.,It was {warm}.,It was mild.,0")
    path.write_text("\n".join(lines) + "\n")
    return f"data={path}"

"""A run that was stopped says so, and which command goes on; a run has a name."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.runs import names, unfinished
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
    assert f"{folder} is an unfinished run" in said
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

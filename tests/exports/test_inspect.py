"""A task for inspect_ai shows figlang's questions, and inspect_ai, where it is installed, runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from figlang.commands.export import main
from figlang.config import PathsConfig
from figlang.config.composing import data_presets
from figlang.tasks import registry

INSPECT = Path(sys.prefix) / "inspect" / "bin" / "python"
# The mock model counts tokens by a file of the network; a stand-in needs none.
RUNNER = """
from inspect_ai import eval
from inspect_ai.model import ModelAPI, ModelOutput, get_model
from own_sample_validation import figlang_own_sample_validation


async def few(self, text):
    return len(text) // 4


ModelAPI.count_text_tokens = few
outputs = [ModelOutput.from_content("mockllm/model", "ANSWER: B")] * 12
model = get_model("mockllm/model", custom_outputs=outputs)
log = eval(figlang_own_sample_validation(), model=model, log_dir="logs", display="none")[0]
print(log.status, log.results.scores[0].metrics["accuracy"].value)
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[dict]:
    preset = getattr(request, "param", "own_sample")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["export.py", "tool=inspect", f"data={preset}", "output=out"])
    main()
    text = (tmp_path / "out" / f"{preset}_validation.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("rows", ["own_sample", "figqa_sample"], indirect=True)
def test_the_places_lead_back_to_the_items(rows: list[dict], request: pytest.FixtureRequest) -> None:
    (data,) = data_presets([request.node.callspec.params["rows"]])
    items = registry.load("validation", data, PathsConfig()).items
    assert [row["id"] for row in rows] == [item.id for item in items]
    for row, item in zip(rows, items, strict=True):
        assert sorted(row["options"]) == list(range(len(item.options)))
        assert [item.options[place] for place in row["options"]] == row["choices"]
        assert row["options"]["ABCD".index(row["target"])] == item.gold
        assert item.context in row["question"]
        assert "(A)" not in row["question"]


@pytest.mark.parametrize("tool", ["inspect", "lm_eval"])
def test_hypotheses_are_not_exported_as_options(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    root = "data.root=package:figlang/samples"
    monkeypatch.setattr(sys, "argv", ["export.py", tool, "out", "data=impli", root])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "not a choice between texts; use data.question=choice or" in said
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(sys, "argv", ["export.py", tool, "out", "data=impli", root, "data.question=choice"])
    main()
    assert list((tmp_path / "out").glob("*.jsonl"))


def test_the_module_is_python_without_figlang(rows: list[dict], tmp_path: Path) -> None:
    module = (tmp_path / "out" / "own_sample_validation.py").read_text(encoding="utf-8")
    compile(module, "own_sample_validation.py", "exec")
    assert "import figlang" not in module


@pytest.mark.slow
def test_inspect_runs_it(rows: list[dict], tmp_path: Path) -> None:
    if not INSPECT.is_file():
        pytest.skip(f"no {INSPECT}; `make inspect` installs inspect_ai")
    (tmp_path / "out" / "runner.py").write_text(RUNNER)
    ended = subprocess.run(
        [str(INSPECT), "runner.py"],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    status, accuracy = ended.stdout.split()[-2:]
    assert status == "success"
    assert float(accuracy) == pytest.approx(sum(row["target"] == "B" for row in rows) / len(rows))

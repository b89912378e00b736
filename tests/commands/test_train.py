"""The commands as a user runs them: train, resume, evaluate, errors. All on tiny random networks."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from figlang.errors import FiglangError
from figlang.training import fitting
from tests.calls import mistake
from tests.running import ROOT, TINY, environment, run, train
from train import main as train_command

pytestmark = pytest.mark.drawn


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two epochs."""
    home = tmp_path_factory.mktemp("trained")
    result = train(home, "run=runs/tiny/seed0", "method.epochs=2")
    assert result.returncode == 0, result.stderr
    return home / "runs" / "tiny" / "seed0"


def test_a_run_folder_holds_what_the_readme_promises(trained: Path) -> None:
    expected = {
        "config.yaml",
        "metrics.json",
        "predictions.jsonl",
        "log.csv",
        "figures",
        "model",
        "recipe.json",
    }
    assert expected <= {entry.name for entry in trained.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "figlang.json", "README.md"} <= {
        e.name for e in (trained / "model").iterdir()
    }
    assert {"loss.svg", "accuracy.svg"} <= {entry.name for entry in (trained / "figures").iterdir()}
    assert not (trained / "checkpoints").exists()


def test_metrics_name_seed_hashes_and_versions(trained: Path) -> None:
    content = json.loads((trained / "metrics.json").read_text())
    assert content["seed"] == 0
    assert len(content["data"]["train"]["sha256"]) == 64
    # The wheel of PyPI calls itself 2.13.0 in its metadata and 2.13.0+cu130 when it is imported.
    assert content["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert content["signature"].startswith("data:figqa_sample@")
    assert "|scoring:dual(scale=20)|" in content["signature"]


def test_a_finished_run_is_shown_again_or_refused(trained: Path) -> None:
    before = (trained / "metrics.json").read_bytes()
    (trained / "checkpoints").mkdir()  # of a process that was killed when all was written
    again = train(trained.parents[2], "run=runs/tiny/seed0", "method.epochs=2")
    assert again.returncode == 0, again.stderr
    assert "this run was finished before and is unchanged; overwrite=true replaces it" in again.stderr
    assert not (trained / "checkpoints").exists()
    result = train(trained.parents[2], "run=runs/tiny/seed0", "method.epochs=2", "skip_finished=false")
    assert result.returncode == 2
    assert result.stderr.strip().splitlines() == [
        "error: runs/tiny/seed0 holds a finished run; overwrite=true replaces it, run=FOLDER or another seed "
        "makes a new one"
    ]
    assert (trained / "metrics.json").read_bytes() == before


@pytest.mark.parametrize("place", ["runs/tiny/seed0", "runs/tiny/seed0/model"])
def test_an_evaluation_does_not_replace_the_results_of_a_training(trained: Path, place: str) -> None:
    home = trained.parents[2]
    before = {path: path.read_bytes() for path in (home / place).iterdir() if path.is_file()}
    result = run(
        home, "evaluate.py", "checkpoint=runs/tiny/seed0", "data.limit=8", "trainer=cpu", f"output={place}"
    )
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        f"error: {place} belongs to a training or is a checkpoint, and its results are kept; choose another "
        "folder with output=DIR"
    )
    assert before == {path: path.read_bytes() for path in (home / place).iterdir() if path.is_file()}


def test_a_finished_run_with_other_settings_is_not_taken_for_this_one(trained: Path) -> None:
    result = train(trained.parents[2], "run=runs/tiny/seed0", "method.epochs=3", "skip_finished=true")
    assert result.returncode == 2
    assert "holds a finished run with other settings (method.epochs: 2 → 3)" in result.stderr


def test_another_source_is_not_reported_under_the_presets_name(tmp_path: Path, trained: Path) -> None:
    source = f"model.name_or_path={trained}"
    result = run(
        tmp_path,
        "train.py",
        "data.limit=16",
        "method.epochs=1",
        "trainer.progress=false",
        "trainer.threads=1",
        source,
    )
    assert result.returncode == 0, result.stderr
    assert "training tiny-seed0 on figqa_sample" in result.stderr
    assert (
        tmp_path / "runs" / "tiny-seed0-figqa_sample-data.limit_16-method.epochs_1" / "seed0" / "metrics.json"
    ).is_file()


def test_a_finished_run_may_be_shown_again(trained: Path) -> None:
    before = (trained / "metrics.json").read_bytes()
    result = train(trained.parents[2], "run=runs/tiny/seed0", "method.epochs=2", "skip_finished=true")
    assert result.returncode == 0, result.stderr
    assert "pair accuracy" in result.stdout
    assert "runs/tiny/seed0" in result.stdout
    assert (trained / "metrics.json").read_bytes() == before


def test_evaluating_the_export_gives_the_same_predictions(trained: Path) -> None:
    home = trained.parents[2]
    result = run(
        home,
        "evaluate.py",
        f"checkpoint={trained}",
        "data.limit=32",
        "trainer.progress=false",
        "trainer.threads=1",
    )
    assert result.returncode == 0, result.stderr
    again = [
        json.loads(line)
        for line in (trained / "evaluations/figqa_sample-validation-data.limit_32/predictions.jsonl")
        .read_text()
        .splitlines()
    ]
    first = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
    assert [row["id"] for row in first] == [row["id"] for row in again]
    for one, other in zip(first, again, strict=True):
        assert one["scores"] == pytest.approx(other["scores"], abs=1e-5)


def test_a_hidden_test_split_gives_a_submission_and_labels_score_it(trained: Path) -> None:
    home = trained.parents[2]
    common = [f"checkpoint={trained}", "split=test", "trainer.progress=false", "trainer.threads=1"]
    assert run(home, "evaluate.py", *common, "output=hidden").returncode == 0
    submission = json.loads((home / "hidden" / "submission.json").read_text())
    assert len(submission) == 30
    assert {row["predicted_answers"]["option_index"] for row in submission} <= {0, 1}
    assert {row["answers"]["option_index"] for row in submission} == {-1}
    assert "accuracy" not in json.loads((home / "hidden" / "metrics.json").read_text())["metrics"]
    labels = ROOT / "tests" / "data" / "figqa_sample_test_labels.csv"
    assert run(home, "evaluate.py", *common, "output=labelled", f"data.test_labels={labels}").returncode == 0
    assert json.loads((home / "labelled" / "metrics.json").read_text())["metrics"]["accuracy"]["n"] == 30


def test_several_seeds_are_summarised_and_finished_ones_skipped(tmp_path: Path) -> None:
    first = train(tmp_path, "-m", "seed=0,1")
    assert first.returncode == 0, first.stderr
    assert "2 seeds (0, 1)" in first.stdout
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/seed*/metrics.json")}
    assert len(stamps) == 2
    again = train(tmp_path, "-m", "seed=0,1,2")
    assert again.returncode == 0, again.stderr
    assert "3 seeds (0, 1, 2)" in again.stdout
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.faults
def test_a_killed_run_ends_bit_for_bit_as_an_uninterrupted_one(tmp_path: Path) -> None:
    settings = ["method.epochs=6", "data.limit=128", "method.lr=0.001"]
    assert train(tmp_path, "run=whole", *settings).returncode == 0
    command = [sys.executable, str(ROOT / "train.py"), *TINY, "run=killed", *settings]
    home = environment(tmp_path)
    process = subprocess.Popen(
        command, cwd=tmp_path, env=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("epoch 3 of 6"):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert not (tmp_path / "killed" / "metrics.json").exists(), (
        "the run finished before it was killed: the test shows nothing"
    )
    assert (tmp_path / "killed" / "checkpoints" / "last.ckpt").is_file()
    resumed = train(tmp_path, "run=killed", *settings)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming from" in resumed.stderr
    whole, killed = (
        load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "killed")
    )
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    assert (tmp_path / "whole" / "predictions.jsonl").read_bytes() == (
        tmp_path / "killed" / "predictions.jsonl"
    ).read_bytes()
    assert (tmp_path / "whole" / "log.csv").read_bytes() == (tmp_path / "killed" / "log.csv").read_bytes()


def test_an_unfinished_run_with_other_settings_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    first = train(tmp_path, "run=half")
    assert first.returncode == 0
    assert "(a tiny network of random weights, model.init=tiny) on figqa_sample: " in first.stderr
    (folder / "metrics.json").unlink()
    result = train(tmp_path, "run=half", "method.lr=0.5")
    assert result.returncode == 2
    assert "method.lr: 0.0001 → 0.5" in result.stderr


def test_a_run_that_was_stopped_before_it_trained_takes_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: object) -> None:
        raise FiglangError("no fit")

    with monkeypatch.context() as patched:
        patched.setattr(fitting, "fit", fit)
        assert train(tmp_path, "run=half").stderr.endswith("error: no fit\n")
    result = train(tmp_path, "run=half", "method.lr=0.5")
    assert result.returncode == 0, result.stderr


def test_a_folder_with_foreign_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    result = train(tmp_path, "run=mine", "overwrite=true")
    assert result.returncode == 2
    assert "do not belong to a run" in result.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["method.epoch=3"], "unknown key 'epoch'; did you mean method.epochs? (--help method lists"),
        (["+method.epoch=3"], "unknown key 'epoch'; did you mean method.epochs? (--help method lists"),
        (["+colour=red"], "unknown key 'colour'; the top level has data"),
        (["data=figqa_hug"], "figqa_large"),
        (["method.lr=fast"], "method.lr"),
        (["method.lr=-1"], "method.lr=-1.0 must be above 0"),
        (["method.format=triple"], "choose one of pair, joint, dual"),
        (["resume=maybe"], "choose one of auto, never"),
        (["seed=one"], "seed"),
        (["seed=-1"], "seed=-1 must be at least 0"),
        (["method.lr=inf"], "method.lr=inf must be above 0 and finite"),
        (["method.weight_decay=-1"], "method.weight_decay=-1.0"),
        (["peft.r=0"], "peft.r=0"),
        (["trainer.threads=0"], "trainer.threads=0"),
        (["trainer.devices=abc"], "trainer.devices=abc must be auto or a number"),
        (["data.train=mine.csv"], "data.train is only for data.dataset=figqa_csv"),
        (["data=figqa_csv"], "data.train=FILE.csv"),
        (
            ["data=figqa_csv", "data.train=nowhere.csv", "data.validation=nowhere.csv"],
            "no such file: nowhere.csv",
        ),
        (
            ["model.init=pretrained", "model.name_or_path=package:nothing/here"],
            "no installed package is named 'nothing'",
        ),
        (["model.init=pretrained", "model.name_or_path=./nowhere"], "no such model folder: nowhere"),
        (["model.init=pretrained", "model.name_or_path=some/model"], "cannot load model 'some/model'"),
        (["data.root=/nowhere"], "set paths.data=DIR"),
        (["model=encoder", "model.init=pretrained"], "model.name_or_path is missing"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(sys, "argv", ["train.py", f"paths.runs={tmp_path}/runs", *TINY, *arguments])
    assert expected in mistake(capsys, train_command)
    assert not (tmp_path / "runs").exists(), "a mistake must leave nothing behind"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_here_is_said_without_a_traceback(tmp_path: Path, trained: Path) -> None:
    for script, arguments in (("train.py", TINY), ("evaluate.py", [f"checkpoint={trained}"])):
        result = run(tmp_path, script, *arguments, "trainer.accelerator=gpu")
        assert result.returncode == 2
        assert "error: trainer" in result.stderr
        assert "Traceback" not in result.stderr


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path: Path) -> None:
    result = train(tmp_path, "run=wild", "method.lr=1e9", "method.epochs=3")
    assert result.returncode == 2
    assert "the loss is nan" in result.stderr
    assert not (tmp_path / "wild" / "metrics.json").exists()


def test_the_folder_of_a_run_can_be_given_back(tmp_path: Path) -> None:
    assert train(tmp_path, "method.lr=1e-3").returncode == 0
    folders = list((tmp_path / "runs").glob("*/seed0"))
    assert len(folders) == 1
    assert (
        run(
            tmp_path, "evaluate.py", f"checkpoint={folders[0]}", "data.limit=4", "trainer.progress=false"
        ).returncode
        == 0
    )


def test_training_items_that_are_all_evaluated_are_refused(tmp_path: Path) -> None:
    file = ROOT / "figlang" / "samples" / "figqa" / "filtered" / "dev.csv"
    result = train(tmp_path, "data=figqa_csv", f"data.train={file}", f"data.validation={file}")
    assert result.returncode == 2
    assert "data.drop_near_duplicates=false" in result.stderr


def test_a_damaged_checkpoint_is_one_line_and_stays(tmp_path: Path) -> None:
    assert train(tmp_path, "run=half").returncode == 0
    (tmp_path / "half" / "metrics.json").unlink()
    (tmp_path / "half" / "checkpoints").mkdir()
    (tmp_path / "half" / "checkpoints" / "last.ckpt").write_text("junk")
    result = train(tmp_path, "run=half")
    assert result.returncode == 2
    assert "last.ckpt cannot be resumed from" in result.stderr
    assert (tmp_path / "half" / "checkpoints" / "last.ckpt").read_text() == "junk"


def test_help_names_groups_and_fields() -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "train.py", "--help", "all"], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0
    for text in ("figqa_medium", "deberta_v3_base", "method.lr", "Peak learning rate", "debug="):
        assert text in result.stdout


def test_a_released_hub_id_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    result = run(tmp_path, "evaluate.py", "checkpoint=someone/something")
    assert result.returncode == 2
    assert result.stderr.startswith("error: no checkpoint 'someone/something'")
    assert len(result.stderr.strip().splitlines()) == 1

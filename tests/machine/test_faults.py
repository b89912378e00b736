"""Faults of a machine or a file during a run: what is kept, what is said, and the exit code."""

import errno
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from pytorch_lightning import Trainer
from rich.console import Console
from safetensors.torch import load_file, save_file

from figlang.config import DataConfig, EvaluateConfig, ModelConfig, TrainConfig, TrainerConfig
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.files.folders import whole_folder
from figlang.files.redaction import nothing_secret_said, redacted
from figlang.files.sources import package_path
from figlang.machine.faults import explain
from figlang.models import checkpoint
from figlang.runs.training import Run
from figlang.training import selection
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.trainer import WholeStates, trainer
from tests.running import TINY
from train import main as train_command

SETTINGS = ["method.epochs=2", "data.limit=48", "method.lr=0.001", "method.batch_size=8"]  # 6 steps an epoch
CONTINUED = ["peft=lora", "peft.stack=continue", "model.init=pretrained", "model.name_or_path=earlier"]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`train.py` with a run folder and settings, in this process: exit code and what it says on stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["train.py", *TINY, *SETTINGS, *arguments])
        try:
            train_command()
        except SystemExit as stopped:
            return int(stopped.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return command


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, act: Any) -> None:
    """Have `act` done in place of the training loss of one step, which it may change."""
    whole = CrossEntropyModule.loss

    def loss(module: CrossEntropyModule, batch: Any) -> dict[str, torch.Tensor]:
        found = whole(module, batch)
        return act(found) if module.global_step == step and module.trainer.training else found

    monkeypatch.setattr(CrossEntropyModule, "loss", loss)


def raising(error: Exception) -> Any:
    def act(_: Any) -> Any:
        raise error

    return act


@pytest.mark.parametrize(
    ("words", "step", "asked", "code"),
    [
        pytest.param([], 8, signal.SIGTERM, 143, marks=pytest.mark.every),
        pytest.param([], 6, signal.SIGTERM, 143, marks=pytest.mark.every),
        pytest.param(["peft=lora"], 3, signal.SIGTERM, 143, marks=pytest.mark.every),
        (CONTINUED, 8, signal.SIGTERM, 143),
        pytest.param([], 6, signal.SIGINT, 130, marks=pytest.mark.every),
    ],
)
def test_a_preempted_run_loses_no_step_and_ends_bit_for_bit_as_a_whole_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    train: Any,
    words: list[str],
    step: int,
    asked: signal.Signals,
    code: int,
) -> None:
    if words is CONTINUED:
        assert train("run=earlier", "peft=lora")[0] == 0
    assert train("run=whole", *words)[0] == 0

    def terminate(found: Any) -> Any:
        os.kill(os.getpid(), asked)
        return found

    with monkeypatch.context() as patch:
        at_step(patch, step - 1, terminate)
        assert train("run=stopped", *words)[0] == code
    assert caplog.messages[-1] == f"stopped; the same command continues stopped after step {step}"
    assert not (tmp_path / "stopped" / "metrics.json").exists()
    assert train("run=stopped", *words)[0] == 0
    for name in ("predictions.jsonl", "log.csv"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    weights = "adapter_model.safetensors" if words else "model.safetensors"
    whole, stopped = (load_file(tmp_path / run / "model" / weights) for run in ("whole", "stopped"))
    assert all(torch.equal(whole[name], stopped[name]) for name in whole)


def test_a_loss_that_is_no_number_names_its_batch_and_keeps_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Any
) -> None:
    with monkeypatch.context() as patch:
        at_step(patch, 7, lambda found: found | {"loss": found["loss"] * torch.nan})
        code, said = train("run=run")
    assert code == 2
    assert "error: the loss is nan in epoch 2, step 8, on items train-" in said
    kept = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert kept["global_step"] == 6
    assert all(tensor.isfinite().all() for tensor in kept["state_dict"].values())
    assert train("run=run")[0] == 0, "the same run goes on where it was well"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "x/last.ckpt"),
            "no space to write x/last.ckpt (No space left on device); what was complete before is kept",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "x"),
            "no permission to write x (Read-only file system); choose another folder",
        ),
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
            "out of memory; this training needs about ",
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
            "out of memory; this training needs about ",
        ),
        (MemoryError(), "out of memory; this training needs about "),
    ],
)
def test_a_fault_of_the_machine_is_one_line_and_the_run_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Any, error: Exception, expected: str
) -> None:
    with monkeypatch.context() as patch:
        at_step(patch, 7, raising(error))
        code, said = train("run=run")
    assert code == 2
    assert said.splitlines()[-1].startswith(f"error: {expected}")
    assert not (tmp_path / "run" / "metrics.json").exists()
    assert (tmp_path / "run" / "checkpoints" / "last.ckpt").is_file()


def test_memory_that_torch_does_not_get_is_one_line(monkeypatch: pytest.MonkeyPatch, train: Any) -> None:
    with monkeypatch.context() as patch:
        at_step(patch, 3, lambda _: torch.empty(2**46))
        code, said = train("run=run")
    assert code == 2
    assert said.splitlines()[-1].startswith("error: out of memory; this training needs about ")


@pytest.mark.parametrize("strategy", ["auto", "ddp", "fsdp"])
def test_every_strategy_writes_its_state_beside_its_place(tmp_path: Path, strategy: str) -> None:
    config = TrainConfig(trainer=TrainerConfig(accelerator="cpu", strategy=strategy))
    made = trainer(runtime.settled(config), Run(tmp_path), [])
    assert isinstance(made.strategy.checkpoint_io, WholeStates)


def test_a_gpu_that_is_not_asked_for_is_not_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("pytorch_lightning.trainer.setup.CUDAAccelerator.is_available", lambda: True)
        with pytest.warns(UserWarning, match="GPU available but not used"):
            Trainer(accelerator="cpu", logger=False, barebones=True)
        trainer(runtime.settled(TrainConfig(trainer=TrainerConfig(accelerator="cpu"))), Run(tmp_path), [])


def test_what_a_killed_process_left_of_a_state_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / ".last.ckpt.7").write_bytes(b"half")
    WholeStates().save_checkpoint({"step": 1}, tmp_path / "last.ckpt")
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]
    assert torch.load(tmp_path / "last.ckpt", weights_only=True) == {"step": 1}


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps(print)])
def test_damaged_weights_of_the_best_epoch_are_one_sentence(tmp_path: Path, content: bytes) -> None:
    run = Run(tmp_path)
    run.best.parent.mkdir()
    run.best.write_bytes(content)
    with pytest.raises(FiglangError, match=r"best\.ckpt cannot be read .* overwrite=true") as refused:
        selection.restore(torch.nn.Linear(1, 1), run)
    assert "weights_only" not in str(refused.value), "torch's advice is to run what is in the file"


def test_a_state_in_the_working_directory_of_a_slurm_job_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Any
) -> None:
    for name, value in {
        "NTASKS": "1",
        "JOB_NAME": "figlang",
        "JOB_ID": "7",
        "PROCID": "0",
        "LOCALID": "0",
        "NODEID": "0",
    }.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    (tmp_path / "hpc_ckpt_1.ckpt").write_text("another job's")
    assert train("run=run")[0] == 0


def test_other_errors_keep_their_traceback() -> None:
    assert explain(RuntimeError("shapes do not match"), training=True) is None
    assert explain(FileNotFoundError(errno.ENOENT, "No such file", "x"), training=True) is None


def test_a_full_disk_leaves_the_last_state_and_the_earlier_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Any
) -> None:
    assert train("run=run")[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run" / "model").iterdir()}

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "tokenizer.json")

    _, tokenizer, manifest = vars(checkpoint.load(str(tmp_path / "run"))).values()
    monkeypatch.setattr(type(tokenizer), "save_pretrained", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.export(torch_network(tmp_path), tokenizer, manifest, tmp_path / "run" / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run" / "model").iterdir()} == before
    assert not [path.name for path in (tmp_path / "run").iterdir() if path.name.startswith(".model")]


def test_an_earlier_folder_outlives_a_stop_between_the_renamings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rename = tmp_path / "model", Path.rename
    with whole_folder(folder) as beside:
        (beside / "card").write_text("first")

    def stopped(path: Path, target: Path) -> Path:
        if target == folder and path.suffix == ".partial":
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", stopped)
        with pytest.raises(KeyboardInterrupt), whole_folder(folder) as beside:
            (beside / "card").write_text("second")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    folder.rename(tmp_path / ".model.0123456789ab.before")  # as a kill there leaves it
    with pytest.raises(OSError, match="full"), whole_folder(folder):
        raise OSError("full")
    assert (folder / "card").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_weights_may_be_read_by_whoever_may_read_their_card(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "model") as beside:
        save_file({"weight": torch.ones(1)}, beside / "model.safetensors")
        (beside / "README.md").write_text("card")
    weights, card = (
        (tmp_path / "model" / name).stat().st_mode for name in ("model.safetensors", "README.md")
    )
    assert weights == card


def torch_network(tmp_path: Path) -> Any:
    return checkpoint.load(str(tmp_path / "run")).network


def test_a_second_process_in_one_folder_refuses(tmp_path: Path, train: Any) -> None:
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / ".lock"):
        code, said = train("run=run")
    assert code == 2
    assert (
        said.splitlines()[-1] == "error: another process is working in run; wait for it, or choose run=FOLDER"
    )
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_secrets_reach_no_file_and_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Any
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "correct-horse-battery")
    monkeypatch.setenv("HF_TOKEN", "hf_stapled")
    assert train("run=run", "model.name=${oc.env:HF_TOKEN}")[0] == 0
    assert "<HF_TOKEN>" in (tmp_path / "run" / "config.yaml").read_text()
    code, said = train(
        "run=other", "data=figqa_csv", "data.train=/x/correct-horse-battery.csv", "data.validation=x.csv"
    )
    assert (code, "<WANDB_API_KEY>" in said) == (2, True)
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"correct-horse" not in content, path
            assert b"hf_stapled" not in content, path
    assert "correct-horse" not in said


def test_secrets_are_in_no_table_and_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_stapled")
    with nothing_secret_said():
        Console().print("model hf_stapled")
        sys.stderr.writelines(["warning: ", "hf_stapled\n"])
        heard: list[str] = []
        sys.stdout.write = heard.append
        Console().print("hf_stapled again")
        assert heard == ["<HF_TOKEN> again\n"]
    assert capsys.readouterr() == ("model <HF_TOKEN>\n", "warning: <HF_TOKEN>\n")
    monkeypatch.setattr(
        sys, "argv", ["train.py", *TINY, "run=runs/run", "data.limit=16", "model.name=${oc.env:HF_TOKEN}"]
    )
    train_command()
    said = capsys.readouterr()
    assert "<HF_TOKEN>" in said.out
    assert "hf_stapled" not in said.out + said.err


def test_secrets_are_in_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_stapled")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    error = KeyError("hf_stapled")
    with pytest.raises(KeyError), nothing_secret_said():
        raise error
    sys.excepthook(KeyError, error, error.__traceback__)
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("KeyError: '<HF_TOKEN>'\n")


def test_passwords_in_addresses_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_KEY", "a")
    assert (
        redacted("https://ann:pass@host/x and http://host:80/y@z, a")
        == "https://<password>@host/x and http://host:80/y@z, a"
    )


@pytest.mark.parametrize("name", ["../../x", "..", "a/b", "a\\b", "/etc"])
def test_a_name_does_not_lead_out_of_its_folder(name: str) -> None:
    for section in (
        lambda: ModelConfig(name=name),
        lambda: DataConfig(name=name),
        lambda: EvaluateConfig(name=name),
    ):
        with pytest.raises(FiglangError, match=r"is not a plain name"):
            section()


@pytest.mark.parametrize("inside", ["../secrets", "a/../../b", "/etc/passwd"])
def test_a_package_source_stays_within_its_package(inside: str) -> None:
    with pytest.raises(FiglangError, match="leads out of its package"):
        package_path(f"package:figlang/{inside}")


def test_a_file_that_cannot_be_read_is_not_called_unwritable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden"
    hidden.touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)  # root may read everything
        read = explain(PermissionError(errno.EACCES, "Permission denied", str(hidden)), training=False)
    assert read == f"no permission to read {hidden} (Permission denied); ask its owner for it, or for a copy"


def test_only_a_training_resumes_after_a_full_disk() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "x")
    assert str(explain(full, training=True)).endswith("the same command resumes when there is space")
    assert str(explain(full, training=False)).endswith("; try again when there is space")

"""Multiruns as jobs by submitit: as processes, and by SLURM's commands, which scripts replace here."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.running import train_apart
from train import main as train_command

INSTALLED = find_spec("submitit") is not None
pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs figlang[slurm]")

SBATCH = """#!/bin/bash
script="${@: -1}"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$script")
tasks=$(sed -n 's/^#SBATCH --ntasks-per-node=//p' "$script")
export SLURM_ARRAY_JOB_ID=7 SLURM_JOB_NAME=train SLURM_NTASKS=$tasks SLURM_NTASKS_PER_NODE=$tasks SLURM_NNODES=1
export SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURM_NODELIST=localhost SLURM_JOB_NODELIST=localhost
for number in $(seq 0 "$last"); do
  SLURM_ARRAY_TASK_ID=$number SLURM_JOB_ID=$((7 + number)) setsid bash "$script" > "job$number.txt" 2>&1 &
done
echo "Submitted batch job 7"
"""
SRUN = """#!/bin/bash
while [[ "$1" == -* ]]; do case "$1" in --output | --error) shift ;; esac; shift; done
for task in $(seq 0 $((SLURM_NTASKS - 1))); do SLURM_PROCID=$task SLURM_LOCALID=$task "$@" & done
wait
"""
SACCT = """#!/bin/bash
echo "JobID|State|NodeList"; echo "7_0|RUNNING|localhost"; echo "7_1|RUNNING|localhost"
"""


@pytest.mark.slow
def test_every_run_is_a_job(tmp_path: Path) -> None:
    result = train_apart(
        tmp_path,
        "-m",
        "hydra/launcher=submitit_local",
        "data.limit=16",
        "method.lr=1e-3,1e38",
        "method.epochs=2",
        timeout=1500,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: job "), result.stderr
    assert "method.lr=1e+38 must be above 0" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    (whole,) = tmp_path.glob("runs/*/seed0/metrics.json")
    logs = "".join(path.read_text() for path in tmp_path.glob("runs/.multirun/.submitit/*/*_log.err"))
    assert logs.count("epoch 1 of 2") == 1, "the job of the wrong setting began no epoch"
    assert whole.parent.joinpath("model").is_dir()


@pytest.mark.slow
def test_jobs_of_slurm_with_two_processes_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    for name, script in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT}.items():
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    words = [
        "hydra/launcher=submitit_slurm",
        "hydra.launcher.tasks_per_node=2",
        "trainer=ddp",
        "trainer.accelerator=cpu",
    ]
    result = train_apart(tmp_path, "-m", *words, "data.limit=16", "seed=0,1", timeout=1500)
    jobs = "".join(path.read_text() for path in tmp_path.glob("job*.txt"))
    assert result.returncode == 0, result.stderr + jobs
    assert len(list(tmp_path.glob("runs/*/seed?/metrics.json"))) == 2
    assert jobs.count("signature") == 2, jobs


def test_no_slurm_here_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(
        sys, "argv", ["train.py", "-m", "hydra/launcher=submitit_slurm", "debug=fast", "seed=0,1"]
    )
    with pytest.raises(SystemExit) as stopped:
        train_command()
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: submitit: Could not detect")

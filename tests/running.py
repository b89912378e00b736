"""train.py and evaluate.py as a user types them: in this process, which spares the imports, or in one of
their own."""

import io
import logging
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from evaluate import main as evaluate_command
from train import main as train_command

ROOT = Path(__file__).resolve().parent.parent
TINY = [
    "debug=fast",
    "trainer=cpu",
    "trainer.progress=false",
    "trainer.precision=32-true",
    "trainer.threads=1",
]
MAIN = {"train.py": train_command, "evaluate.py": evaluate_command}


@dataclass(frozen=True)
class Ended:
    """What a command left besides its files."""

    returncode: int
    stdout: str
    stderr: str


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FIGLANG", "HYDRA"))}
    return {**kept, "HOME": str(home), "HF_HUB_OFFLINE": "1", "COLUMNS": "160"}


def run(folder: Path, script: str, *arguments: str) -> Ended:
    """The command in this process, with `folder` as home and working directory."""
    out, err = io.StringIO(), io.StringIO()
    words = [script, f"paths.runs={folder / 'runs'}", *arguments]
    # pytest has handlers of its own, beside which a command adds none.
    handler, root = logging.StreamHandler(err), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        with (
            chdir(folder),
            patch.dict(os.environ, environment(folder), clear=True),
            patch.object(sys, "argv", words),
            patch("huggingface_hub.constants.HF_HUB_OFFLINE", True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            MAIN[script]()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    return Ended(code, out.getvalue(), err.getvalue())


def train(folder: Path, *arguments: str) -> Ended:
    return run(folder, "train.py", *TINY, *arguments)


def python(
    folder: Path, *words: str, timeout: int = 300, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Python with figlang in a process of its own, with `folder` as home and working directory."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment(folder) | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_apart(
    folder: Path, script: str, *arguments: str, timeout: int = 300
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return python(folder, str(ROOT / script), f"paths.runs={folder / 'runs'}", *arguments, timeout=timeout)


def train_apart(folder: Path, *arguments: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    return run_apart(folder, "train.py", *TINY, *arguments, timeout=timeout)

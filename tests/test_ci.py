"""What runs for every change: targets of the Makefile that exist, for the Pythons that the package names."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.running import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
JOBS = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]


@pytest.mark.parametrize("place", [WORKFLOW, ROOT / ".ci" / "run"], ids=lambda place: place.name)
def test_its_targets_are_in_the_makefile(place: object) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / str(place)).read_text(encoding="utf-8")
    run = set(re.findall(r"(?:^|run: )make (?:\w+=\S+ )*([\w-]+)", text, re.MULTILINE))
    assert {"test", "test-wheel", "test-kernels"} <= run <= targets


def test_it_runs_with_every_python_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    assert JOBS["test"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


def test_the_image_takes_what_the_wheel_is_made_of() -> None:
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    assert names == set(re.findall(r"^!(.*)$", ignored, re.MULTILINE))
    assert all((ROOT / name).exists() for name in names)
    assert {"pyproject.toml", "setup.py", "constraints.txt", "figlang", "hydra_plugins", "conf"} <= names


def test_an_environment_that_is_a_link_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for place, made in (("link", False), ("new", True)):
        said = subprocess.run(
            ["make", "-n", "docs", f"VENV={tmp_path / place}"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
        ).stdout  # fmt: skip
        assert ("-m venv" in said) == made
        assert "mkdocs build --strict" in said

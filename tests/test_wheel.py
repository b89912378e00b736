"""What people install: the wheel has all files of the package and nothing else, and finds its presets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from figlang.config.composing import CONF
from tests.running import ROOT

PARTS = ("figlang", "hydra_plugins", "conf", "checkpoints", "tests")
NOT_CARRIED = shutil.ignore_patterns("__pycache__", "*.safetensors", "build", "*.egg-info")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the project, so that nothing is written into the project itself."""
    folder = tmp_path_factory.mktemp("project")
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=NOT_CARRIED)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder / "dist"), str(folder)]
    subprocess.run(build, check=True, timeout=120, env={**os.environ, "PIP_NO_INDEX": "1"})
    (built,) = (folder / "dist").glob("*.whl")
    return built


def test_the_presets_are_beside_the_package_in_a_checkout() -> None:
    assert CONF == ROOT / "conf"


def test_the_wheel_has_the_files_of_the_package_and_nothing_else(wheel: Path) -> None:
    carried = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    own = {
        str(Path(inside, path.relative_to(ROOT / part)))
        for part, inside in (
            ("figlang", "figlang"),
            ("hydra_plugins", "hydra_plugins"),
            ("conf", "figlang/conf"),
        )
        for path in (ROOT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert carried == own
    assert "figlang/py.typed" in carried


def test_the_wheel_has_the_licence_and_the_command(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        about = {name.partition(".dist-info/")[2]: name for name in archive.namelist()}
        assert archive.read(about["licenses/LICENSE"]) == (ROOT / "LICENSE").read_bytes()
        assert "figlang = figlang.__main__:main" in archive.read(about["entry_points.txt"]).decode()

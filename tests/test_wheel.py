"""What people install: the wheel has all files of the package and nothing else, and every verb works from
it."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping, Sequence
from email import message_from_string
from pathlib import Path
from runpy import run_path
from zipfile import ZipFile

import pytest

from figlang.__main__ import VERBS
from figlang.config.presets import CONF
from tests.running import ROOT, TINY, environment

PARTS = ("figlang", "hydra_plugins", "conf", "checkpoints", "tests")
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
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
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder / "dist"), str(folder)]
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


def test_links_of_the_registrys_page_lead_somewhere(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        page = message_from_string(archive.read(about).decode())
    text = str(page.get_payload())
    assert page["Description-Content-Type"] == "text/markdown"
    assert page["Author"] == "The figlang developers"
    assert text.startswith("# figlang\n")
    assert [place for place in re.findall(r"\]\(([^)\s]*)\)", text) if not place.startswith("https://")] == []


README = "![A page](docs/a.png) [A](b.md) [![p](c.png)](d.md#e) [G](https://g) [H](#h)"


@pytest.mark.parametrize(
    ("repository", "page"),
    [
        (None, " A  [G](https://g) H"),
        (
            "https://r",
            "![A page](https://r/raw/HEAD/docs/a.png) [A](https://r/blob/HEAD/b.md) "
            "[![p](https://r/raw/HEAD/c.png)](https://r/blob/HEAD/d.md#e) [G](https://g) H",
        ),
    ],
)
def test_links_into_the_project_lead_into_the_repository_or_stay_text(
    repository: str | None, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    assert run_path(str(ROOT / "setup.py"))["page"](README, repository) == page


def test_the_wheel_has_the_licence_and_the_command(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        about = {name.partition(".dist-info/")[2]: name for name in archive.namelist()}
        assert archive.read(about["licenses/LICENSE"]) == (ROOT / "LICENSE").read_bytes()
        assert "figlang = figlang.__main__:process" in archive.read(about["entry_points.txt"]).decode()


def apart(home: Path) -> dict[str, str]:
    """Variables without those by which Python would find this checkout."""
    kept = environment(home)
    return {name: value for name, value in kept.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `figlang` of an environment that has the wheel, and other libraries from this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    # Python does not read the .pth files of that folder, so this environment has no editable figlang.
    Path(asked.stdout.strip(), "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    # Without PYTHONPATH, by which pip would take the checkout for the installed package.
    subprocess.run(install, check=True, timeout=120, env=apart(folder))
    return folder / "bin" / "figlang"


# The words after each verb, and files that it leaves. {0} and {1} are the runs of two seeds.
ANSWERS = "runs/evaluations/smollm2-tiny/miqa_sample-answers-data.limit_4-model.init_tiny"
ON_CPU = ["trainer=cpu", "trainer.progress=false"]
FEW = " ".join(["data.limit=4", *ON_CPU])
EACH = {
    "evaluate": (f"checkpoint={{0}} data=miqa_sample output=evaluated {FEW}", "evaluated/metrics.json"),
    "transfer": (f"checkpoint={{0}},{{1}} data=figqa_sample,miqa_sample {FEW}", "runs/transfer/*/matrix.md"),
    "compare": ("{0} {1} output=compared", "compared/*.tex"),
    "report": ("{0} {1} output=page", "page/report.html"),
    "describe": ("data=figqa_sample output=described", "described/*.tex"),
    "create": ("prompts=2 output=prompts", "prompts/*"),
    "contamination": ("data=figqa_sample against=[miqa_sample] output=shared", "shared/*"),
    "export": ("tool=lm_eval data=figqa_sample output=exported", "exported/*.yaml"),
    "merge": ("checkpoint={0} output=merged trainer=cpu", "merged/model.safetensors"),
    "average": ("{0} {1} output=averaged trainer=cpu", "averaged/metrics.json"),
    "release": ("run={0} name=tiny against=[figqa_sample] trainer=cpu", "checkpoints/tiny/README.md"),
    "reproduce": (f"table=miqa_table3 data=miqa_sample model.init=tiny {FEW}", "runs/*/*/*table3*/table3.md"),
    "generate": (f"data=miqa_sample model.init=tiny {FEW}", f"{ANSWERS}/sheet.csv"),
}


# Two seeds of adapters over one network, as `merge` and `average` need them.
TRAINED = [
    "-m",
    "peft=lora",
    "data.limit=16",
    "method.epochs=1",
    "seed=0,1",
    "trainer=cpu",
    "trainer.progress=false",
]


# Commands by name, two at a time. Each is a fork of a process that has imported the libraries of others: that
# takes seconds. A command itself imports all that is figlang's.
FORKED = """
import json, os, sys
import datasets, matplotlib.figure, peft, pytorch_lightning, transformers.models.auto.modeling_auto
assert not [name for name in sys.modules if name.startswith("figlang")]

def end():
    process, status = os.wait()
    codes[names.pop(process)] = os.waitstatus_to_exitcode(status)

names, codes = {}, {}
for name, words in json.loads(sys.argv[1]).items():
    if len(names) == 2:
        end()
    child = os.fork()
    if not child:
        file = os.open(f"said by {name}.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.argv = ["figlang", *words]
        from figlang.__main__ import process
        process()
        sys.exit()
    names[child] = name
while names:
    end()
print(json.dumps(codes))
"""


@pytest.mark.installed
@pytest.mark.timeout(1800)  # a minute of CPU, on a machine that others use
def test_every_verb_works_from_the_wheel_in_an_empty_folder(command: Path, tmp_path: Path) -> None:

    def done(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, words)),
            cwd=tmp_path,
            env=apart(tmp_path),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def left(files: str, *words: str) -> None:
        """A command ends well and leaves files."""
        ended = done(command, *words)
        assert ended.returncode == 0, ended.stderr
        assert list(tmp_path.glob(files)), f"{words}: no {files}"

    def left_by_each(asked: Mapping[str, Sequence[str]]) -> None:
        ended = done(command.parent / "python", "-c", FORKED, json.dumps(asked))
        assert ended.returncode == 0, ended.stderr
        codes = json.loads(ended.stdout)
        assert codes.keys() == asked.keys()
        for verb, code in codes.items():
            assert code == 0, (tmp_path / f"said by {verb}.txt").read_text()[-2000:]
            assert list(tmp_path.glob(EACH[verb][1] if verb in EACH else "*")), verb

    left("runs/*/seed1/metrics.json", "train", *TRAINED)
    runs = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.glob("runs/*/*/metrics.json"))
    assert len(runs) == 2
    assert set(EACH) < set(VERBS)
    words = {verb: EACH[verb][0].format(*runs).split() if verb in EACH else ["--help"] for verb in VERBS}
    left_by_each({verb: [*verb.split(), *words[verb]] for verb in VERBS})
    left("checkpoints/tiny/README.md", "push", "checkpoints/tiny", "repo=ann/tiny")
    left("sheet/rate.html", "rate", f"runs=[{ANSWERS}]", "folder=sheet")


@pytest.mark.installed
@pytest.mark.timeout(1800)  # half a minute of CPU, on a machine that others use
def test_two_processes_train_one_run_from_the_wheel(command: Path, tmp_path: Path) -> None:
    """Lightning starts the second process as `python FILE words…`."""
    words = [*TINY, "trainer.strategy=ddp", "trainer.devices=2", "run=two"]
    ended = subprocess.run(
        [command, "train", *words],
        cwd=tmp_path,
        env=apart(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "two" / "metrics.json").is_file()

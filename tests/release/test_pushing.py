"""`figlang push` against a stub of the hub on loopback."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.push import main
from tests.running import ROOT, Ended, python
from tests.stub_hub import TOKEN, Handler, hub

RELEASED = ROOT / "checkpoints" / "minilm-figqa-large"
REPO = "repo=ann/minilm-figqa"
UPLOAD = "dry_run=false"
NAME = "minilm [5 seeds]"
NOWHERE = "http://127.0.0.1:9"
# hf_xet sends large files to servers of another kind, whose protocol the stub does not know.
BY_HTTP = "HF_HUB_DISABLE_XET"
# What the hub says of a large file for which an account has no room.
FULL = {"objects": [{"oid": "1", "size": 1, "error": {"code": 413, "message": "the storage is full"}}]}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / NAME
    shutil.copytree(RELEASED, folder)
    (folder / ".lock").touch()
    (folder / "link").symlink_to("/etc/hostname")
    shutil.copytree(folder, tmp_path / "export", ignore=shutil.ignore_patterns("metrics.json", "link"))
    return folder


@pytest.fixture
def push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Push":
    monkeypatch.chdir(tmp_path)
    return Push(monkeypatch, capsys)


class Push:
    """The command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str, hub: str = NOWHERE, token: str = TOKEN, offline: bool = False) -> Ended:
        self.monkeypatch.setenv("HF_TOKEN", token)
        self.monkeypatch.setenv("COLUMNS", "160")
        self.monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub)
        self.monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        self.monkeypatch.setattr(f"huggingface_hub.constants.{BY_HTTP}", True)
        self.monkeypatch.setattr(sys, "argv", ["figlang/commands/push.py", *words])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Ended(code, *self.capsys.readouterr())


def test_a_dry_run_lists_the_files_and_asks_no_server(checkpoint: Path, push: Push) -> None:
    with hub() as server:
        ended = push(NAME, REPO, hub=server.address)
    assert (ended.returncode, ended.stderr) == (0, "")
    for file in RELEASED.iterdir():
        assert f" {file.name} " in ended.stdout
    assert ".lock" not in ended.stdout
    assert "link" not in ended.stdout
    assert "nothing was uploaded" in ended.stdout
    assert (server.asked, server.files, server.made) == ([], {}, {})


def test_an_upload_brings_every_file_whole(checkpoint: Path, tmp_path: Path) -> None:
    with hub() as server:
        outside = {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0", BY_HTTP: "1"}
        words = ["-m", "figlang", "push", NAME, REPO, UPLOAD, "message='First, best'"]
        ended = python(tmp_path, *words, **outside)
    assert ended.returncode == 0, ended.stderr
    assert server.files == {file.name: file.read_bytes() for file in RELEASED.iterdir()}
    assert len(server.stored) == 1
    assert server.messages == ["First, best"]
    assert server.made["ann/minilm-figqa"]["visibility"] == "private"
    assert ended.stdout.splitlines()[-1] == f"{server.address}/ann/minilm-figqa"
    assert "HTTP" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((NAME,), "give a folder and a repository: figlang push FOLDER repo=OWNER/NAME"),
        ((".", REPO), ". is not a released checkpoint; make one by `figlang release run=RUN name=NAME`"),
        (
            ("export", REPO),  # the network of a run that was not released
            "export is not a released checkpoint; make one by `figlang release run=RUN name=NAME`",
        ),
        ((NAME, "repo=ann"), "repo=ann names no owner; give repo=OWNER/NAME"),
        ((NAME, "repo=a/b/c"), "repo=a/b/c is not a name on the hub: "),
        ((NAME, REPO, UPLOAD), f"the hub {NOWHERE} cannot be reached ("),
    ],
)
def test_what_cannot_be_uploaded_is_one_line(
    words: tuple[str, ...], said: str, checkpoint: Path, push: Push
) -> None:
    ended = push(*words)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"error: {said}")


def test_the_hubs_refusals_are_one_line(checkpoint: Path, push: Push) -> None:
    with hub() as server:
        refused = push(NAME, REPO, UPLOAD, hub=server.address, token="hf_wrong")
        offline = push(NAME, REPO, UPLOAD, hub=server.address, offline=True)
    assert refused.stderr == (
        "error: the hub refuses repo=ann/minilm-figqa (401: Invalid username or password.); log in by "
        "`hf auth login`, or set HF_TOKEN\n"
    )
    assert offline.stderr == "error: HF_HUB_OFFLINE is set, so nothing is uploaded; unset it\n"


@pytest.mark.parametrize(
    ("method", "path", "code", "content", "why"),
    [
        ("do_PUT", "/store/", 400, {"error": "the store is shut"}, "the store is shut"),
        ("do_POST", "/objects/batch", 200, FULL, "the storage is full"),
        ("do_POST", "/validate-yaml", 400, {"errors": [{"message": "unknown licence"}]}, "unknown licence"),
    ],
)
@pytest.mark.filterwarnings("ignore:Use 'content")  # huggingface_hub's own use of its client
def test_an_upload_that_fails_half_way_is_one_line_and_can_be_repeated(
    method: str,
    path: str,
    code: int,
    content: dict[str, Any],
    why: str,
    checkpoint: Path,
    push: Push,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = getattr(Handler, method)

    def broken(asked: Handler) -> None:
        if path not in asked.path:
            return usual(asked)
        asked.take()
        asked.answer(code, content)

    with hub() as server:
        with monkeypatch.context() as patch:
            patch.setattr(Handler, method, broken)
            failed = push(NAME, REPO, UPLOAD, hub=server.address)
        assert (failed.returncode, server.files) == (2, {})
        again = push(NAME, REPO, UPLOAD, hub=server.address)
        assert (again.returncode, len(server.files)) == (0, len(list(RELEASED.iterdir())))
    line = failed.stderr.splitlines()[-1]
    assert line.startswith("error: the upload to repo=ann/minilm-figqa failed, and nothing was committed")
    assert why in line
    assert "Traceback" not in failed.stderr


def test_a_card_without_licence_or_with_broken_front_matter(checkpoint: Path, push: Push) -> None:
    card = checkpoint / "README.md"
    text = card.read_text(encoding="utf-8")
    card.write_text(text.replace("license: apache-2.0\n", ""), encoding="utf-8")
    assert "the card names no licence" in push(NAME, REPO).stdout
    card.write_text(text.replace("license: apache-2.0\n", "license: [\n"), encoding="utf-8")
    (line,) = push(NAME, REPO).stderr.splitlines()
    assert line.startswith(f"error: the front matter of {NAME}/README.md cannot be read (")

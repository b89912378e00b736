"""What a terminal of few characters shows, and what a pipe gets."""

import os
from pathlib import Path

import pytest

from tests.running import ROOT, python


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_no_character_ends_a_command(tmp_path: Path, encoding: str) -> None:
    ended = python(
        tmp_path,
        "-c",
        "import sys; from figlang.machine.printing import legible; legible()\n"
        "for stream in (sys.stdout, sys.stderr): stream.write('17 – 83 … “é” ± × \\u6f22 \\udc80\\n')",
        PYTHONIOENCODING=encoding,
        PYTHONUTF8="0",
    )
    shown = {"ascii": '17 - 83 ... "e" +- x ? ?\n', "utf-8": "17 – 83 … “é” ± × 漢 ?\n"}
    assert ended.returncode == 0
    assert (ended.stdout, ended.stderr) == (shown[encoding], shown[encoding])


def test_libraries_tell_only_of_what_is_wrong(tmp_path: Path) -> None:
    code = (
        "import logging; from figlang.machine.printing import log_to_terminal; log_to_terminal()\n"
        "for name in ('figlang', 'matplotlib.font_manager'):\n"
        "    log = logging.getLogger(name); log.info('%s told', name); log.warning('%s warned', name)"
    )
    told = "figlang told\nfiglang warned\nmatplotlib.font_manager warned\n"
    assert python(tmp_path, "-c", code).stderr == told


def test_what_a_user_chose_for_such_characters_stays(tmp_path: Path) -> None:
    code = "from figlang.machine.printing import legible; legible(); print('–')"
    assert python(tmp_path, "-c", code, PYTHONIOENCODING="ascii:xmlcharrefreplace").stdout == "&#8211;\n"


@pytest.mark.every
def test_an_evaluation_in_ascii_is_whole_and_a_pipe_gets_no_bar(tmp_path: Path) -> None:
    words = [str(ROOT / "evaluate.py"), "model=minilm", "model.init=tiny", "data.limit=10"]
    ended = python(tmp_path, *words, PYTHONIOENCODING="ascii", NO_COLOR="1", TERM="xterm-256color")
    assert ended.returncode == 0, ended.stderr
    assert "accuracy" in ended.stdout
    assert "signature" in ended.stdout
    for stream in (ended.stdout, ended.stderr):
        assert stream.isascii()
        assert [char for char in stream if ord(char) < 32 and char != "\n"] == []
        assert "evaluating" not in stream


def test_usage_in_ascii(tmp_path: Path) -> None:
    ended = python(tmp_path, "-m", "figlang", "train", "--help", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert ended.stdout.startswith("usage: figlang train [GROUP=OPTION ...]")
    assert os.linesep in ended.stdout

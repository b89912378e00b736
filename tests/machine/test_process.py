"""A command's process ends sooner, and as others would see it without."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT, environment, python

# What a process may leave to its end: a function of atexit, a thread, a folder, text that is not yet written.
BODY = """
import atexit, sys, tempfile, threading, time
from figlang.machine.process import run
folder = tempfile.TemporaryDirectory(dir={home!r})
atexit.register(print, "atexit")

class Taken:
    def __del__(self):
        print("taken apart")

taken = Taken()
taken.itself = taken

def late():
    time.sleep(0.2)
    print("thread")

def command():
    threading.Thread(target=late).start()
    sys.stdout.write("x" * 100_000 + "\\n")
    {ending}

if __name__ == "__main__":
    {call}
    print("after")
"""
LAST = ["thread", "atexit"]


def process(home: Path, ending: str, call: str = "run(command)", *words: str) -> tuple[int, list[str], str]:
    """The exit code, the lines that a pipe got after the long one, and the errors."""
    file = home / "file.py"
    file.write_text(BODY.format(home=str(home), ending=ending, call=call), encoding="utf-8")
    ended = python(home, *words, str(file), timeout=60, PYTHONUNBUFFERED="")
    first, *rest = ended.stdout.splitlines()
    assert first == "x" * 100_000
    assert [path.name for path in home.iterdir()] == ["file.py"]  # the temporary folder is gone
    return ended.returncode, rest, ended.stderr


@pytest.mark.parametrize(
    ("ending", "code"),
    [("pass", 0), ("sys.exit()", 0), ("sys.exit(1)", 1), ("sys.exit(2)", 2), ("sys.exit(130)", 130)],
)
def test_exit_codes_threads_exit_functions_and_output_are_as_usual(
    tmp_path: Path, ending: str, code: int
) -> None:
    assert process(tmp_path, ending) == (code, LAST, "")


def test_nothing_is_taken_apart(tmp_path: Path) -> None:
    assert "taken apart" in process(tmp_path, "pass", "command()")[1]
    assert "taken apart" not in process(tmp_path, "pass")[1]


def test_a_message_as_exit_code_is_printed(tmp_path: Path) -> None:
    code, _, errors = process(tmp_path, "sys.exit('a message')")
    assert (code, errors) == (1, "a message\n")


def test_an_error_has_its_traceback(tmp_path: Path) -> None:
    code, lines, errors = process(tmp_path, "raise ValueError('wrong')")
    assert code == 1
    assert lines[:2] == LAST
    assert errors.startswith("Traceback")
    assert errors.endswith("ValueError: wrong\n")


def test_what_runs_the_file_goes_on_after_it(tmp_path: Path) -> None:
    _, lines, _ = process(tmp_path, "pass", "run(command)", "-m", "cProfile")
    assert "after" in lines
    assert any("function calls" in line for line in lines)


def on_a_full_disk(home: Path, words: list[str], unbuffered: str) -> "subprocess.CompletedProcess[str]":
    """A process of Python whose output finds no space."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        return subprocess.run(
            [sys.executable, *words],
            env=environment(home) | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("call", ["command()", "run(command)"])
def test_output_that_cannot_be_written_is_an_error(tmp_path: Path, call: str) -> None:
    file = tmp_path / "file.py"
    program = f"from figlang.machine.process import run\ndef command(): print('text')\n{call}\n"
    file.write_text(program, encoding="utf-8")
    ended = on_a_full_disk(tmp_path, [str(file)], unbuffered="")
    assert ended.returncode == 120
    assert "No space left on device" in ended.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["train", "--help"], ["reproduce", "--help"]])
def test_help_that_cannot_be_printed_is_one_line(tmp_path: Path, words: list[str]) -> None:
    ended = on_a_full_disk(tmp_path, ["-m", "figlang", *words], unbuffered="1")
    assert ended.stderr.startswith("error: no space to write a file")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("words", "code"), [((), 2), (("--help",), 0), (("no_such_verb",), 2)])
def test_the_command_returns_to_programs(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    program = (
        "from figlang.__main__ import main\ntry: main()\nexcept SystemExit as end: print('code', end.code)"
    )
    ended = python(tmp_path, "-c", program, *words, timeout=60)
    assert ended.stdout.splitlines()[-1] == f"code {code}"
    alone = python(tmp_path, "-m", "figlang", *words, timeout=60)
    assert alone.returncode == code
    assert alone.stdout == ended.stdout.removesuffix(f"code {code}\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("tasks", 0), ("compare no_such_run another", 2)])
def test_a_stream_that_the_shell_closed_changes_no_exit_code(
    tmp_path: Path, words: str, code: int, closed: str
) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m figlang {words} {closed}"],
        cwd=tmp_path,
        env=environment(tmp_path) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)

"""`figlang VERB`: usage, wrong verbs, help, wrong options, further processes of a training."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from lightning_fabric.strategies.launchers.subprocess_script import _basic_subprocess_cmd

from figlang.__main__ import COMMANDS, VERBS, main
from figlang.config.entry import Entry
from figlang.config.purposes import PURPOSES
from figlang.config.roots import ROOTS
from tests.running import ROOT, TINY, python

HEAVY = {"scipy.stats", "torch", "pytorch_lightning", "transformers", "peft", "datasets"}
HEAVY |= {"figlang.files.stored"}  # it builds the schemas of all files
# Runs words after one another, and then says which heavy libraries were loaded.
SCRIPT = f"""
import contextlib, io, runpy, sys
for words in WORDS:
    sys.argv = words
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    else:
        code = 0
    print(code, len(said.getvalue().splitlines()), said.getvalue().splitlines()[0])
print(sorted({HEAVY} & set(sys.modules)))
"""


def said_of(words: list[list[str]], folder: Path) -> list[str]:
    """The exit code, the number of lines and the first line of each command; then the libraries loaded."""
    script = SCRIPT.replace("WORDS", repr(words))
    ended = python(folder, "-c", script)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


MAIN = str(ROOT / "figlang" / "__main__.py")
STARTS = {
    **{verb: [MAIN, *verb.split()] for verb in VERBS},
    "train.py": [str(ROOT / "train.py")],
    "evaluate.py": [str(ROOT / "evaluate.py")],
}


def test_help_of_every_verb_loads_no_torch(tmp_path: Path) -> None:
    *lines, loaded = said_of([[*start, "--help"] for start in STARTS.values()], tmp_path)
    assert loaded == "[]"
    for name, line in zip(STARTS, lines, strict=True):
        code, length, first = line.split(" ", 2)
        assert (code, int(length) >= 8) == ("0", True), line
        script = f"python {name}" if name.endswith(".py") else f"figlang {name}"
        assert first.startswith(f"usage: {script} "), line


def test_wrong_options_of_every_verb_are_one_line_and_load_no_torch(tmp_path: Path) -> None:
    wrong = [[*start, "surely_not=1"] for start in STARTS.values()]
    *lines, loaded = said_of(wrong, tmp_path)
    assert loaded == "[]"
    assert len(lines) == len(wrong)
    for line in lines:
        assert line.startswith("2 1 error: "), line
    assert lines[0].startswith("2 1 error: unknown key 'surely_not'; the top level has ")


@pytest.mark.parametrize("start", ["train.py", "evaluate"])
def test_python_without_docstrings_is_refused_without_a_traceback(start: str, tmp_path: Path) -> None:
    ended = python(tmp_path, "-OO", *STARTS[start], "data=figqa_sample")
    assert ended.returncode == 2
    # Hydra may warn of a plugin that reads docstrings too.
    assert ended.stderr.splitlines()[-1].startswith("error: python -OO (or PYTHONOPTIMIZE=2) leaves out doc")
    assert "Traceback" not in ended.stderr


def test_a_preset_with_a_typo_loads_no_torch(tmp_path: Path) -> None:
    *lines, loaded = said_of([[*STARTS["train.py"], "data=figqa_medum"]], tmp_path)
    assert loaded == "[]"
    assert lines[0].startswith("2 1 error: data=figqa_medum is not a preset; did you mean figqa_medium?")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_without_a_verb_the_verbs_are_listed(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["figlang", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert ended.value.code == (0 if words else 2)
    assert said.startswith("usage: figlang VERB key=value")
    assert all(f"\n  {verb} " in said for verb in VERBS)
    assert [line for line in said.splitlines() if len(line) > 80] == []


def test_an_unknown_verb_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["figlang", "evalute", "data=miqa"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("error: figlang has no verb 'evalute'. Did you mean evaluate? ")
    assert len(said.splitlines()) == 1


def test_every_verb_has_a_file_a_line_in_the_table_and_a_purpose() -> None:
    assert set(VERBS) == set(ROOTS)
    assert sorted(verb for verbs in PURPOSES.values() for verb in verbs) == VERBS


def test_lists_and_help_of_a_group_load_no_torch(tmp_path: Path) -> None:
    words = [[MAIN, "tasks"], [MAIN, "models"], [MAIN, "train", "--help", "data"], [MAIN, "help", "train"]]
    *lines, loaded = said_of(words, tmp_path)
    assert loaded == "[]"
    assert [line.split(" ")[0] for line in lines] == ["0"] * len(words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--model", "roberta"], "--model roberta is not an option; arguments have no dashes: write model="),
        (["--model=roberta"], "--model=roberta is not an option; arguments have no dashes: write model=robe"),
        (
            ["--batch-size=8"],
            "--batch-size=8 is not an option; arguments have no dashes: write method.batch_size=8 ",
        ),
        (["--learning_rate", "1e-4"], "--learning_rate 1e-4 is not an option; arguments have no dashes: wr"),
        (["--wandb"], "--wandb is not an option; arguments have no dashes: write logger=wandb (--help"),
        (["model", "roberta"], "model roberta: write model=roberta"),
        (["-x"], "-x is not an option; arguments are key=value"),
        (["method.epoch=3"], "unknown key 'epoch'; did you mean method.epochs?"),
        (["epochs=3"], "unknown key 'epochs'; did you mean method.epochs?"),
    ],
)
def test_what_other_tools_write_is_explained(
    words: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["figlang", "train", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {expected}")
    assert len(said.splitlines()) == 1


def test_further_processes_know_the_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lightning's own function says how it would start the second process of `figlang train`."""
    monkeypatch.setattr(Entry, "__call__", lambda entry: print(*_basic_subprocess_cmd()))
    monkeypatch.setattr(sys, "argv", ["figlang", "train", "seed=1"])
    main_module = ModuleType("__main__")
    main_module.__spec__ = ModuleSpec("figlang.__main__", None)
    monkeypatch.setitem(sys.modules, "__main__", main_module)
    main()
    assert capsys.readouterr().out.split() == [sys.executable, str(COMMANDS / "train.py"), "seed=1"]


@pytest.mark.slow
@pytest.mark.parametrize("torchrun", [False, True], ids=["lightning", "torchrun"])
def test_two_processes_of_a_verb_train_one_run(torchrun: bool, tmp_path: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    words = [*TINY, "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2", "data.limit=16", "run=two"]
    ended = python(tmp_path, *(launcher if torchrun else []), "-m", "figlang", "train", *words, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "two" / "metrics.json").is_file()
    assert ended.stdout.count("signature") == 1, "one of two processes reports"

"""`figlang completion bash`: the script, in a real bash."""

import subprocess
import sys
from pathlib import Path

import pytest

from figlang.__main__ import VERBS, main
from figlang.config.completing import script
from figlang.config.presets import CONF

# What bash does at the tab key: it fills the variables in and calls the function that `complete -p` names.
ASK = """
source {script}
complete -p figlang || exit 1
for line in "${{@}}"; do
    COMP_LINE=$line COMP_POINT=${{#line}}
    COMP_WORDS=($line) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    COMPREPLY=()
    _figlang
    echo "${{COMPREPLY[*]}}"
done
"""


def completed(folder: Path, *lines: str, before: str = "") -> list[list[str]]:
    """The words that bash offers at the end of each line."""
    (folder / "figlang.sh").write_text(script("bash", CONF))
    ask = before + ASK.format(script=folder / "figlang.sh")
    command = ["bash", "--norc", "--noprofile", "-c", ask, "bash", *lines]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    first, *rest = ended.stdout.splitlines()
    assert first == "complete -F _figlang figlang"
    return [line.split() for line in rest]


def test_verbs_keys_options_and_choices(tmp_path: Path) -> None:
    verbs, some, keys, field, presets, several, choices, split, help_word = completed(
        tmp_path,
        "figlang ",
        "figlang tr",
        "figlang train metho",
        "figlang train model.na",
        "figlang train model=ro",
        "figlang evaluate data=figqa_medium seed=1 scoring=p",
        "figlang train trainer.progress=",
        "figlang evaluate split=d",
        "figlang train --h",
    )
    assert sorted(verbs) == [verb for verb in VERBS if " " not in verb]
    assert some == ["train", "transfer"]
    assert {"method=", "method.lr="} <= set(keys)
    assert field == ["model.name=", "model.name_or_path="]
    assert presets == ["roberta", "roberta_base", "roberta_lora"]
    assert several == ["pll", "pll_within_word", "pmi", "prior_corrected"]
    assert choices == ["true", "false"]
    assert split == ["dev"]
    assert help_word == ["--help"]


def test_tables_of_reproduce_and_their_fields(tmp_path: Path) -> None:
    tables, fields, other = completed(
        tmp_path, "figlang reproduce table=m", "figlang reproduce max_r", "figlang train max_r"
    )
    assert {"miqa_table3", "munch_judge"} <= set(tables)
    assert fields == ["max_rank="]
    assert other == []


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "figures.csv").touch()
    run, checkpoint, data = completed(
        tmp_path, "figlang report runs/m", "figlang evaluate checkpoint=runs/", "figlang train data=fi"
    )
    assert run == ["runs/mine"]
    assert checkpoint == ["runs/mine"]
    assert {"figqa_medium", "figures.csv"} <= set(data)


def test_words_that_bash_does_not_split_are_whole(tmp_path: Path) -> None:
    whole = completed(tmp_path, "figlang train model=rob", before="COMP_WORDBREAKS=' '\n")
    assert whole == [["model=roberta", "model=roberta_base", "model=roberta_lora"]]


def test_the_script_of_zsh_has_whole_words() -> None:
    text = script("zsh", CONF)
    assert text.startswith("#compdef figlang\n")
    assert 'true && before="$key="' in text
    assert text.endswith("complete -o nospace -F _figlang figlang\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["bash"], 0, "_figlang() {"),
        (["shell=zsh"], 0, "#compdef figlang"),
        ([], 2, "error: name the shell: figlang completion bash"),
        (["fish"], 2, "error: shell=fish is not a choice"),
    ],
)
def test_the_command(
    words: list[str],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["figlang", "completion", *words])
    ended = 0
    try:
        main()
    except SystemExit as stopped:
        ended = int(stopped.code or 0)
    shown = capsys.readouterr()
    assert ended == code
    assert (shown.out + shown.err).startswith(said)

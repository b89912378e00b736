"""Errors of Hydra and OmegaConf become one line for people."""

import sys
from typing import Any

import pytest

from figlang.commands.average import main as average_command
from train import main as train_command


@pytest.mark.parametrize(
    ("command", "word", "said"),
    [
        (train_command, "method.lr=abc", "method.lr=abc is not a number: Peak learning rate."),
        (train_command, "method.lr=null", "method.lr=null is not a number: Peak learning rate."),
        (
            train_command,
            "method.batch_size=automatic",
            "method.batch_size=automatic is not a whole number: Items per optimizer step, or auto: the",
        ),
        (
            train_command,
            "method.accumulate=automatic",
            "method.accumulate=automatic must be auto or a whole number above 0",
        ),
        (train_command, "data.limit=2.5", "data.limit=2.5 is not a whole number: Use only"),
        (train_command, "data.strict=perhaps", "data.strict=perhaps is not true or false: Stop"),
        (train_command, "model.name=[a]", "model.name=[a] is not a text: Name in reports and run folders."),
        (train_command, "data.mix=3", "data.mix=3 is not numbers by name in braces, for"),
        (average_command, "shares=a,1", "shares=[a,1] is not a list of numbers: A share"),
        (average_command, "shares={a:1}", "shares={a:1} is not a list of numbers: A share"),
        (average_command, "runs={a:1}", "runs={a:1} is not a list: Run folders"),
        (average_command, "rank=x", "rank=x is not a whole number: Adapters: rank of the mean."),
    ],
)
def test_a_value_of_another_type_is_named_with_what_the_option_is(
    command: Any, word: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x.py", word])
    with pytest.raises(SystemExit):
        command()
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize("word", ["run=runs/a,b", "run=Läufe = 1, ß/b"])  # Hydra cannot read the second one
def test_several_values_are_named_as_they_were_typed_and_how_a_name_with_a_comma_is_written(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", word])
    with pytest.raises(SystemExit):
        train_command()
    said = capsys.readouterr().err
    assert said.startswith(f"error: {word} has several values;")
    assert f"if the comma belongs to a name, write \"run='{word.removeprefix('run=')}'\"" in said


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("seeds=0,1", "unknown key 'seeds'; did you mean seed?"),
        ("method.lrr=1,2", "unknown key 'lrr'; did you mean method.lr?"),
        ("seed=0,1", "seed=0,1 has several values; add -m to run the command once for each\n"),
        ("data.file=a,b$", """if the comma belongs to a name, write 'data.file='"'"'a,b$'"'"''"""),
    ],
)
def test_a_key_that_does_not_exist_is_mended_before_its_several_values(
    word: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", word])
    with pytest.raises(SystemExit):
        train_command()
    assert expected in capsys.readouterr().err

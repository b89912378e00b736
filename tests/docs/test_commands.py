"""Commands in the README and on the site are real: every value of every one of them composes."""

import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hydra.errors import HydraException

from docs.making.measured import RESULTS, read
from figlang.config.composing import compose
from figlang.config.roots import ROOTS
from figlang.config.shorthand import expanded
from tests.docs.blocks import ROOT, commands, every_command
from tests.reproducing import OPTIONS
from tests.sampled import sampled

COMMANDS = every_command()
# Commands of others, of which only the words that name something of figlang are checked.
OTHERS = ("apt-get", "export", "make", "pip", "transformers", "wandb", "python -m docs.making")
MAP = (ROOT / "conf" / "experiment" / "README.md").read_text(encoding="utf-8")
MAPPED = [
    command.replace("RUN RUN", "RUN other")
    for command in re.findall(r"`((?:figlang|python) [^`]* [^`]+)`", MAP)
]
OURS = [*dict.fromkeys([*(line for line in COMMANDS if not line.startswith(OTHERS)), *MAPPED])]


def verb_and_options(command: str) -> tuple[str, list[str]]:
    """The verb of a command and the words after it, whoever starts it."""
    words = shlex.split(command)
    if words[0] == "figlang":
        verb = " ".join(words[1:3])
        return (verb, words[3:]) if verb in ROOTS else (words[1], words[2:])
    # The words of torchrun and sbatch come before the script.
    place = next(n for n, word in enumerate(words) if re.search(r"\.py$|\.sbatch$|^figlang$", word))
    if words[place] == "figlang":
        return words[place + 1], words[place + 2 :]
    assert (ROOT / words[place]).is_file(), f"{words[place]} is not there"
    return re.split(r"[/.]", words[place])[-2], words[place + 1 :]


def values(verb: str, words: Sequence[str]) -> list[list[str]]:
    """The settings that a command makes: with -m, or for a verb that takes several values, one after the
    other."""
    several = "-m" in words or ROOTS[verb].together
    if verb in ("describe", "push"):  # a word of its own is the file or the folder
        key = "data" if verb == "describe" else "folder"
        words = [word if "=" in word else f"{key}={word}" for word in words]
    if verb == "export":  # the tool and the folder
        keys = iter(("tool", "output"))
        words = [word if "=" in word else f"{next(keys)}={word}" for word in words]
    runs = [word for word in words if "=" not in word and word != "-m"]
    kept = [
        word
        for word in _spelled_out(verb, words)
        if "=" in word and not word.startswith(("hydra/", "hydra.")) and "interval(" not in word
    ]
    given = [
        (key, value.split(",") if several else [value])
        for key, _, value in (word.partition("=") for word in kept)
    ]
    lasting = [f"runs=[{','.join(runs)}]"] if runs else []
    longest = max((len(choices) for _, choices in given), default=1)
    return [
        [f"{key}={choices[min(place, len(choices) - 1)]}" for key, choices in given] + lasting
        for place in range(longest)
    ]


def _spelled_out(verb: str, words: Sequence[str]) -> list[str]:
    """Short names as the presets that they stand for: those of models would be looked up on the hub."""
    made: list[str] = []
    for word in words:
        if re.match(r"model=.*[/.]", word):
            made += ["model=causal", f"model.name_or_path={word.partition('=')[2]}"]
        elif re.match(r"data=.*\.(csv|tsv|jsonl|json|yaml)$", word):
            made += ["data=figqa_csv", f"data.file={word.partition('=')[2]}"]
        elif "{" in word:  # the command line quotes such a text for Hydra
            key, _, value = word.partition("=")
            made.append(f'{key}="{value}"')
        elif word.startswith("model="):
            made.append(word)
        else:
            made += expanded(ROOTS[verb], [word], ROOT / "conf")
    return made


# Every preset of an experiment is composed in tests/config too.
@pytest.mark.parametrize("command", sampled(OURS, *(one for one in OURS if one not in MAPPED)))
def test_commands_compose(command: str) -> None:
    verb, words = verb_and_options(command)
    for word in words:
        if word.startswith("hydra.sweeper.file="):
            assert (ROOT / word.partition("=")[2]).is_file()
    check(verb, words)


def check(verb: str, words: Sequence[str]) -> None:
    """Compose all settings that a command makes."""
    # What transfer tabulates is what evaluate takes.
    name = "evaluate" if verb == "transfer" else verb
    for settings in values(verb, words):
        table = [word.partition("=")[2] for word in settings if word.startswith("table=")]
        schema = OPTIONS[table[0]] if table else ROOTS[verb].schema
        compose(name, schema, settings)


def of_rows() -> list[str]:
    """The commands of measured rows that name what is there, not FILE or NAME in its place."""
    cells = [row["command"] for path in sorted(RESULTS.glob("*.csv")) for row in read(path.stem)]
    odd = re.compile(r"\bFILE\b|=NAME|RUNS|model=FOLDER|FOLDER, |[{;]|^make |^python (-m|benchmarks/)")
    return [command for command in dict.fromkeys(cells) if not odd.search(command)]


ROWS = of_rows()
SOME_ROWS = [command for command in ROWS if command.startswith("figlang average")]


@pytest.mark.parametrize("command", sampled(ROWS, *SOME_ROWS))
def test_commands_of_measured_rows_compose(command: str) -> None:
    check(*verb_and_options(command))


def extras_of(text: str) -> set[str]:
    """The extras of figlang that a text installs, alone or several at once."""
    return {name for several in re.findall(r"figlang\[([\w,]+)\]", text) for name in several.split(",")}


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.split()[0] in OTHERS])
def test_commands_of_others_name_what_is_there(command: str) -> None:
    first, second, *rest = shlex.split(command)
    if first == "make":
        assert re.search(rf"^{second}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    if first == "wandb" and second == "sweep":
        assert (ROOT / rest[0]).is_file()
    if first == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert extras_of(" ".join(rest)) <= extras["optional-dependencies"].keys()


def test_the_page_about_installation_has_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    assert extras_of(page) == project["optional-dependencies"].keys() - {"dev"}


def test_a_command_that_is_wrong_would_be_found() -> None:
    for wrong in ("figlang train model=no_such_preset", "figlang evaluate method.no_such_field=1"):
        verb, words = verb_and_options(wrong)
        with pytest.raises(HydraException, match="no_such"):
            compose(verb, ROOTS[verb].schema, values(verb, words)[0])


def test_from_zero_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Every command of the section in its order, with a tiny network in place of the real one.
    page = ROOT / "docs" / "start" / "paper-table.md"
    lines = [line for line in commands(page) if line.startswith("figlang ")]
    monkeypatch.chdir(tmp_path)
    for line in lines[: lines.index("figlang describe data=figqa_sample split=train") + 1]:
        named = line.replace("evaluations/minilm/", "evaluations/minilm-tiny/")
        verb, *given = shlex.split(named)[1:]
        if verb in ("train", "evaluate"):
            given += ["debug=fast", "trainer=cpu", "trainer.progress=false"]
        if verb == "train":
            given.append(f"run=runs/minilm-figqa_sample/{given[0].replace('=', '')}")
        monkeypatch.setattr(sys, "argv", [f"{verb}.py", *given])
        importlib.import_module(f"figlang.commands.{verb}").main()
        assert capsys.readouterr().out, line
    assert {"report.html", "tables", "figures"} <= {path.name for path in (tmp_path / "paper").iterdir()}
    assert (tmp_path / "paper" / "tables" / "comparison.tex").is_file()

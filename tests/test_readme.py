"""The README's commands are real: every value of every one of them composes."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from figlang.config import (
    AverageConfig,
    CompareConfig,
    ContaminationConfig,
    DescribeConfig,
    EvaluateConfig,
    GenerateConfig,
    MergeConfig,
    RateConfig,
    ReleaseConfig,
    ReportConfig,
    ReproduceConfig,
    TrainConfig,
)
from figlang.config.composing import compose
from tests.published import results
from tests.reproducing import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
SCHEMAS = {
    "train": TrainConfig,
    "reproduce": ReproduceConfig,
    "generate": GenerateConfig,
    "rate": RateConfig,
    "merge": MergeConfig,
    "compare": CompareConfig,
    "report": ReportConfig,
    "describe": DescribeConfig,
    "contamination": ContaminationConfig,
    "release": ReleaseConfig,
    "average": AverageConfig,
}
STARTERS = ("python", "figlang", "torchrun", "srun", "sbatch", "wandb")
COMMANDS = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
MAP = (ROOT / "conf" / "experiment" / "README.md").read_text()
MAPPED = [
    command.replace("RUN RUN", "RUN other")
    for command in re.findall(r"`((?:python|figlang \w+) [^`]+)`", MAP)
]
# What each paper numbers: tables and figures.
NUMBERED = {"Fig-QA": (17, 3), "MiQA": (3, 0), "MUNCH": (12, 8)}


def test_the_first_screen_has_a_table_and_the_two_commands() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:40]
    assert sum(line.startswith("|") for line in first) >= 4
    assert {"make train", "make test"} <= set(COMMANDS)


def test_the_contents_lead_to_headings() -> None:
    text = (ROOT / "README.md").read_text()
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    # As GitHub makes anchors: lower case, punctuation dropped, spaces to hyphens.
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("make ")])
def test_make_targets_exist(command: str) -> None:
    target = shlex.split(command)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_table_and_figure_of_the_papers_has_its_command_or_the_reason_why_not(paper: str) -> None:
    rows = re.split(r"^\| \*\*(.+?)\*\*.*$", MAP, flags=re.MULTILINE)
    mine = [row.split(" | ", 1) for row in rows[rows.index(paper) + 1].strip().splitlines()]
    for kind, last in zip(("Table", "Figure"), NUMBERED[paper], strict=True):
        named = [run for what, _ in mine for run in re.findall(rf"{kind}s? ([\d, ]+)", what)]
        said = {int(number) for run in named for number in re.findall(r"\d+", run)}
        assert said >= set(range(1, last + 1)), f"{kind}s of {paper} that are missing"
    for what, command in mine:
        reasons = (
            "not reproducible, because",
            "not a result",
            "not results",
            "in every evaluation",
            "with Table",
            "the same",
        )
        assert re.search("`(python|figlang) ", command) or command.startswith(reasons), what


def test_the_map_knows_every_published_table() -> None:
    for row in results():
        if row.paper in ("figqa2022", "miqa2022", "munch2024") and row.table.startswith(
            ("Table", "Figure", "Footnote")
        ):
            assert re.search(rf"{row.table.split()[0]}s?[ \d,]* {row.table.split()[1]}\b", MAP), row.table


@pytest.mark.parametrize(
    "command", [*(command for command in COMMANDS if command.split()[0] in STARTERS), *MAPPED]
)
def test_commands_compose(command: str) -> None:
    first, *words = shlex.split(command)
    words = ["figlang", *words] if first == "figlang" else words
    if first == "wandb":
        assert words[0] == "agent" or (ROOT / words[1]).is_file()
        return
    # torchrun's own words come before the script.
    script, *arguments = words[
        next(place for place, word in enumerate(words) if re.search(r"\.py$|\.sbatch$|^figlang$", word)) :
    ]
    if script == "figlang":
        script, *arguments = arguments
    assert (ROOT / "figlang" / "commands" / f"{script}.py").is_file() or (ROOT / script).is_file()
    several = "-m" in arguments or script == "transfer"
    if runs := [word for word in arguments if "=" not in word and word != "-m"]:
        arguments = [*(word for word in arguments if "=" in word), f"runs=[{','.join(runs)}]"]
    for word in arguments:
        if word.startswith("hydra.sweeper.file="):
            assert (ROOT / word.partition("=")[2]).is_file()
    ours = [
        word
        for word in arguments
        if word != "-m" and not word.startswith("hydra") and "interval(" not in word
    ]
    given = {key: values for key, _, values in (word.partition("=") for word in ours)}
    choices = {key: values.split(",") if several else [values] for key, values in given.items()}
    name = Path(script).stem
    schema = SCHEMAS.get(name, EvaluateConfig)  # transfer takes what evaluate.py takes
    if name == "reproduce":
        schema = OPTIONS[given["table"]]
    for place in range(max(map(len, choices.values()), default=1)):
        words = [f"{key}={values[min(place, len(values) - 1)]}" for key, values in choices.items()]
        compose(name if name in SCHEMAS else "evaluate", schema, words)


def test_from_zero_to_a_table_in_your_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Every command of the section in its order, with a tiny network in place of the real one.
    section = (
        (ROOT / "README.md")
        .read_text()
        .partition("## From zero to a table in your paper")[2]
        .partition("\n## ")[0]
    )
    lines = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)[0].splitlines()
    monkeypatch.chdir(tmp_path)
    for line in lines:
        words = shlex.split(line)[1:]
        verb, *given = words[2:] if words[0] == "-m" else (words[0].removesuffix(".py"), *words[1:])
        if verb in ("train", "evaluate"):
            given += ["debug=fast", "trainer=cpu", "trainer.progress=false"]
        if verb == "train":
            given.append(f"run=runs/minilm-figqa_sample/{words[1].replace('=', '')}")
        monkeypatch.setattr(sys, "argv", [f"{verb}.py", *given])
        importlib.import_module(f"figlang.commands.{verb}").main()
        assert capsys.readouterr().out, line
    assert {"report.html", "tables", "figures"} <= {path.name for path in (tmp_path / "paper").iterdir()}
    assert (tmp_path / "paper" / "tables" / "comparison.tex").is_file()

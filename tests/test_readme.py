"""The README's commands are real: every value of every one of them composes."""

import re
import shlex
from pathlib import Path

import pytest

from figlang.command import compose
from figlang.config import (
    EvaluateConfig,
    GenerateConfig,
    MiqaTable3Config,
    MunchFiguresConfig,
    MunchGenerateConfig,
    MunchJudgeConfig,
    RateConfig,
    TrainConfig,
)

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
SCHEMAS = {
    "train": TrainConfig,
    "miqa_table3": MiqaTable3Config,
    "munch_judge": MunchJudgeConfig,
    "munch_generate": MunchGenerateConfig,
    "munch_figures": MunchFiguresConfig,
    "generate": GenerateConfig,
    "rate": RateConfig,
}
COMMANDS = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]


def test_the_first_screen_has_a_table_and_the_two_commands() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:40]
    assert sum(line.startswith("|") for line in first) >= 4
    assert {"make train", "make test"} <= set(COMMANDS)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("make ")])
def test_make_targets_exist(command: str) -> None:
    target = shlex.split(command)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("make ")])
def test_commands_compose(command: str) -> None:
    _, script, *arguments = shlex.split(command)
    if script == "-m":
        script, *arguments = arguments
        if script == "figlang.compare":
            return
    several = "-m" in arguments or script == "figlang.transfer"
    given = {key: values for key, _, values in (word.partition("=") for word in arguments if word != "-m")}
    choices = {key: values.split(",") if several else [values] for key, values in given.items()}
    name = script.removeprefix("figlang.").removesuffix(".py")
    schema = SCHEMAS.get(name, EvaluateConfig)  # transfer takes what evaluate.py takes
    for place in range(max(map(len, choices.values()), default=1)):
        words = [f"{key}={values[min(place, len(values) - 1)]}" for key, values in choices.items()]
        compose(name if name in SCHEMAS else "evaluate", schema, words)

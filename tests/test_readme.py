"""The README's commands are real: every value of every one of them composes."""

import re
import shlex
from pathlib import Path

import pytest

from figlang.command import compose
from figlang.config import (
    AverageConfig,
    CompareConfig,
    ContaminationConfig,
    DescribeConfig,
    EvaluateConfig,
    GenerateConfig,
    MergeConfig,
    MiqaTable3Config,
    MunchFiguresConfig,
    MunchGenerateConfig,
    MunchJudgeConfig,
    RateConfig,
    ReleaseConfig,
    ReportConfig,
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
    "merge": MergeConfig,
    "compare": CompareConfig,
    "report": ReportConfig,
    "describe": DescribeConfig,
    "contamination": ContaminationConfig,
    "release": ReleaseConfig,
    "average": AverageConfig,
}
STARTERS = ("python", "torchrun", "srun", "sbatch", "wandb")
COMMANDS = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]


def test_the_first_screen_has_a_table_and_the_two_commands() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:40]
    assert sum(line.startswith("|") for line in first) >= 4
    assert {"make train", "make test"} <= set(COMMANDS)


def test_no_number_is_left_to_be_filled_in() -> None:
    assert re.findall(r"@[A-Z0-9_]+@", (ROOT / "README.md").read_text()) == []


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("make ")])
def test_make_targets_exist(command: str) -> None:
    target = shlex.split(command)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.split()[0] in STARTERS])
def test_commands_compose(command: str) -> None:
    first, *words = shlex.split(command)
    if first == "wandb":
        assert words[0] == "agent" or (ROOT / words[1]).is_file()
        return
    # torchrun's own words come before the script.
    script, *arguments = words[next(place for place, word in enumerate(words) if re.search(r"\.py$|\.sbatch$|^figlang\.", word)) :]
    assert script.startswith("figlang.") or (ROOT / script).is_file()
    several = "-m" in arguments or script == "figlang.transfer"
    if runs := [word for word in arguments if "=" not in word and word != "-m"]:
        arguments = [*(word for word in arguments if "=" in word), f"runs=[{','.join(runs)}]"]
    for word in arguments:
        if word.startswith("hydra.sweeper.file="):
            assert (ROOT / word.partition("=")[2]).is_file()
    ours = [word for word in arguments if word != "-m" and not word.startswith("hydra") and "interval(" not in word]
    given = {key: values for key, _, values in (word.partition("=") for word in ours)}
    choices = {key: values.split(",") if several else [values] for key, values in given.items()}
    name = Path(script.removeprefix("figlang.")).stem
    schema = SCHEMAS.get(name, EvaluateConfig)  # transfer takes what evaluate.py takes
    for place in range(max(map(len, choices.values()), default=1)):
        words = [f"{key}={values[min(place, len(values) - 1)]}" for key, values in choices.items()]
        compose(name if name in SCHEMAS else "evaluate", schema, words)

"""Names for what a command line asks for: of models and data sets that are not quite a preset's, and of the
folders of results."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from figlang.config import (
    DataConfig,
    EvaluateConfig,
    GenerateConfig,
    MiqaTable3Config,
    ModelConfig,
    MunchFiguresConfig,
    MunchGenerateConfig,
    MunchJudgeConfig,
    TrainConfig,
)
from figlang.config.section import plain
from figlang.config.signature import digest
from figlang.errors import FiglangError

# What kind of evaluation a folder holds, where it is no predictions for a split.
KINDS: dict[type, str] = {
    MiqaTable3Config: "table3",
    MunchJudgeConfig: "judgements",
    MunchGenerateConfig: "rankings",
    MunchFiguresConfig: "figures",
    GenerateConfig: "answers",
}
# What of model= is said about a checkpoint too: it is never a checkpoint's own to allow.
ALLOWING = ("model.allow_bin", "model.trust_remote_code")
# Of trainer= what only the Trainer reads: an evaluation runs in the network's own precision, split by
# torchrun.
TRAINING = ("trainer.precision", "trainer.devices", "trainer.nodes", "trainer.strategy")
LONGEST = 120
# What does not belong into a folder's name: it changes no result, or is in the name already.
_UNNAMED = re.compile(
    r"^(data|model|model\.name|model\.name_or_path|seed|run|resume|overwrite|skip_finished|also|blind|trainer|logger)=|^(paths|logger)\."
    r"|^model\.(endpoint|key_env|concurrency|timeout|retries|input_price|output_price|max_cost)="
    r"|^(checkpoint|split|name|output|batch_size|blind|model.allow_bin|model.trust_remote_code)=|^trainer\.(progress|threads)="
)


@dataclass(frozen=True)
class Typed:
    """A command line: its overrides as they were typed, the presets chosen of each group, and whether it is a
    multirun."""

    overrides: tuple[str, ...]
    choices: Mapping[str, str]
    multirun: bool

    @property
    def given(self) -> list[str]:
        """The fields and groups that were typed, by name."""
        return [text.lstrip("+").split("=")[0] for text in self.overrides]


def name(config: TrainConfig | EvaluateConfig, typed: Typed, preset: DataConfig | None) -> None:
    """Fill in the names that were not given; `preset` is what data= chose, needed where data.size= was typed
    beside it and no name.

    Raises FiglangError for what cannot be named, since it would change nothing or be run several times.
    """
    _name_model(config.model, typed.given)
    if preset is not None:
        _name_size(config.data, preset)
    name_data(config.data, typed)
    if isinstance(config, TrainConfig):
        _name_run(config, typed)
    else:
        _name_evaluation(config, typed)


def name_data(data: DataConfig, typed: Typed) -> None:
    """Under debug= a preset's files are the bundled samples, and a report must not call them by the real
    ones' name."""
    if "debug" in typed.choices and data.root and data.root.endswith("samples") and "sample" not in data.name:
        data.name += "_sample"


def _name_model(model: ModelConfig, given: list[str]) -> None:
    # Another source under a preset's name would be reported as the preset's model.
    if "model.name_or_path" in given and "model.name" not in given:
        parts = [part for part in model.name_or_path.removesuffix("/model").split("/") if part]
        if parts:
            model.name = "-".join(parts[-2:] if re.fullmatch(r"seed\d+", parts[-1]) else parts[-1:])
            plain("model.", name=model.name)


def _name_size(data: DataConfig, preset: DataConfig) -> None:
    # Another size under a preset's name would be reported as the preset's.
    if data.size != preset.size:
        data.name += f"-{data.size}"


def _name_run(config: TrainConfig, typed: Typed) -> None:
    # An interrupted multirun is started again by the same command, which then finds some of its runs
    # finished.
    config.skip_finished = config.skip_finished or typed.multirun
    slurm = typed.choices.get("hydra/launcher") == "submitit_slurm"
    if typed.multirun and config.trainer.devices not in ("auto", "1") and not slurm:
        # Each process that Lightning starts would run the whole multirun again.
        raise FiglangError(
            "a multirun (-m) needs trainer.devices=1; start the runs one by one, or by torchrun"
        )
    if config.run is None:
        config.run = str(
            Path(config.paths.runs)
            / _folder(typed, config.model.name, config.data.name)
            / f"seed{config.seed}"
        )


def _name_evaluation(config: EvaluateConfig, typed: Typed) -> None:
    given = typed.given
    idle = next(
        (field for field in given if field.split(".")[0] in ("model", "method") and field not in ALLOWING),
        None,
    )
    if config.checkpoint is not None and idle is not None:
        raise FiglangError(
            f"checkpoint={config.checkpoint} brings its own model and method; leave {idle}= out"
        )
    if trains := next((field for field in given if field.startswith("method") or field in TRAINING), None):
        raise FiglangError(f"{trains}= is for training and changes no evaluation; leave it out")
    if config.name is None:
        config.name = _folder(typed, config.data.name, KINDS.get(type(config), config.split))
        if "model.name_or_path" in given:
            config.name += f"-{digest(config.model.name_or_path)}"  # model.name is only the end of it
        if "model.endpoint" in given:
            config.name += f"-{digest(config.model.endpoint)}"  # an address may hold a key
        if "seed" in given:
            config.name += f"-seed{config.seed}"


def _folder(typed: Typed, *parts: str) -> str:
    whole = "-".join([*parts, *sorted(text for text in typed.overrides if not _UNNAMED.match(text))])
    # Only what neither a shell nor Hydra's grammar reads as syntax: the folder is given back as
    # checkpoint=FOLDER.
    plain = re.sub(r"[^A-Za-z0-9._~-]+", "_", whole)
    # Where more was lost than `=`, other overrides might get the same name.
    told_apart = len(plain) <= LONGEST and re.fullmatch(r"[A-Za-z0-9._~=-]*", whole)
    return plain if told_apart else f"{plain[:LONGEST]}-{digest(whole)}"

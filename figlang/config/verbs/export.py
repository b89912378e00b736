"""The options of `export`."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.prompt import PromptConfig
from figlang.config.groups.scoring import ScoringConfig
from figlang.config.groups.trainer import PathsConfig
from figlang.config.section import SEED, Command, option

TOOLS = ("lm_eval", "inspect")


@dataclass
class ExportConfig(Command):
    """Write the items of data= as a task of another tool: `lm_eval FOLDER` of lm-evaluation-harness, or
    `inspect FOLDER` of inspect_ai."""

    data: DataConfig = field(default_factory=DataConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    tool: str = option(
        "lm_eval",
        "lm_eval: a YAML file whose acc is that of scoring=answer scoring.bos=none, and acc_bytes that with "
        "scoring.norm=byte. inspect: a Python module whose questions are answered by a letter.",
        TOOLS,
    )
    split: str = option("validation", "Split to write.", ("train", "validation", "test"))
    output: str | None = option(None, "Folder of the task. null: a folder below paths.runs.")
    seed: int = option(0, "inspect: seed of the order of the options.", within=SEED)
    paths: PathsConfig = field(default_factory=PathsConfig)

"""The typed schema of every command: plain dataclasses, checked when they are built.

A sentence stands with every field: it is what `--help` prints. `figlang.command` is the door through which
values enter.
"""

from figlang.config.commands import (
    AverageConfig,
    CompareConfig,
    ContaminationConfig,
    DescribeConfig,
    EvaluateConfig,
    MergeConfig,
    MiqaTable3Config,
    MunchFiguresConfig,
    MunchGenerateConfig,
    MunchJudgeConfig,
    ReleaseConfig,
    ReportConfig,
    TrainConfig,
)
from figlang.config.data import DataConfig
from figlang.config.free_text import GenerateConfig, RateConfig
from figlang.config.groups import (
    LoggerConfig,
    MethodConfig,
    ModelConfig,
    NliConfig,
    PathsConfig,
    PeftConfig,
    PromptConfig,
    SamplingConfig,
    ScoringConfig,
    TrainerConfig,
)

__all__ = [
    "AverageConfig",
    "CompareConfig",
    "ContaminationConfig",
    "DataConfig",
    "DescribeConfig",
    "EvaluateConfig",
    "GenerateConfig",
    "LoggerConfig",
    "MergeConfig",
    "MethodConfig",
    "MiqaTable3Config",
    "ModelConfig",
    "MunchFiguresConfig",
    "MunchGenerateConfig",
    "MunchJudgeConfig",
    "NliConfig",
    "PathsConfig",
    "PeftConfig",
    "PromptConfig",
    "RateConfig",
    "ReleaseConfig",
    "ReportConfig",
    "SamplingConfig",
    "ScoringConfig",
    "TrainConfig",
    "TrainerConfig",
]

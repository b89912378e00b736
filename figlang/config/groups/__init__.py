"""The groups of options: model, method, scoring, prompt and others."""

from figlang.config.groups.columns import ColumnsConfig
from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.peft import PeftConfig
from figlang.config.groups.prompt import PromptConfig
from figlang.config.groups.protocol import ProtocolConfig
from figlang.config.groups.sampling import SamplingConfig
from figlang.config.groups.scoring import NliConfig, ScoringConfig
from figlang.config.groups.trainer import LoggerConfig, PathsConfig, TrainerConfig

__all__ = [
    "ColumnsConfig",
    "LoggerConfig",
    "MethodConfig",
    "ModelConfig",
    "NliConfig",
    "PathsConfig",
    "PeftConfig",
    "PromptConfig",
    "ProtocolConfig",
    "SamplingConfig",
    "ScoringConfig",
    "TrainerConfig",
]

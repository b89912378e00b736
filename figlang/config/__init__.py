"""The typed schema of every command: plain dataclasses, checked when they are built.

Every field has a sentence, which `--help` prints. Values enter through `figlang.config.entry`.
"""

from figlang.config.data import DataConfig, settings_of_data
from figlang.config.groups.columns import ColumnsConfig
from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.peft import PeftConfig
from figlang.config.groups.prompt import PromptConfig
from figlang.config.groups.protocol import ProtocolConfig
from figlang.config.groups.sampling import SamplingConfig
from figlang.config.groups.scoring import NliConfig, ScoringConfig
from figlang.config.groups.trainer import LoggerConfig, PathsConfig, TrainerConfig
from figlang.config.verbs.average import AverageConfig
from figlang.config.verbs.combine import CombineConfig
from figlang.config.verbs.compare import CompareConfig
from figlang.config.verbs.contamination import ContaminationConfig
from figlang.config.verbs.create import CreateConfig
from figlang.config.verbs.describe import DescribeConfig
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.find_lr import FindLrConfig
from figlang.config.verbs.generate import GenerateConfig
from figlang.config.verbs.judge import JudgeConfig
from figlang.config.verbs.merge import MergeConfig
from figlang.config.verbs.rate import RateConfig, RateServeConfig, SheetConfig
from figlang.config.verbs.release import ReleaseConfig
from figlang.config.verbs.report import ReportConfig
from figlang.config.verbs.reproduce import RankingConfig, ReproduceConfig
from figlang.config.verbs.sensitivity import SensitivityConfig
from figlang.config.verbs.sweep import SweepConfig
from figlang.config.verbs.train import TrainConfig

__all__ = [
    "AverageConfig",
    "ColumnsConfig",
    "CombineConfig",
    "CompareConfig",
    "ContaminationConfig",
    "CreateConfig",
    "DataConfig",
    "DescribeConfig",
    "EvaluateConfig",
    "FindLrConfig",
    "GenerateConfig",
    "JudgeConfig",
    "LoggerConfig",
    "MergeConfig",
    "MethodConfig",
    "ModelConfig",
    "NliConfig",
    "PathsConfig",
    "PeftConfig",
    "PromptConfig",
    "ProtocolConfig",
    "RankingConfig",
    "RateConfig",
    "RateServeConfig",
    "ReleaseConfig",
    "ReportConfig",
    "ReproduceConfig",
    "SamplingConfig",
    "ScoringConfig",
    "SensitivityConfig",
    "SheetConfig",
    "SweepConfig",
    "TrainConfig",
    "TrainerConfig",
    "settings_of_data",
]

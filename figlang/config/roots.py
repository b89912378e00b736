"""What each verb begins with: its options and the presets of its groups, in one table.

Hydra finds them as root configurations; there is no YAML file for a verb.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore

from figlang.config.verbs.average import AverageConfig
from figlang.config.verbs.compare import CompareConfig
from figlang.config.verbs.contamination import ContaminationConfig
from figlang.config.verbs.describe import DescribeConfig
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.generate import GenerateConfig
from figlang.config.verbs.merge import MergeConfig
from figlang.config.verbs.rate import RateConfig
from figlang.config.verbs.release import ReleaseConfig
from figlang.config.verbs.report import ReportConfig
from figlang.config.verbs.reproduce import (
    MiqaTable3Config,
    MunchFiguresConfig,
    MunchGenerateConfig,
    MunchJudgeConfig,
)
from figlang.config.verbs.train import TrainConfig


@dataclass(frozen=True)
class Root:
    """A verb's options and the preset of each group, null for none. A later group overrides an earlier
    one."""

    schema: type
    presets: Mapping[str, str | None] = field(default_factory=dict)
    together: bool = False
    """Whether several values of an option are one command, not a run each."""

    @property
    def repeats(self) -> bool:
        """Whether the verb takes experiment=, debug= and several values (-m)."""
        return issubclass(self.schema, TrainConfig | EvaluateConfig)


# `method` of an evaluation is what the checkpoint was trained by; the preset only fills the group.
_ASKED = {"method": "contrastive", "scoring": None}

_EVALUATED = {"data": "figqa_sample", **_ASKED, "prompt": "none", "model": "minilm", "trainer": "auto"}

ROOTS: Mapping[str, Root] = {
    # A small encoder that a package carries, on the bundled sample. `model` comes after what its presets
    # override.
    "train": Root(
        TrainConfig,
        {
            "data": "figqa_sample",
            "scoring": "answer",
            "method": "contrastive",
            "peft": "none",
            "model": "minilm",
            "trainer": "auto",
            "logger": "csv",
        },
    ),
    "evaluate": Root(EvaluateConfig, _EVALUATED),
    "transfer": Root(EvaluateConfig, _EVALUATED, together=True),
    "generate": Root(
        GenerateConfig,
        {
            "data": "miqa",
            **_ASKED,
            "prompt": "none",
            "sampling": "greedy",
            "model": "smollm2",
            "trainer": "auto",
        },
    ),
    "miqa_table3": Root(
        MiqaTable3Config,
        {"data": "miqa", **_ASKED, "prompt": "miqa_qa", "model": "smollm2", "trainer": "auto"},
    ),
    "munch_judge": Root(
        MunchJudgeConfig,
        {"data": "munch", **_ASKED, "prompt": "munch", "model": "smollm2", "trainer": "auto"},
    ),
    "munch_generate": Root(
        MunchGenerateConfig,
        {"data": "munch_generation", **_ASKED, "prompt": "none", "model": "smollm2", "trainer": "auto"},
    ),
    "munch_figures": Root(
        MunchFiguresConfig,
        {"data": "munch", **_ASKED, "prompt": "none", "model": "smollm2", "trainer": "auto"},
    ),
    # The scores of bundled items are compared.
    "merge": Root(MergeConfig, {"data": "figqa_sample", "trainer": "auto"}),
    "compare": Root(CompareConfig),
    "report": Root(ReportConfig, {"data": None}),
    "rate": Root(RateConfig),
    "describe": Root(DescribeConfig, {"data": "figqa_medium"}),
    "contamination": Root(ContaminationConfig, {"data": "figqa_large"}),
    "release": Root(ReleaseConfig, {"trainer": "auto"}),
    "average": Root(AverageConfig, {"trainer": "auto"}),
}


def stored(verb: str) -> str:
    """The name by which Hydra finds the root of a verb; no file in a user's `--config-dir` has it."""
    return f"figlang_{verb}"


def _as_read(schema: str, root: Root) -> dict[str, Any]:
    """A root configuration as if Hydra had read it from a YAML file."""
    defaults: list[Any] = [schema, *({group: preset} for group, preset in root.presets.items())]
    # figlang names its own run folders (without time stamps, so that a run can be found and resumed) and
    # changes no directory.
    settings: dict[str, Any] = {"output_subdir": None, "job": {"chdir": False}, "run": {"dir": "."}}
    if root.repeats:
        defaults += [{"experiment": None}, {"debug": None}]
        settings["sweep"] = {"dir": "${paths.runs}/.multirun", "subdir": "."}
    defaults += ["_self_", {"override hydra/job_logging": "none"}, {"override hydra/hydra_logging": "none"}]
    content: dict[str, Any] = {"defaults": defaults, "hydra": settings}
    if "paths" in {spec.name for spec in fields(root.schema)}:
        content["paths"] = {"data": "${oc.env:FIGLANG_DATA,null}"}
    return content


for _verb, _root in ROOTS.items():
    ConfigStore.instance().store(name=f"{stored(_verb)}_schema", node=_root.schema)
    ConfigStore.instance().store(name=stored(_verb), node=_as_read(f"{stored(_verb)}_schema", _root))

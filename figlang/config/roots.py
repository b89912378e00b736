"""The options of each verb, and the default presets of its groups, in one table.

Hydra finds them as root configurations; there is no YAML file for a verb. A root is given to Hydra when its
verb is chosen, since that takes a hundredth of a second for each.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from hydra.core.config_store import ConfigStore

from figlang.config.presets import DEFAULTS
from figlang.config.verbs.average import AverageConfig
from figlang.config.verbs.combine import CombineConfig
from figlang.config.verbs.compare import CompareConfig
from figlang.config.verbs.completion import CompletionConfig
from figlang.config.verbs.contamination import ContaminationConfig
from figlang.config.verbs.create import CreateConfig
from figlang.config.verbs.describe import DescribeConfig
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.export import ExportConfig
from figlang.config.verbs.find_lr import FindLrConfig
from figlang.config.verbs.generate import GenerateConfig
from figlang.config.verbs.judge import JudgeConfig
from figlang.config.verbs.merge import MergeConfig
from figlang.config.verbs.models import ModelsConfig
from figlang.config.verbs.push import PushConfig
from figlang.config.verbs.rate import RateConfig, RateServeConfig
from figlang.config.verbs.release import ReleaseConfig
from figlang.config.verbs.report import ReportConfig
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.config.verbs.sensitivity import SensitivityConfig
from figlang.config.verbs.sweep import SweepConfig
from figlang.config.verbs.tasks import TasksConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError


@dataclass(frozen=True)
class Root:
    """A verb's options and the preset of each group, null for none. A later group overrides an earlier
    one."""

    schema: type
    presets: Mapping[str, str | None] = field(default_factory=dict)
    together: bool = False
    """Whether one command gets all values of an option. If not, each value is a run."""
    about: str | None = None
    """What the help says of the verb, if that is not the docstring of its options."""
    tables: str | None = None
    """The module whose `reproduced` gives the options and presets of each `table=`; they are in the
    benchmark's folder, since figlang.config does not depend on benchmarks."""

    @property
    def repeats(self) -> bool:
        """Whether the verb takes experiment=, debug= and several values (-m)."""
        return issubclass(self.schema, TrainConfig | EvaluateConfig)

    @property
    def said(self) -> str:
        """What the help says of the verb, in one line."""
        return " ".join((self.about or self.schema.__doc__ or "").split())


# `method` of an evaluation is what the checkpoint was trained by; the preset only fills the group.
_ASKED = {"method": "contrastive", "scoring": None, "protocol": None}

_EVALUATED = {"data": DEFAULTS.small, **_ASKED, "prompt": "none", "model": "minilm", "trainer": "auto"}

# A small encoder that a package carries, on the bundled sample. `model` comes after what its presets
# override.
_TRAINED = {
    **{"data": DEFAULTS.small, "scoring": "answer", "method": "contrastive", "peft": "none"},
    **{"model": "minilm", "trainer": "auto", "logger": "csv"},
}

ROOTS: Mapping[str, Root] = {
    "train": Root(TrainConfig, _TRAINED),
    "find_lr": Root(FindLrConfig, _TRAINED),
    "evaluate": Root(EvaluateConfig, _EVALUATED),
    "transfer": Root(
        EvaluateConfig,
        _EVALUATED,
        together=True,
        about="Evaluate several checkpoints or models on several data sets, as one table and a heat map.",
    ),
    "sensitivity": Root(SensitivityConfig, {**_EVALUATED, "model": "smollm2"}),
    "generate": Root(
        GenerateConfig,
        {
            "data": DEFAULTS.asked,
            **_ASKED,
            "prompt": "none",
            "sampling": "greedy",
            "model": "smollm2",
            "trainer": "auto",
        },
    ),
    "reproduce": Root(ReproduceConfig, _EVALUATED, tables="figlang.tasks.registry"),
    # The bundled items are compared.
    "merge": Root(MergeConfig, {"data": DEFAULTS.small, "trainer": "auto"}),
    "compare": Root(CompareConfig),
    "combine": Root(CombineConfig),
    "report": Root(ReportConfig, {"data": None}),
    "sweep": Root(SweepConfig),
    "rate": Root(RateConfig),
    "rate serve": Root(RateServeConfig, {"data": None}),
    "judge": Root(JudgeConfig, {"method": "contrastive", "model": None, "trainer": "auto"}),
    "create": Root(CreateConfig, {"method": "contrastive", "model": None, "trainer": "auto"}),
    "describe": Root(DescribeConfig, {"data": DEFAULTS.described}),
    "contamination": Root(ContaminationConfig, {"data": DEFAULTS.searched}),
    "export": Root(ExportConfig, {"data": DEFAULTS.small, "prompt": "none", "scoring": "answer"}),
    "release": Root(ReleaseConfig, {"trainer": "auto"}),
    "average": Root(AverageConfig, {"trainer": "auto"}),
    "tasks": Root(TasksConfig),
    "push": Root(PushConfig),
    "models": Root(ModelsConfig),
    "completion": Root(CompletionConfig),
}


def stored(verb: str) -> str:
    """The name by which Hydra finds the root of a verb. It differs from all files in a user's
    `--config-dir`."""
    return f"figlang_{verb.replace(' ', '_')}"


def chosen(verb: str, words: Sequence[str]) -> tuple[str, Root]:
    """The root of a command line.

    Args:
        verb: A verb of `ROOTS`.
        words: The words after the verb. `table=` among them can choose another root.

    Returns:
        The name by which Hydra finds it, and the root.

    Raises:
        FiglangError: There is no such table, or none is given.
    """
    root = ROOTS[verb]
    if root.tables is None:
        return _store(verb, root)
    known = tables_of(root, _last("paths.tasks", words))
    if (name := _last("table", words)) is None:
        raise FiglangError(f"give table=NAME, one of {', '.join(known)}")
    if name not in known:
        meant = suggestion(name, known)
        raise FiglangError(f"table={name} is not a table; {meant}choose one of {', '.join(known)}")
    # Settings that the preset of a table leaves open are those of every causal model.
    presets = {**root.presets, "model": "smollm2", **known[name].presets}
    return _store(f"{verb}_{name}", Root(known[name].options, presets))


def tables_of(root: Root, folder: str | None = None) -> Mapping[str, Any]:
    """The tables of a verb by name, each with its `options` and `presets`.

    Args:
        root: The verb.
        folder: The folder of tasks of one's own; None if there is none.
    """
    known: Mapping[str, Any] = import_module(str(root.tables)).reproduced(folder)
    return known


def _last(key: str, words: Sequence[str]) -> str | None:
    """The value of an option that is needed before the command line is read; None if it is not given."""
    given = [word.partition("=")[2] for word in words if word.startswith(f"{key}=")]
    return given[-1] if given else None


_GIVEN: dict[str, Root] = {}  # what Hydra has, by name


def _store(verb: str, root: Root) -> tuple[str, Root]:
    name = stored(verb)
    if _GIVEN.get(name) != root:
        store = ConfigStore.instance()
        store.store(name=f"{name}_schema", node=root.schema)
        store.store(name=name, node=_as_read(f"{name}_schema", root))
        _GIVEN[name] = root
    return name, root


def _itself(store: ConfigStore, memo: dict[int, Any]) -> ConfigStore:
    """The copy of Hydra's store: the store.

    Hydra copies it for every composition and changes nothing in the copy. A copy of all that is in it takes
    a third of the composition. What is read from the store is copied all the same.
    """
    return store


ConfigStore.__deepcopy__ = _itself  # type: ignore[attr-defined]


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


def suggestion(name: str, known: Collection[str]) -> str:
    """The question whether a known name was meant, with a space behind it; empty if none is near."""
    return "".join(f"did you mean {close}? " for close in get_close_matches(name, known, n=1))

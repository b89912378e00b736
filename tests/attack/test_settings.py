"""Settings that make no sense: every number, every choice and every group of every command, and accidents of
Hydra's grammar."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from figlang import config as schemas
from figlang.config.section import Command, Section
from figlang.config.verbs.export import ExportConfig
from figlang.config.verbs.sensitivity import SensitivityConfig
from tests.attack.attacker import MODULES, Attack, cases, check
from tests.processes import preload
from tests.reproducing import OPTIONS

NUMBERS = ("-1", "0", "nan", "inf", "1e30", "word")
# What a command has to be given before anything else is looked at.
NEEDED = {
    "compare": ("runs=[a,b]",),
    "combine": ("runs=[a,b]", "output=c"),
    "average": ("runs=[a,b]", "output=c"),
    "merge": ("checkpoint=a", "output=b"),
    "release": ("run=a", "name=b"),
    "rate": ("runs=[a]",),
    "rate_serve": ("runs=[a]", "raters=[ann]"),
    "export": ("data=figqa_sample", "tool=inspect"),
    "sensitivity": ("protocol=letter",),
    "report": ("runs=[a]",),
}
SCHEMAS = {
    "train": schemas.TrainConfig,
    "evaluate": schemas.EvaluateConfig,
    "generate": schemas.GenerateConfig,
    **OPTIONS,
    "find_lr": schemas.FindLrConfig,
    "describe": schemas.DescribeConfig,
    "contamination": schemas.ContaminationConfig,
    "compare": schemas.CompareConfig,
    "combine": schemas.CombineConfig,
    "report": schemas.ReportConfig,
    "rate": schemas.RateConfig,
    "rate_serve": schemas.RateServeConfig,
    "export": ExportConfig,
    "sensitivity": SensitivityConfig,
    "judge": schemas.JudgeConfig,
    "merge": schemas.MergeConfig,
    "average": schemas.AverageConfig,
    "release": schemas.ReleaseConfig,
}


def settings() -> Iterator[tuple[str, str, Any, str]]:
    """Each field once: the command, its name on the command line, itself and its type. A group is taken from
    one command."""
    seen = set()
    for command, schema in SCHEMAS.items():
        for name, spec, owner, kind in _fields(schema, ""):
            if owner not in seen or issubclass(owner, Command):
                yield command, name, spec, kind
        seen |= {owner for _, _, owner, _ in _fields(schema, "")}


def _fields(schema: Any, prefix: str) -> Iterator[tuple[str, Any, type, str]]:
    hints = get_type_hints(schema)
    for spec in fields(schema):
        group = next(
            (one for one in (hints[spec.name], *get_args(hints[spec.name])) if is_dataclass(one)), None
        )
        if group is not None:
            yield from _fields(group, f"{prefix}{spec.name}.")
        elif not prefix or not issubclass(schema, Command):
            yield f"{prefix}{spec.name}", spec, schema, str(hints[spec.name])


def _words(command: str, name: str, value: str) -> tuple[str, ...]:
    preset = ("scoring=clean",) if name.startswith("scoring.") and command != "train" else ()
    return (*NEEDED.get(command, ()), *preset, f"{name}={value}")


def numbers() -> Iterator[Attack]:
    for command, name, spec, kind in settings():
        if ("int" not in kind and "float" not in kind) or name == "data.mix" or spec.metadata["choices"]:
            continue
        listed = "list" in kind
        for value in NUMBERS:
            if value in ("-1", "0") and spec.metadata["within"].fault(int(value)) is None:
                continue
            given = f"[{value}]" if listed else value
            yield Attack(
                f"{command}-{name}={value}", command, _words(command, name, given), rf"(^|\b){name}\b|{name}="
            )


def choices() -> Iterator[Attack]:
    for command, name, spec, _ in settings():
        if spec.metadata["choices"] and name != "ddof":
            yield Attack(f"{command}-{name}", command, _words(command, name, "lowd"), name)


def keys() -> Iterator[Attack]:
    seen: set[str] = set()
    for command, schema in SCHEMAS.items():
        needed = NEEDED.get(command, ())
        yield Attack(f"{command}-nonsense", command, (*needed, "nonsense=1"), "nonsense")
        for group in [spec.name for spec in fields(schema) if _is_group(schema, spec.name)]:
            if group not in seen:
                preset = ("scoring=clean",) if group == "scoring" and command != "train" else ()
                yield Attack(
                    f"{command}-{group}.nonsense",
                    command,
                    (*needed, *preset, f"{group}.nonsense=1"),
                    "nonsense",
                )
                yield Attack(f"{command}-{group}=nonsense", command, (*needed, f"{group}=nonsense"), group)
            seen.add(group)


def _is_group(schema: Any, name: str) -> bool:
    hint = get_type_hints(schema)[name]
    return any(isinstance(one, type) and issubclass(one, Section) for one in (hint, *get_args(hint)))


# A word of the command line as somebody may type it, and what the error has to name; None where it is taken.
ACCIDENTS: dict[str, str | None] = {
    "data=": "data",
    "=x": "=x",
    "=": "=",
    "data.limit": "data.limit",
    "data.limit=": "data.limit",
    "data.limit=5 6": "data.limit",
    "data.limit=5,6": "data.limit",
    "data.limit=[5": "data.limit",
    "data.limit={5": "data.limit",
    "data.limit=range(3": "data.limit",
    "data.limit=1_0x": "data.limit",
    "data.limit=${nothing}": "nothing",
    "data.limit=${oc.env:NO_SUCH_VARIABLE}": "NO_SUCH_VARIABLE",
    "data.limit=${": "data.limit",
    "data.limit=${data.limit}": "data.limit|recurs",
    "data.limit=???": "data.limit",
    "data.limit=true": "data.limit",
    "data.limit=1.5": "data.limit",
    "data.limit.x=1": "data.limit",
    "data.limit[0]=1": "data.limit",
    "data..limit=1": "data..limit",
    ".data.limit=1": "data.limit",
    "data/limit=1": "data/limit",
    "data@limit=miqa": "data@limit",
    "data=miqa data=figqa_sample": None,
    "data=[miqa,figqa_sample]": "data",
    "data={name:x}": "data",
    "data=null": "data",
    "model=null": "model",
    "data=../../../etc/passwd": "passwd",
    "data=figqa_sample.yaml": None,
    "data=figqa_sampel": "did you mean figqa_sample",
    "data=figqa sample": "data",
    "model=minilm,gpt2": "model",
    "~data": "data",
    "~model.name": "model.name",
    "+data=figqa_sample": "data",
    "model.name='x": "model.name",
    'model.name="x': "model.name",
    "model.name=a=b=[": "model.name",
    "model.name=": "model.name",
    "model.name=null": "model.name",
    "model.name=a/b": "model.name",
    "model.name=[a]": "model.name",
    "model.name={a:b}": "model.name",
    "model.name=x\ny": "model.name",
    "model.name=\x1b[31mx": "model.name",
    f"model.name={'x' * 10_000}": "model.name",
    f"{'x' * 300}=1": "xxx",
    "seed=99999999999999999999": "seed",
    "seed=null": "seed",
    "seed=0x": "seed",
    "seed=0.0.0": "seed",
    "seed=0,": "seed",
    "trainer=cpus": "did you mean cpu",
    "trainer.devices=0": "trainer.devices",
    "trainer.devices=-1": "trainer.devices",
    "trainer.devices=two": "trainer.devices",
    "trainer.devices=²": "trainer.devices",
    f"trainer.devices={'9' * 400}": "trainer.devices",
    **{f"method.accumulate={value}": "method.accumulate" for value in ("0", "-1", "1.5", "²", "9" * 400)},
    "method.accumulate=[auto]": "method.accumulate",
    "method.batch_size=autos": "method.batch_size",
    "method.batch_size=auto method.accumulate=2": "method.accumulate",
    "method.batch_size=4 method.accumulate=5": "method.accumulate",
    "method.optimizer=adam": "method.optimizer",
    "method.schedule=[wsd]": "method.schedule",
    "method.schedule=wsd method.decay=2": "method.decay",
    "method.optimizer=schedule_free": "method.schedule|schedulefree|figlang",
    "method.ema=1.5": "method.ema",
    "method.anchor=lm": "method.anchor",
    "method.anchor=everything": "method.anchor",
    "method.anchor=kl method.anchor_texts=0": "method.anchor_texts",
    "peft=lora peft.r=99999999999999999999": "peft.r",
    "epoch=best": "epoch",
    "trainer.progress=maybe": "trainer.progress",
    "trainer.threads=two": "trainer.threads",
    "also=miqa": None,
    "also=[nothing]": "nothing",
    "also=[[miqa]]": "also",
    "also=[null]": "also",
    "run=[a]": "run",
    "experiment=nothing": "nothing",
    "experiment=[]": "experiment",
    "debug=slow": "slow",
    "peft=loar": "did you mean lora",
    "peft.r=8": "peft.r",
    "peft.target_modules=[]": "peft.target_modules",
    "peft.target_modules=7": "peft.target_modules",
    "peft.target_modules=[[a]]": "peft.target_modules",
    "data.mix={figqa:1}": "data.mix",
    "data.mix=[1]": "data.mix",
    "data.mix.figqa=x": "data.mix",
    "nli.labels=entailment": "nli.labels",
    "data.train=x.csv": "data.train",
    "data.test_labels=x.csv": "x.csv",
    "data.root=package:": "package:",
    "data.root=package:no_such_package/x": "no_such_package",
    "data.root=package:figlang/../../etc": "leads out",
    "data.root=nowhere": "nowhere",
    "paths.data=nowhere": None,
    "model.name_or_path=": None,
    "model.device_map=auto": "model.device_map",
    "model.quantization=8bit": "model.quantization",
    "model.endpoint=http://localhost:1": "model.endpoint",
    "model.key_env=sk-123": "model.key_env",
    "model.max_cost=1": "model.max_cost",
    "scoring.template={answer": "scoring.template",
    "scoring.template={answer}{answer}": "scoring.template",
    "scoring.template={a.__class__}{answer}": "scoring.template",
    "scoring.masking=within_word_l2r": "scoring.masking",
    "hydra/launcher=nothing": "hydra/launcher",
    "hydra.nothing=1": "nothing",
    "--nothing": "nothing",
    "-x": "-x",
    "--config-name=nothing": "nothing",
    "--config-dir=nowhere": "nowhere",
    "runs=[a]": "runs",
    "é=1": "é",
    "a b": "a b",
    "*": r"\*",
    "\\": r"\\",
    "'": "'",
    "seed =1": "seed",
    " seed=1": "seed",
    "seed:1": "seed",
    "seed==1": "seed",
    "-seed=1": "seed",
    "seed=$(id)": "seed",
    "seed=`id`": "seed",
    "-m seed=0,word": "seed",
    "-m seed=range(0)": None,
    "-m data=figqa_sample,nothing": "nothing",
    "-m seed=choice()": "seed",
    "-m seed=range(3,1)": None,
    "-m": None,
    "-m seed=0,1 method.lr=-1": "method.lr",
    "_wandb={'cli_version':'1'} data={'name':'nothing'}": None,
    "_wandb={'cli_version':'1'} seed=word": "seed",
    "_wandb=1 nonsense=2": "nonsense|_wandb",
    "+nonsense=1": "nonsense",
    "++nonsense=1": "nonsense",
    "~nonsense": "nonsense",
    "_target_=os.system": "_target_",
    "+model._target_=os.system": "_target_",
    "model._target_=os.system": "_target_",
}
# Served models: settings that no endpoint can be asked with.
SERVED: dict[str, str] = {
    "": "model.endpoint",
    "model.endpoint=": "model.endpoint",
    "model.endpoint=nonsense": "model.endpoint",
    "model.endpoint=ftp://localhost/v1": "model.endpoint",
    "model.endpoint=http://": "model.endpoint",
    "model.endpoint=http://localhost:99999/v1": "model.endpoint",
    "model.endpoint=http://localhost:port/v1": "model.endpoint",
    "model.endpoint=http://user:PW@localhost/v1": "model.endpoint",
    "model.endpoint=http://localhost/v1?key=x": "model.endpoint",
    "model.endpoint=file:///etc/passwd": "model.endpoint",
    "model.endpoint=http://[::1/v1": "model.endpoint",
    "model.endpoint=[a]": "model.endpoint",
}


def accidents() -> Iterator[Attack]:
    for place, (word, says) in enumerate(ACCIDENTS.items()):
        words = (
            tuple(word.split())
            if word.startswith(("data=miqa ", "-m", "_wandb", "method.", "peft=lora "))
            else (word,)
        )
        yield Attack(f"{place}-{word[:40]!r}", "train", ("debug=fast", *words), says)
    for word, says in SERVED.items():
        yield Attack(
            f"served-{word}", "evaluate", ("model=served", "model.name=x", *filter(None, [word])), says
        )


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    preload(*MODULES)


@pytest.mark.parametrize("attack", cases(numbers(), every=60))
def test_a_number(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)


@pytest.mark.parametrize("attack", cases(choices(), every=60))
def test_a_choice(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)


@pytest.mark.parametrize("attack", cases(keys(), every=60))
def test_a_key(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)


@pytest.mark.parametrize("attack", cases(accidents(), every=60))
def test_an_accident(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)

"""The one door through which a configuration enters: Hydra's command line, help, and errors for people.

Only this file imports hydra and omegaconf. Hydra composes; `resolve` turns the result into the plain
dataclasses of `figlang.config`.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar, cast

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from figlang import config as schemas
from figlang.config import (
    AverageConfig,
    CompareConfig,
    ContaminationConfig,
    DataConfig,
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
    naming,
    typed,
)
from figlang.config.section import Command
from figlang.config.usage import print_help
from figlang.errors import INTERRUPTED, FiglangError
from figlang.files.redaction import nothing_secret_said
from figlang.machine.faults import explain
from figlang.machine.printing import printable

CONF = Path(__file__).resolve().parents[2] / "conf"
T = TypeVar("T")

_store = ConfigStore.instance()
_store.store(name="train_schema", node=TrainConfig)
_store.store(name="evaluate_schema", node=EvaluateConfig)
_store.store(name="miqa_table3_schema", node=MiqaTable3Config)
_store.store(name="munch_judge_schema", node=MunchJudgeConfig)
_store.store(name="munch_generate_schema", node=MunchGenerateConfig)
_store.store(name="munch_figures_schema", node=MunchFiguresConfig)
_store.store(name="generate_schema", node=GenerateConfig)
_store.store(name="rate_schema", node=RateConfig)
_store.store(name="merge_schema", node=MergeConfig)
_store.store(name="compare_schema", node=CompareConfig)
_store.store(name="report_schema", node=ReportConfig)
_store.store(name="describe_schema", node=DescribeConfig)
_store.store(name="contamination_schema", node=ContaminationConfig)
_store.store(name="release_schema", node=ReleaseConfig)
_store.store(name="average_schema", node=AverageConfig)


def resolve(config: DictConfig, schema: type[T]) -> T:
    """Plain dataclasses from a composed configuration.

    Merging into a fresh schema is what makes a key added with `+` an error: Hydra alone would accept and drop
    it.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    return cast(T, OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema), plain)))


def to_yaml(config: Any) -> str:
    """A configuration as YAML text."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def compose(name: str, schema: type[T], overrides: list[str]) -> T:
    """A configuration as a command line with these overrides would get it."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return resolve(hydra.compose(name, overrides), schema)


def data_presets(names: Sequence[str], like: DataConfig | None = None) -> list[DataConfig]:
    """Presets of data= by name; with `like`, in its folder, with its limit, and with its draws: what it holds
    out is held out.

    Raises FiglangError for a name that there is none of.
    """
    files = {path.stem: path for path in (CONF / "data").glob("*.yaml")}
    if unknown := [name for name in names if name not in files]:
        raise FiglangError(f"{unknown[0]!r} is no preset of data=; choose some of {', '.join(sorted(files))}")
    merged = (
        OmegaConf.merge(OmegaConf.structured(DataConfig), OmegaConf.load(files[name])) for name in names
    )
    found = [cast(DataConfig, OmegaConf.to_object(one)) for one in merged]
    if like is not None:
        found = [
            replace(one, root=like.root, limit=like.limit, seed=like.seed, held_out=like.held_out)
            for one in found
        ]
        for one in found:
            naming.name_data(one, _typed())
    return found


@dataclass(frozen=True)
class Combination(Generic[T]):
    """One configuration of a grid; `choices` are the overrides that made it: several values, and names of
    networks."""

    config: T
    choices: tuple[str, ...]

    def but(self, key: str) -> str:
        """What tells it from other combinations, `key` aside."""
        return " ".join(text for text in self.choices if not text.startswith(f"{key}="))


def combinations(name: str, schema: type[T], words: list[str]) -> list[Combination[T]]:
    """Every combination of overrides with several values, for example `data=figqa_medium,snli`, as a multirun
    would run them.

    What `checkpoint=` and what `model=` name are different networks, so that with both the combinations are
    those of each.
    """
    if any(word.startswith("checkpoint=") for word in words) and any(
        word.startswith("model=") for word in words
    ):
        chooses = [word for word in words if word.startswith(("model=", "model."))]
        about_model = [word for word in chooses if word.split("=")[0] not in naming.ALLOWING]
        trained = [word for word in words if word not in about_model]
        untrained = [word for word in words if not word.startswith("checkpoint=")]
        return [
            *_combinations(name, schema, trained, "checkpoint"),
            *_combinations(name, schema, untrained, "model"),
        ]
    return _combinations(name, schema, words)


def _combinations(name: str, schema: type[T], words: list[str], kind: str = "") -> list[Combination[T]]:
    """Combinations of several values; the option `kind` is one of the choices even with a single value."""
    overrides = OverridesParser.create().parse_overrides(words)

    def varied(override: Override) -> bool:
        return bool(override.is_sweep_override() or override.get_key_element() == kind)

    fixed = [str(override.input_line) for override in overrides if not varied(override)]
    swept = [
        [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
        if override.is_sweep_override()
        else [str(override.input_line)]
        for override in overrides
        if varied(override)
    ]
    found = []
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        for choices in dict.fromkeys(product(*swept)):  # a value given twice is one
            composed = hydra.compose(name, [*fixed, *choices], return_hydra_config=True)
            HydraConfig.instance().set_config(composed)
            with open_dict(composed):
                del composed["hydra"]
            found.append(Combination(_named(composed, schema), choices))
    return found


@contextmanager
def _door() -> Iterator[None]:
    """What every command is entered by: secrets are never said, and Ctrl-C is one word (a fit says by itself
    where it goes on)."""
    with nothing_secret_said():
        try:
            yield
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            raise SystemExit(INTERRUPTED) from None


def grid(
    name: str, schema: type[T]
) -> Callable[[Callable[[list[Combination[T]]], None]], Callable[[], None]]:
    """Turn `task(combinations)` into a command that takes several values for an option, as a multirun does,
    but all at once."""

    def decorate(task: Callable[[list[Combination[T]]], None]) -> Callable[[], None]:
        @_door()
        def main() -> None:
            if {"--help", "-h"} & set(sys.argv[1:]):
                print_help(schema, CONF)
                return
            logging.basicConfig(level=logging.INFO, format="%(message)s")
            try:
                words = _words(schema, sys.argv[1:])
                task(combinations(name, schema, [word for word in words if word not in ("-m", "--multirun")]))
            except (HydraException, OmegaConfBaseException, FiglangError) as error:
                _fail(error)
            except (OSError, MemoryError, RuntimeError) as error:
                _refused(error, training=False)

        return main

    return decorate


def entry(name: str, schema: type[T]) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Turn `task(config)` into a command: Hydra's command line, our help, errors of one line with exit code
    2."""

    def decorate(task: Callable[[T], None]) -> Callable[[], None]:
        entered = False

        def job(composed: DictConfig) -> str | None:
            nonlocal entered
            entered = True
            with nothing_secret_said():  # again, since submitit's jobs begin here
                logging.basicConfig(level=logging.INFO, format="%(message)s")
                return work(composed)

        def work(composed: DictConfig) -> str | None:
            config = None
            try:
                config = _named(composed, schema)
                task(config)
                return (
                    config.run if isinstance(config, TrainConfig) else None
                )  # where a sweeper finds what came of it
            except (FiglangError, OmegaConfBaseException) as error:
                _fail(error)
            except (OSError, MemoryError, RuntimeError) as error:
                _refused(error, schema is TrainConfig, getattr(config, "run", None))

        @_door()
        def main() -> None:
            if {"--help", "-h"} & set(sys.argv[1:]):
                print_help(schema, CONF)
                return
            # Hydra's parser takes overrides in one run of words only: `model=minilm -m seed=0,1` would fail.
            logging.basicConfig(level=logging.INFO, format="%(message)s")
            try:
                sys.argv[1:] = sorted(
                    _words(schema, sys.argv[1:]), key=lambda word: word not in ("-m", "--multirun")
                )
            except FiglangError as error:
                _fail(error)
            # Hydra's own reporting prints several lines and exits with 1; with this set, its errors reach us.
            traceback_wanted = os.environ.get("HYDRA_FULL_ERROR")
            os.environ["HYDRA_FULL_ERROR"] = "1"
            try:
                hydra.main(config_path=str(CONF), config_name=name, version_base="1.3")(job)()
            except (HydraException, OmegaConfBaseException, FiglangError) as error:
                if traceback_wanted:
                    raise
                _fail(error)
            except RuntimeError as error:
                if type(error).__module__.split(".")[0] != "submitit" and "slurm" not in str(error):
                    raise
                _fail(FiglangError(_of_submitit(str(error))))
            except ValueError as error:  # Hydra's words for an override it cannot read; ours would be a bug
                if entered:
                    raise
                _fail(error)
            finally:
                if not traceback_wanted:
                    del os.environ["HYDRA_FULL_ERROR"]

        return main

    return decorate


def _named(composed: DictConfig, schema: type[T]) -> T:
    config = resolve(composed, schema)
    if isinstance(config, TrainConfig | EvaluateConfig):
        given = _typed()
        # Only where it may give the name: a preset from a folder of the user's own is not found.
        sized = "data.size" in given.given and "data.name" not in given.given
        preset = data_presets([given.choices.get("data", "None")])[0] if sized else None
        naming.name(config, given, preset)
    return config


def _typed() -> naming.Typed:
    """What Hydra knows of the command line."""
    known = HydraConfig.get()
    choices = {group: str(choice) for group, choice in known.runtime.choices.items() if choice}
    return naming.Typed(tuple(known.overrides.task), choices, known.mode is RunMode.MULTIRUN)


def _words(schema: type, words: list[str]) -> list[str]:
    """The words of a command line as Hydra can read them."""
    presets = {
        folder.name: [path.stem for path in folder.glob("*.yaml")]
        for folder in CONF.iterdir()
        if folder.is_dir()
    }
    words = typed.without_configuration(words, presets, [spec.name for spec in fields(schema)])
    typed.check(words, presets)
    given = [word.lstrip("+") for word in words]
    field = next((word.split("=")[0] for word in given if word.startswith("scoring.")), None)
    if field and schema is not TrainConfig and not any(word.startswith("scoring=") for word in given):
        raise FiglangError(
            f"{field} changes a preset, which has to be named with it: scoring=clean {field}=…"
        )
    if "runs" in (spec.name for spec in fields(schema)):
        bare = [word for word in words if "=" not in word and not word.startswith("-")]
        words = [word for word in words if word not in bare]
        if bare:
            if any(word.startswith("runs=") for word in words):
                raise FiglangError(f"runs= and {bare[0]} both name runs; give them one way")
            words.append(f"runs=[{','.join(map(typed.text, bare))}]")
    return [_quoted(word) for word in words]


def _quoted(word: str) -> str:
    # Text of the user's own: Hydra would read braces as a dictionary and take spaces and commas for its
    # grammar.
    key, equals, value = word.partition("=")
    if not key.endswith((".template", ".suffix", ".separator", ".bos")) or value.startswith(("'", '"')):
        return word
    return f"{key}{equals}{typed.text(value)}"


def _unreadable() -> str | None:
    """The first word of the command line that Hydra's parser cannot read; its own message does not name
    it."""
    for word in sys.argv[1:]:
        try:
            OverridesParser.create().parse_override(word)
        except HydraException:
            if not word.startswith("-"):
                return word
    return None


def _refused(error: Exception, training: bool, folder: str | None = None) -> NoReturn:
    """A fault of the machine in one line; any other error goes on as it is."""
    if (fault := explain(error, training, folder)) is None:
        raise error
    _fail(FiglangError(fault))


def _fail(error: Exception) -> NoReturn:
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        lines += [line.strip() for line in str(seen).splitlines()]
        seen = seen.__cause__ if isinstance(error, HydraException) else None
    skip = ("full_key:", "object_type=", "reference_type=", "See https", "set env", "Set the environment")
    kept = [line for line in dict.fromkeys(lines) if line and not line.startswith(skip)]
    message = " ".join(kept)
    if any(token in message for token in typed.UNREADABLE) and (word := _unreadable()):
        message = typed.advice(word)
    if "interpolation" in message.lower() and (
        word := next((word for word in sys.argv[1:] if "${" in word), None)
    ):
        message = f"{word}: {message}"
    if "Could not override 'peft'" in message:
        message = (
            "this model= trains adapters; name what it starts from (model=gpt2, say), or a trained run "
            "by checkpoint=FOLDER"
        )
    if "'hydra/launcher/submitit_" in message:
        message = "hydra/launcher=submitit_… needs the launcher for jobs: `pip install figlang[slurm]`"
    preset = re.search(
        r"Could not find '([^']+)' Available options in '([^']+)': (.+?) Config search path", message
    )
    if preset:
        name, options = preset[1].removeprefix(f"{preset[2]}/"), preset[3].split()
        close = get_close_matches(name.rpartition("/")[2], options, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        message = f"{preset[2]}={name} is no preset; {meant}choose one of {', '.join(options)}"
    single = re.search(r"override (\w+)\.(\w+)=(.*) Invalid value assigned: .* is not a ListConfig", message)
    if single and (section := getattr(schemas, f"{single[1].capitalize()}Config", None)) is not None:
        sentence = next(spec.metadata["help"] for spec in fields(section) if spec.name == single[2])
        message = f"{single[1]}.{single[2]}={single[3]} is no list in brackets: {sentence}"
    unknown = re.search(r"[Kk]ey '([^']+)' (?:is )?not in '(\w+)'", message)
    if unknown and (section := getattr(schemas, unknown[2], None)) is not None:
        message = (
            f"unknown key {unknown[1]!r}; {_section_name(section)} has "
            f"{', '.join(spec.name for spec in fields(section))}"
        )
    sys.stderr.write(f"error: {printable(message)}\n")
    raise SystemExit(2)


def _of_submitit(words: str) -> str:
    """What submitit says of a job that failed or could not begin; the job's own error stands in its
    middle."""
    said = next(
        (line.removeprefix("error: ") for line in words.splitlines() if line.startswith("error: ")), None
    )
    job = re.match(r"Job (\S+)", words)
    return f"job {job[1]}: {said}" if said and job else f"submitit: {' '.join(words.split())[:300]}"


def _section_name(section: type) -> str:
    return (
        "the top level" if issubclass(section, Command) else section.__name__.removesuffix("Config").lower()
    )

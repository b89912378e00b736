"""`python train.py -m hydra/sweeper=optuna …`: a search by Optuna that needs no account and goes on where it
was killed.

Hydra takes sweepers from this package only. hydra-optuna-sweeper 1.3 needs an Optuna below 3 and cannot go on
with a search. Optuna is imported when a search begins, since Hydra loads this file at every start.
"""

import csv
import logging
import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, cast

from filelock import FileLock, Timeout
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from figlang.config.section import plain
from figlang.errors import FiglangError, one_line

log = logging.getLogger("figlang")
# What a sweep file says to W&B's agent only.
AGENTS = ("logger", "run")
HOPELESS = 3
# Between the folders of a trial's runs. No path holds it.
SEPARATOR = "\n"
# The exit code of errors, about which one line has been said: a loss that is not a number, say.
FAULT = 2


class OptunaSweeper(Sweeper):  # type: ignore[misc]
    """Runs trial after trial; conf/hydra/sweeper/optuna.yaml says what the arguments are."""

    def __init__(
        self,
        file: str | None,
        metric: str | None,
        goal: str | None,
        method: str | None,
        n_trials: int | None,
        seed: int,
        study: str | None,
    ) -> None:
        self.sweep_file = _read(file)
        asked = self.sweep_file.get("metric", {})
        self.metric = metric or asked.get("name", "selection/loss")
        self.goal = goal or asked.get("goal", "minimize")
        self.method = method or self.sweep_file.get("method", "bayes")
        self.n_trials = n_trials or self.sweep_file.get("run_cap")
        self.seed = seed
        self.study = study or (Path(file).stem if file else "search")
        plain("hydra.sweeper.", study=self.study)
        if not re.fullmatch(r"[^/]+/[^/]+", self.metric):
            raise FiglangError(
                f"the metric {self.metric} is not a name of log.csv; give "
                "hydra.sweeper.metric=selection/loss, validation/accuracy or another SPLIT/METRIC"
            )
        for name, value, choices in (
            ("goal", self.goal, ("minimize", "maximize")),
            ("method", self.method, ("grid", "random", "bayes")),
        ):
            if value not in choices:
                raise FiglangError(
                    f"hydra.sweeper.{name}={value} is not a choice; choose one of {', '.join(choices)}"
                )

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.folder = Path(config.paths.runs).expanduser() / "search"
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run what is left of the search.

        Raises FiglangError if it is running already, was begun with other values, or fails again and again.
        """
        try:
            import optuna
        except ModuleNotFoundError as error:
            raise FiglangError(
                "hydra/sweeper=optuna needs Optuna: `pip install 'figlang[search]'`"
            ) from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        fixed, space = self._space(arguments)
        self.seeds = self._seeds(space)
        if not space:
            raise FiglangError(
                "nothing to search: give hydra.sweeper.file=conf/sweep/….yaml, or several values for an "
                "option other than seed"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.study}.db"
        try:
            with FileLock(path.with_suffix(".lock"), timeout=0):
                self._search(optuna, path, fixed, space)
        except Timeout as error:
            raise FiglangError(
                f"another process is at the search in {path}; wait for it, or choose hydra.sweeper.study=NAME"
            ) from error

    def _search(self, optuna: Any, path: Path, fixed: list[str], space: Mapping[str, Any]) -> None:
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        try:
            self._trials(optuna, storage, path, fixed, space)
        finally:
            storage.remove_session()
            storage.engine.dispose()  # or the file stays open until the process ends

    def _trials(
        self, optuna: Any, storage: Any, path: Path, fixed: list[str], space: Mapping[str, Any]
    ) -> None:
        study = optuna.create_study(
            storage=storage, study_name=self.study, direction=self.goal, load_if_exists=True
        )
        about = {
            "fixed": fixed,
            "space": {name: str(values) for name, values in space.items()},
            "metric": self.metric,
        }
        if study.user_attrs.setdefault("about", about) != about:
            raise FiglangError(
                f"{path} holds a search with other values; choose hydra.sweeper.study=NAME for this one"
            )
        study.set_user_attr("about", about)
        # With the same seed as at the beginning, a search that goes on would draw the same again.
        kind = optuna.samplers.TPESampler if self.method == "bayes" else optuna.samplers.RandomSampler
        study.sampler = kind(seed=self.seed + len(study.trials))
        whole = self._enqueue_grid(study, space) if self.method == "grid" else 20
        state = optuna.trial.TrialState
        # Killed in the middle: the same folder again, which goes on from its checkpoint.
        for trial in study.get_trials(states=[state.RUNNING]):
            self._run(study, state, trial.number, trial.params, fixed)
        while sum(trial.state.is_finished() for trial in study.trials) < (self.n_trials or whole):
            trial = study.ask(self._distributions(optuna, space))
            self._run(study, state, trial.number, trial.params, fixed)
        done = study.get_trials(states=[state.COMPLETE])
        if done:
            best = study.best_trial
            words = " ".join(_words(best.params))
            log.info(
                "best of %d trials: %s %.4f with %s (%s)",
                len(done),
                self.metric,
                best.value,
                words,
                best.user_attrs["run"],
            )
            # Hydra loads this file at every start, and a table needs libraries that take a second.
            from figlang.reports.concluding import conclude_multirun

            conclude_multirun([run for trial in done for run in trial.user_attrs["run"].split(SEPARATOR)])

    def _run(
        self, study: Any, state: Any, number: int, params: Mapping[str, Any], fixed: Sequence[str]
    ) -> None:
        words = _words(params)
        log.info("trial %d: %s", number, " ".join(words))
        try:
            jobs = [[*fixed, *words, *seed] for seed in self.seeds]
            returned = self.launcher.launch(jobs, initial_job_idx=number * len(jobs))
            runs = [str(job.return_value) for job in returned]
            trial = study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
            study._storage.set_trial_user_attr(trial, "run", SEPARATOR.join(runs))
            value = mean(self._value(Path(run)) for run in runs)
        except SystemExit as stop:
            if (
                stop.code != FAULT
            ):  # asked to stop: the whole search is, and this trial goes on at the next start
                raise
            value = math.nan
        log.info("trial %d: %s %.4f", number, self.metric, value)
        if not math.isnan(value):
            study.tell(number, value)
            return
        study.tell(number, state=state.FAIL)
        last = study.get_trials()[-HOPELESS:]
        if len(last) == HOPELESS and all(trial.state == state.FAIL for trial in last):
            raise FiglangError(
                f"{HOPELESS} trials failed one after the other; hydra.sweeper.study=NAME begins anew"
            )

    def _value(self, run: Path) -> float:
        """The best epoch's value of the metric in a run's log.csv."""
        with (run / "log.csv").open(newline="") as file:
            rows = [(f"{row['split']}/{row['metric']}", row["value"]) for row in csv.DictReader(file)]
        values = [float(value) for name, value in rows if name == self.metric]
        if not values:
            has = ", ".join(sorted({name for name, _ in rows}))
            raise FiglangError(
                f"{run / 'log.csv'} has no {self.metric}, but {has}; selection/loss needs "
                "method.selection=heldout or validation"
            )
        return min(values) if self.goal == "minimize" else max(values)

    def _seeds(self, space: dict[str, Any]) -> list[list[str]]:
        """Take the seeds out of the space. They are not searched: a trial is the mean over all of them."""
        seeds = space.pop("seed", None)
        if isinstance(seeds, Mapping):
            raise FiglangError("seed= takes a list of seeds, not an interval; a trial is the mean over them")
        return [[]] if seeds is None else [[f"seed={seed}"] for seed in seeds]

    def _space(self, arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Overrides that all trials have, and the values of the others: a list, or an interval as W&B writes
        it."""
        words = [
            word
            for word in map(str, self.sweep_file.get("command", ()))
            if "=" in word and not word.startswith("${")
        ]
        fixed = {word.split("=")[0]: word for word in words if word.split("=")[0].split(".")[0] not in AGENTS}
        space: dict[str, Any] = {}
        for name, given in self.sweep_file.get("parameters", {}).items():
            space[name] = (
                given["values"] if "values" in given else [given["value"]] if "value" in given else given
            )
        for override in OverridesParser.create().parse_overrides(list(arguments)):
            name = override.get_key_element()
            fixed.pop(name, None), space.pop(name, None)
            if override.is_sweep_override():
                space[name] = _values(override)
            else:
                fixed[name] = str(override.input_line)
        return list(fixed.values()), space

    def _enqueue_grid(self, study: Any, space: Mapping[str, Any]) -> int:
        if any(isinstance(values, Mapping) for values in space.values()):
            raise FiglangError("hydra.sweeper.method=grid needs values, not intervals; take random or bayes")
        combinations = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
        for params in combinations:
            study.enqueue_trial(params, skip_if_exists=True)
        return len(combinations)

    def _distributions(self, optuna: Any, space: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for name, values in space.items():
            if not isinstance(values, Mapping):
                found[name] = optuna.distributions.CategoricalDistribution(values)
                continue
            kind = values.get("distribution", "uniform")
            if kind not in ("uniform", "log_uniform_values", "int_uniform"):
                raise FiglangError(
                    f"{name}: the distribution {kind} is for W&B; take uniform, int_uniform or "
                    "log_uniform_values"
                )
            whole = kind == "int_uniform"
            make = optuna.distributions.IntDistribution if whole else optuna.distributions.FloatDistribution
            found[name] = make(values["min"], values["max"], log=kind == "log_uniform_values")
        return found


def _read(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        content = OmegaConf.to_container(OmegaConf.load(file))
    except Exception as error:  # of the file system or of the YAML reader, whose errors have no common class
        raise FiglangError(f"hydra.sweeper.file={file} cannot be read ({one_line(error)})") from error
    if not isinstance(content, dict):
        raise FiglangError(f"hydra.sweeper.file={file} is not a sweep file; conf/sweep has some")
    return cast(dict[str, Any], content)


def _values(override: Override) -> Any:
    value = override.value()
    if not isinstance(value, IntervalSweep):
        return list(override.sweep_string_iterator())
    ends = {"min": value.start, "max": value.end}
    if value.start is None or value.end is None or not math.isfinite(float(value.end) - float(value.start)):
        raise FiglangError(f"{override.input_line}: an interval needs two ends")
    if "log" in value.tags:
        return {"distribution": "log_uniform_values", **ends}
    whole = isinstance(value.start, int) and isinstance(value.end, int)
    return {"distribution": "int_uniform" if whole else "uniform", **ends}


def _words(params: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in params.items()
    ]

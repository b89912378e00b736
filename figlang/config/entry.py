"""The entry of every command: Hydra's command line, help, and errors of one line."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from figlang.config import multirun
from figlang.config.combining import Combination, combinations
from figlang.config.composing import named
from figlang.config.packages import check_packages
from figlang.config.present import check_files
from figlang.config.presets import CONF
from figlang.config.refusals import of_submitit, refuse, refuse_fault
from figlang.config.relief import before_steps
from figlang.config.roots import ROOTS, Root, chosen
from figlang.config.usage import print_help, print_tables
from figlang.config.verbs.train import TrainConfig
from figlang.config.words import HELP, SEVERAL, readable
from figlang.errors import INTERRUPTED, FiglangError
from figlang.files.redaction import nothing_secret_said
from figlang.machine.importing import collected, imported, uncollected
from figlang.machine.printing import legible, log_to_terminal

Task = Callable[[Any], str | None]  # it may return the folder of its results
Conclude = Callable[[list[str]], None]
OURS = (HydraException, OmegaConfBaseException, FiglangError)
FAULTS = (OSError, MemoryError, RuntimeError)
SWEEPER = "hydra/sweeper="


class Entry:
    """A verb as a command without arguments: it reads sys.argv.

    It prints help, or composes and checks the options and calls `task` with them. If the root is `together`,
    the task gets all combinations of several values. After several trainings or evaluations, `conclude` gets
    their folders.
    """

    def __init__(self, verb: str, task: Task, conclude: Conclude | None = None) -> None:
        self.verb, self.task, self.conclude = verb, task, conclude

    def __call__(self) -> None:
        legible()
        # What is made until the task begins stays: the options and the libraries.
        with uncollected(), _door():
            if set(HELP) & set(sys.argv[1:]):
                self._help([word for word in sys.argv[1:] if word not in HELP])
                return
            log_to_terminal()
            try:
                name, root = chosen(self.verb, sys.argv[1:])
                words = readable(root, sys.argv[1:])
            except FiglangError as error:
                refuse(error)
            if root.together:
                self._together(root, [word for word in words if word not in SEVERAL])
            else:
                sys.argv[1:] = multirun.in_order(words, self.verb)
                self._each(name, root)

    def _help(self, words: list[str]) -> None:
        root = ROOTS[self.verb]
        topics = [word for word in words if not word.startswith(("table=", "-"))]
        tabled = root.tables is None or any(word.startswith("table=") for word in words)
        try:
            if not tabled and not topics:
                print_tables(root, CONF)
            else:  # without table=, only groups and fields that all tables share are explained
                print_help(self.verb, chosen(self.verb, words)[1] if tabled else root, CONF, topics)
        except FiglangError as error:
            refuse(error)
        except OSError as error:  # what it is printed to is full
            refuse_fault(error, training=False)

    def _together(self, root: Root, words: list[str]) -> None:
        try:
            made: list[Combination[Any]] = combinations(self.verb, root.schema, words)
            for each in made:
                check_packages(each.config)
                check_files(each.config)
            with collected():
                self.task(made)
        except OURS as error:
            refuse(error, root)
        except FAULTS as error:
            refuse_fault(error, training=False)

    def _each(self, name: str, root: Root) -> None:
        """Let Hydra run the task, once or, with -m, for every combination of values."""
        entered = False
        multirun.made.clear()  # left by an earlier command of this process
        # Its lines about a multirun have its own signs; `announced` says more plainly what is run.
        logging.getLogger("hydra").setLevel(logging.WARNING)

        def job(composed: DictConfig) -> str | None:
            nonlocal entered
            entered = True
            with nothing_secret_said():  # again, since submitit's jobs begin here
                log_to_terminal()
                with multirun.announced():
                    return self._run(composed, root)

        # Hydra's own reporting prints several lines and exits with 1; with this set, its errors reach us.
        traceback_wanted = os.environ.get("HYDRA_FULL_ERROR")
        os.environ["HYDRA_FULL_ERROR"] = "1"
        try:
            with multirun.composed_once(sys.argv[1:]):
                hydra.main(config_path=str(CONF), config_name=name, version_base="1.3")(job)()
            # A search shows its own conclusion, which has the trials of earlier starts too.
            searched = any(word.startswith(SWEEPER) for word in sys.argv[1:])
            if self.conclude is not None and len(multirun.made) > 1 and not searched:
                self.conclude(multirun.made)
        except OURS as error:
            if traceback_wanted:
                raise
            refuse(error, root)
        except RuntimeError as error:
            if type(error).__module__.split(".")[0] != "submitit" and "slurm" not in str(error):
                raise
            refuse(of_submitit(str(error)))
        except OSError as error:  # of Hydra, which makes the folder of a multirun
            refuse_fault(error, training=False)
        # Hydra's error for a word that it cannot read; one of figlang's own would be a bug
        except ValueError as error:
            if entered:
                raise
            refuse(error, root)
        finally:
            if not traceback_wanted:
                del os.environ["HYDRA_FULL_ERROR"]

    def _run(self, composed: DictConfig, root: Root) -> str | None:
        """Run once. Returns the folder of the results, in which a sweeper finds them."""
        config: Any = None
        try:
            config = named(composed, root.schema)
            check_packages(config)
            check_files(config)
            with collected():
                folder = self.task(config)
            trained = config.run if isinstance(config, TrainConfig) else None
            if made := trained or folder:
                multirun.made.append(made)
            return made
        except (FiglangError, OmegaConfBaseException) as error:
            refuse(error, root)
        except FAULTS as error:
            trains = isinstance(config, TrainConfig)
            refuse_fault(error, trains, getattr(config, "run", None), before_steps(config) if trains else ())


def entry(verb: str, conclude: Conclude | None = None) -> Callable[[Task], Entry]:
    """Turn `task(options)` into the command of a verb.

    Args:
        verb: A verb of `ROOTS`.
        conclude: Gets the folders of all trainings or evaluations, after several of them.

    Returns:
        The decorator.
    """
    return lambda task: Entry(verb, task, conclude)


def lazy(verb: str) -> Entry:
    """The command of a verb whose file is imported once its options are found to be valid.

    So help and errors about options need no torch.

    Args:
        verb: A file of figlang/commands/.

    Returns:
        The command.
    """

    module = f"figlang.commands.{verb.replace(' ', '_')}"

    def task(options: Any) -> str | None:
        made: str | None = imported(module).main.task(options)
        return made

    def conclude(made: list[str]) -> None:
        concludes = import_module(module).main.conclude
        if concludes is not None:
            concludes(made)

    return Entry(verb, task, conclude)


@contextmanager
def _door() -> Iterator[None]:
    """Hide secrets in errors, and print one word for Ctrl-C. A training itself says how to continue it."""
    with nothing_secret_said():
        try:
            yield
        except KeyboardInterrupt:
            _interrupted()
        except Exception as error:
            if _follows_interruption(error):
                _interrupted()
            raise


def _interrupted() -> NoReturn:
    sys.stderr.write("interrupted\n")
    raise SystemExit(INTERRUPTED) from None


def _follows_interruption(error: BaseException) -> bool:
    """Whether an error was raised while a library cleaned up after Ctrl-C."""
    cause = error.__context__
    return cause is not None and (isinstance(cause, KeyboardInterrupt) or _follows_interruption(cause))

"""Commands that are killed at any moment, or that write to one folder together."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from figlang.files import ownership
from figlang.files.sources import sha256
from figlang.runs import systems
from tests.processes import preload
from tests.running import TINY
from tests.toll import Toll
from tests.victims import PRELOADED, QUIET, Victim, half_files, metrics

KILLS = 20  # of each of the five commands
ROUNDS = 3


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two evaluations of tiny random networks, `one` and `two`."""
    preload(*PRELOADED)
    home = tmp_path_factory.mktemp("evaluated") / "home"
    home.mkdir()
    for name, seed in (("one", 0), ("two", 1)):
        assert Victim(home, *evaluation(f"output={name}", f"seed={seed}")).wait() == 0
    return home


def hidden(home: Path) -> set[Path]:
    """Hidden files and folders: lists of what figlang wrote, Hydra's folder of a multirun; no leftovers."""
    return {path.relative_to(home) for path in home.rglob(".*")}


def evaluation(*words: str) -> tuple[str, ...]:
    return ("evaluate", *QUIET, "model=gpt2", "scoring=pmi", *words)


COMMANDS = {
    "train": ("train", *TINY, "data.limit=16", "method.epochs=3", "run=runs/run"),
    "multirun": ("train", "-m", *TINY, "data.limit=16", "seed=0,1"),
    "evaluate": evaluation("output=out"),
    "generate": (
        "figlang.commands.generate",
        *QUIET,
        "model=gpt2",
        "data=miqa_sample",
        "sampling.max_tokens=4",
        "output=out",
    ),
    "report": ("figlang.commands.report", "one", "two", "output=out", "analysis=off"),
}


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_killed_at_random_moments_loses_nothing(
    tmp_path: Path, evaluated: Path, command: str, toll: Toll
) -> None:
    """Each round kills the command up to four times in one folder, and then lets it end."""
    whole = tmp_path / "whole"
    shutil.copytree(evaluated, whole)
    started = time.monotonic()
    assert Victim(whole, *COMMANDS[command]).wait() == 0
    length = time.monotonic() - started
    wanted, chance = metrics(whole), random.Random(command)
    while toll.kills < KILLS and not toll.faults:
        home = tmp_path / str(toll.runs)
        shutil.copytree(evaluated, home)
        toll.runs += 1
        for more in (True, True, True, True, False):
            victim = Victim(home, *COMMANDS[command])
            struck = more and victim.kill_after(chance.uniform(0, 1.2 * length))
            toll.kills += struck
            if not struck and victim.wait() != 0:
                toll.refusals.append(victim.said)
            toll.half_files += map(str, half_files(home))
        found = metrics(home)
        toll.lost += [name for name in wanted.keys() | found.keys() if found.get(name) != wanted.get(name)]
        assert hidden(home) == hidden(whole)
    assert not toll.faults


@pytest.mark.faults
def test_an_evaluation_killed_at_any_renaming_is_the_earlier_or_the_new_one(
    tmp_path: Path, evaluated: Path
) -> None:
    shutil.copytree(evaluated / "one", tmp_path / "earlier")
    before = json.loads((tmp_path / "earlier" / "metrics.json").read_text())
    found, struck = set(), True
    renaming = 0
    while struck:
        home = tmp_path / str(renaming)
        home.mkdir()
        shutil.copytree(tmp_path / "earlier", home / "out")
        words = evaluation("output=out", "seed=7", "overwrite=true")
        struck = Victim(home, *words, last=renaming).wait() == -signal.SIGKILL
        (system,) = systems.read([str(home / "out")])
        found.add(seed := system.content["seed"])
        rows = [
            json.loads(line)["id"]
            for line in (home / "out" / "log_probabilities.jsonl").read_text().splitlines()
        ]
        assert rows
        if seed == before["seed"]:
            assert system.content == before
        renaming += 1
    assert found == {before["seed"], 7}
    assert renaming > 4


def folder_of(verb: str, number: int) -> tuple[str, ...]:
    """The command of one of several writers, whose result tells it from the others'."""
    if verb == "train":
        return ("train", *TINY, "data.limit=16", "run=out", f"model.name=w{number}")
    if verb == "evaluate":
        return evaluation("output=out", f"model.name=w{number}")
    if verb == "report":
        return ("figlang.commands.report", "one", "two", "output=out", "analysis=off", f"title=w{number}")
    if verb == "compare":
        return ("figlang.commands.compare", *(("one", "two") if number % 2 else ("two", "one")), "output=out")
    if verb == "rate":
        return ("figlang.commands.rate", "runs=[answers]", "folder=out", f"seed={number}")
    task = "miqa_sample" if verb in ("generate", "miqa_table3") else "munch_sample"
    more = {
        "generate": ["sampling.max_tokens=2"],
        "munch_generate": ["data.question=generation", "data.limit=3"],
        "munch_judge": ["data.limit=3"],
        "miqa_table3": ["data.limit=4", "shots=[0,1]", "questions=[or,qa]"],
    }
    module, table = ("generate", []) if verb == "generate" else ("reproduce", [f"table={verb}"])
    return (
        f"figlang.commands.{module}",
        *table,
        *QUIET,
        "model=gpt2",
        f"data={task}",
        "output=out",
        f"model.name=w{number}",
        *more[verb],
    )


GRIDS = ("munch_judge", "munch_generate", "miqa_table3")
VERBS = ("train", "evaluate", "generate", "rate", "report", "compare", *GRIDS)


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_four_writers_on_one_folder_leave_one_result(
    tmp_path: Path, evaluated: Path, verb: str, kill: bool, toll: Toll
) -> None:
    """Each is process 1 of a namespace of its own, as in containers that share a volume."""
    chance = random.Random(f"{verb} {kill}")
    for number in range(ROUNDS):
        home = tmp_path / str(number)
        shutil.copytree(evaluated, home)
        if verb == "rate":
            assert Victim(home, *folder_of("generate", 0), "output=answers").wait() == 0
        writers = [Victim(home, *folder_of(verb, writer), alone=True) for writer in range(4)]
        if kill:
            time.sleep(chance.uniform(0.5, 4))
            writers[0].process.kill()
        codes = [writer.wait() for writer in writers]
        toll.runs += 1
        toll.kills += codes.count(-signal.SIGKILL)
        toll.waits += codes.count(2)
        for code, writer in zip(codes, writers, strict=True):
            assert "Traceback" not in writer.said
            if code == 2:
                assert (
                    "another process is working in out" in writer.said
                    or "holds a" in writer.said
                    or "has a sheet" in writer.said
                )
            else:
                assert code == 0 or (kill and writer is writers[0])
        if 0 not in codes:
            # The killed writer held the folder while the others asked for it. It is free now, unless a whole
            # result was there before the kill.
            assert kill
            assert codes[0] == -signal.SIGKILL
            last = Victim(home, *folder_of(verb, 1), alone=True)
            assert last.wait() == 0 or "holds a" in last.said, last.said
        toll.half_files += map(str, half_files(home / "out"))
        assert not toll.faults
        check_unmixed(home / "out", verb)


def check_unmixed(out: Path, verb: str) -> None:
    """Every file of a result is of the writer that its metrics.json names."""
    listed = json.loads((out / ownership.OWN).read_text())["files"] if (out / ownership.OWN).is_file() else {}
    assert all(sha256(out / name) == digest for name, digest in listed.items())
    if (out / "metrics.json").is_file():
        content = json.loads((out / "metrics.json").read_text())
        ownership.check_files(out, content["files"])
        if verb == "train":
            assert (
                json.loads((out / "recipe.json").read_text())["settings"]["model"]["name"] == content["model"]
            )
            assert f"name: {content['model']}\n" in (out / "config.yaml").read_text()
        if (out / "cells.txt").is_file():
            assert (out / "cells.txt").read_text().rpartition(" ")[0] == content["signature"]

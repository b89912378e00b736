"""Folders whose writer is killed at any moment, or that several want to write at once.

The fast tests kill a writer of plain files at each of its steps; those marked `faults` kill commands.
"""

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.files import folders
from figlang.files.folders import whole_folder
from figlang.files.whole import slug
from figlang.runs import systems
from tests.processes import preload
from tests.running import TINY
from tests.toll import Toll
from tests.victims import PRELOADED, QUIET, Victim, count_down, half_files, metrics

STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir")
KILLS = 20  # of each of the five commands
ROUNDS = 6


def write(folder: Path, mark: str, names: tuple[str, ...]) -> None:
    with folders.replaced(folder, "a table") as new:
        for name in names:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(mark)


def shown(folder: Path) -> dict[str, str]:
    """The files of a folder that are not hidden, and what they say."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_text()
        for name, path in found.items()
        if not any(part[0] == "." for part in name.parts)
    }


def killed_at(step: int, act: Callable[[], None]) -> bool:
    """Whether a child that runs `act` is killed before its change number `step` of the file system."""
    child = os.fork()
    if child == 0:
        count_down(step, STEPS)
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


OLD, NEW = ("a.txt", "gone.txt", "tables/x.md"), ("a.txt", "more/b.txt", "tables/x.md")


def test_a_writer_killed_at_any_step_leaves_all_of_the_earlier_result_or_all_of_the_new_one(
    tmp_path: Path,
) -> None:
    outcomes, step = set(), 0
    while True:
        folder = tmp_path / str(step)
        write(folder, "old", OLD)
        (folder / "tables" / "mine.md").write_text("the user's")
        struck = killed_at(step, lambda folder=folder: write(folder, "new", NEW))  # type: ignore[misc]
        folders.settle(folder)
        found = shown(folder)
        assert found.pop("tables/mine.md") == "the user's"
        assert found in (dict.fromkeys(OLD, "old"), dict.fromkeys(NEW, "new")), step
        outcomes.add(found["a.txt"])
        write(folder, "last", NEW)  # nothing stands in the way of whoever comes next
        assert not [path for path in folder.rglob(".*") if path.name != folders.OWN]
        if not struck:
            break
        step += 1
    assert step > 8
    assert outcomes == {"old", "new"}


def test_a_whole_folder_killed_at_any_step_is_the_earlier_or_the_new_one(tmp_path: Path) -> None:
    def fill(folder: Path, mark: str) -> None:
        with whole_folder(folder) as beside:
            (beside / "one").write_text(mark)
            (beside / "two").write_text(mark)

    step, struck = 0, True
    while struck:
        folder = tmp_path / str(step) / "model"
        fill(folder, "old")
        (folder / "mine").write_text("the user's")
        struck = killed_at(step, lambda folder=folder: fill(folder, "new"))  # type: ignore[misc]
        with pytest.raises(ZeroDivisionError), whole_folder(folder):
            raise ZeroDivisionError
        assert shown(folder) in (
            dict.fromkeys(("one", "two"), mark) | {"mine": "the user's"} for mark in ("old", "new")
        )
        assert [path.name for path in folder.parent.iterdir()] == ["model"]
        step += 1
    assert step > 3


def test_a_second_writer_is_refused_and_a_reader_waits(tmp_path: Path) -> None:
    with folders.locked(tmp_path):
        with (
            pytest.raises(
                FiglangError, match=r"another process is working in .*; wait for it, or choose output=DIR"
            ),
            folders.locked(tmp_path),
        ):
            pass
        (tmp_path / folders.READY).mkdir()
        with pytest.raises(FiglangError, match="another process is working in"):
            folders.settle(tmp_path)
    assert not (tmp_path / folders.LOCK).exists()


def test_only_own_files_that_nobody_changed_are_deleted(tmp_path: Path) -> None:
    write(tmp_path, "first", ("kept.md", "tables/a.md", "tables/edited.md"))
    (tmp_path / "tables" / "edited.md").write_text("the user's now")
    (tmp_path / "tables" / "mine.csv").write_text("the user's")
    write(tmp_path, "second", ("kept.md",))
    assert shown(tmp_path) == {
        "kept.md": "second",
        "tables/edited.md": "the user's now",
        "tables/mine.csv": "the user's",
    }


@pytest.mark.parametrize(
    "earlier", [folders.RESULT, "a rating sheet", folders.NETWORK, "of an earlier version"]
)
def test_nothing_of_another_kind_takes_the_place_of_what_is_there(tmp_path: Path, earlier: str) -> None:
    folder, old = tmp_path / "folder", earlier == "of an earlier version"
    with (
        whole_folder(folder)
        if earlier == folders.NETWORK
        else folders.replaced(folder, folders.RESULT if old else earlier) as new
    ):
        (new / "metrics.json").write_text("precious")
    if old:
        listed = json.loads((folder / folders.OWN).read_text())
        (folder / folders.OWN).write_text(json.dumps({"files": listed["files"]}))
    before = shown(folder)
    with pytest.raises(FiglangError, match=r"holds .*, which a table would replace; choose another folder"):
        write(folder, "new", NEW)
    if earlier != folders.NETWORK:
        with (
            pytest.raises(FiglangError, match=r"holds .*, which a network would replace"),
            whole_folder(folder),
        ):
            pass
    assert shown(folder) == before == {"metrics.json": "precious"}


def test_a_whole_folder_keeps_what_is_the_users_own(tmp_path: Path) -> None:
    def fill(mark: str, *names: str) -> None:
        with whole_folder(tmp_path / "model") as beside:
            for name in names:
                (beside / name).parent.mkdir(exist_ok=True)
                (beside / name).write_text(mark)

    model = tmp_path / "model"
    fill("first", "model.safetensors", "README.md", "edited.json", "base/config.json")
    (model / "edited.json").write_text("the user's now")
    (model / "notes" / "deep").mkdir(parents=True)
    (model / "notes" / "deep" / "mine.txt").write_text("the user's")
    (model / "link").symlink_to(tmp_path / "elsewhere")
    fill("second", "adapter_model.safetensors", "README.md")
    kept = {"edited.json": "the user's now", "notes/deep/mine.txt": "the user's"}
    assert shown(model) == {"adapter_model.safetensors": "second", "README.md": "second"} | kept
    assert (model / "link").readlink() == tmp_path / "elsewhere"
    # A folder of a version that kept no list: by the names that exports have.
    (model / folders.OWN).unlink()
    fill("third", "model.safetensors")
    assert shown(model) == {"model.safetensors": "third"} | kept
    with pytest.raises(
        FiglangError, match=r"mine\.txt is your own file, but a file of figlang must be written there"
    ):
        fill("fourth", "notes")
    assert shown(model) == {"model.safetensors": "third"} | kept


def test_nothing_is_written_or_deleted_outside(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "precious").write_text("x")
    write(folder, "first", ("a.md", "tables/x.md"))
    # A list that came from elsewhere names files outside.
    digest = json.loads((folder / folders.OWN).read_text())
    digest["files"]["../outside/precious"] = folders.sha256(outside / "precious")
    (folder / folders.OWN).write_text(json.dumps(digest))
    write(folder, "second", ("a.md", "tables/x.md"))
    shutil.rmtree(folder / "tables")
    (folder / "tables").symlink_to(outside)
    with pytest.raises(FiglangError, match=r"tables is a link to .*; figlang does not write through links"):
        write(folder, "third", ("a.md", "tables/x.md"))
    assert (folder / "a.md").read_text() == "second"
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(outside / "precious")  # a file that is a link is replaced, not followed
    (folder / "tables").unlink()
    write(folder, "fourth", ("a.md",))
    (tmp_path / "link").symlink_to(outside)
    for place in (tmp_path / "link", folder / "evaluations" / "x"):
        (folder / "evaluations").unlink(missing_ok=True)
        (folder / "evaluations").symlink_to(outside)
        (folder / "recipe.json").write_text("{}")
        with pytest.raises(FiglangError, match="is a link to"):
            write(place, "fifth", ("a.md",))
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "x"}


@pytest.mark.parametrize(
    "name", ["x/../../../T", "genre/style", "..", ".hidden", "a\nb", "x" * 300, "", "$x^{$", "ä", "C:\\x"]
)
def test_any_name_becomes_the_name_of_one_file(name: str) -> None:
    assert slug(name) != slug(f"{name} ")
    assert slug(name) == slug(name)
    assert 0 < len(slug(name)) <= 120
    assert not set(slug(name)) & set('/\\\n"$ ')
    assert not slug(name).startswith(".")


def test_a_full_disk_names_the_file_and_leaves_the_earlier_result(tmp_path: Path) -> None:
    write(tmp_path, "first", ("a.md", "b.md"))

    def fill() -> None:
        with folders.replaced(tmp_path, "a table") as new:
            (new / "a.md").write_text("second")
            raise OSError(28, "No space left on device", str(new / "b.md"))

    with pytest.raises(OSError, match="No space") as refused:
        fill()
    assert refused.value.filename == str(tmp_path / "b.md")
    assert shown(tmp_path) == {"a.md": "first", "b.md": "first"}


# Commands


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
    tasks = {"generate": "miqa_sample", "munch_judge": "munch_sample", "munch_generate": "munch_sample"}
    more = {
        "generate": ["sampling.max_tokens=2"],
        "munch_generate": ["data.question=generation", "data.limit=3"],
        "munch_judge": ["data.limit=3"],
    }
    module, table = ("generate", []) if verb == "generate" else ("reproduce", [f"table={verb}"])
    return (
        f"figlang.commands.{module}",
        *table,
        *QUIET,
        "model=gpt2",
        f"data={tasks[verb]}",
        "output=out",
        f"model.name=w{number}",
        *more[verb],
    )


VERBS = ("train", "evaluate", "generate", "rate", "report", "compare", "munch_judge", "munch_generate")


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_four_writers_on_one_folder_leave_one_result(
    tmp_path: Path, evaluated: Path, verb: str, kill: bool, toll: Toll
) -> None:
    """Each is process 1 of a namespace of its own, as in containers that share a volume."""
    chance = random.Random(f"{verb} {kill}")
    for number in range(ROUNDS // 2):
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
        assert 0 in codes
        toll.half_files += map(str, half_files(home / "out"))
        assert not toll.faults
        check_unmixed(home / "out", verb)


def check_unmixed(out: Path, verb: str) -> None:
    """Every file of a result is of the writer that its metrics.json names."""
    listed = json.loads((out / folders.OWN).read_text())["files"] if (out / folders.OWN).is_file() else {}
    assert all(folders.sha256(out / name) == digest for name, digest in listed.items())
    if (out / "metrics.json").is_file():
        content = json.loads((out / "metrics.json").read_text())
        folders.check_files(out, content["files"])
        if verb == "train":
            assert (
                json.loads((out / "recipe.json").read_text())["settings"]["model"]["name"] == content["model"]
            )
            assert f"name: {content['model']}\n" in (out / "config.yaml").read_text()
        if (out / "cells.txt").is_file():
            assert (out / "cells.txt").read_text().rpartition(" ")[0] == content["signature"]

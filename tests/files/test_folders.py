"""Folders whose writer is killed at any of its steps: a writer of plain files."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from safetensors import SafetensorError

from figlang.errors import FiglangError
from figlang.files import folders, ownership
from figlang.files.folders import whole_folder
from figlang.files.sources import sha256
from figlang.files.whole import lock, slug
from tests.victims import count_down

STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir")


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
        assert not [path for path in folder.rglob(".*") if path.name != ownership.OWN]
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


def test_a_lock_whose_file_cannot_be_removed_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(str(path))

    def hold() -> None:
        with lock(tmp_path / "a", tmp_path):
            monkeypatch.setattr(Path, "unlink", refuse)

    with pytest.raises(PermissionError) as kept:  # the error holds what the block held
        hold()
    monkeypatch.undo()
    assert kept.value.args == (str(tmp_path / "a"),)
    with lock(tmp_path / "a", tmp_path):
        pass


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
    "earlier", [ownership.RESULT, "a rating sheet", ownership.NETWORK, "of an earlier version"]
)
def test_nothing_of_another_kind_takes_the_place_of_what_is_there(tmp_path: Path, earlier: str) -> None:
    folder, old = tmp_path / "folder", earlier == "of an earlier version"
    with (
        whole_folder(folder)
        if earlier == ownership.NETWORK
        else folders.replaced(folder, ownership.RESULT if old else earlier) as new
    ):
        (new / "metrics.json").write_text("precious")
    if old:
        listed = json.loads((folder / ownership.OWN).read_text())
        (folder / ownership.OWN).write_text(json.dumps({"files": listed["files"]}))
    before = shown(folder)
    with pytest.raises(FiglangError, match=r"holds .*, which a table would replace; choose another folder"):
        write(folder, "new", NEW)
    if earlier != ownership.NETWORK:
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
    (model / ownership.OWN).unlink()
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
    digest = json.loads((folder / ownership.OWN).read_text())
    digest["files"]["../outside/precious"] = sha256(outside / "precious")
    (folder / ownership.OWN).write_text(json.dumps(digest))
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


def test_what_another_command_wrote_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Two commands see a free place. The slower one must not replace what the faster one wrote there."""
    place = tmp_path / "out"

    def check() -> None:
        if place.exists():
            raise FiglangError("already exists")

    def late() -> None:
        with whole_folder(place, check) as new:
            (new / "a").write_text("late")
            place.mkdir()
            (place / "a").write_text("early")

    with pytest.raises(FiglangError, match="already exists"):
        late()
    assert shown(tmp_path) == {"out/a": "early"}
    with pytest.raises(FiglangError, match="already exists"), whole_folder(place, check):
        raise AssertionError("the place was taken before")


def test_a_folder_in_which_another_command_works_is_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "out"

    def replace() -> None:
        with whole_folder(place) as new:
            (new / "a").write_text("second")

    with folders.locked(place):
        (place / "a").write_text("first")
        with pytest.raises(FiglangError, match="another process is working in"):
            replace()
        assert shown(tmp_path) == {"out/a": "first"}
    replace()
    assert shown(tmp_path) == {"out/a": "second"}
    assert not (place / folders.LOCK).exists()


def lose_a_network(place: Path) -> None:
    with whole_folder(place) as new:
        shutil.rmtree(place.parent)
        (new / "a").write_text("a")


def lose_a_result(place: Path) -> None:
    with folders.replaced(place, "a table") as new:
        shutil.rmtree(place.parent)
        (new / "a").write_text("a")


def lose_what_is_staged(place: Path) -> None:
    with folders.replaced(place, "a table") as new:
        shutil.rmtree(new)


def lose_a_run(place: Path) -> None:
    with folders.locked(place):
        shutil.rmtree(place)
        list(place.iterdir())


@pytest.mark.parametrize("lose", [lose_a_network, lose_a_result, lose_what_is_staged, lose_a_run])
def test_a_folder_that_is_removed_while_it_is_written_is_named(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    """Scratch disks of clusters are cleared by their age."""
    place = tmp_path / "runs" / "model"
    with pytest.raises(FiglangError, match=f"cannot write {place}: something removed it"):
        lose(place)


def test_a_missing_file_of_the_users_is_not_called_removed(tmp_path: Path) -> None:
    for writer in (whole_folder, folders.locked, lambda place: folders.replaced(place, "a table")):
        with pytest.raises(FileNotFoundError), writer(tmp_path / "out"):
            (tmp_path / "none").read_text()


def test_a_full_disk_names_the_folder_if_the_error_names_no_file(tmp_path: Path) -> None:
    def fill(writer: Callable[[Path], AbstractContextManager[Path]]) -> None:
        with writer(tmp_path / "out"):
            raise OSError(28, "No space left on device")

    for writer in (whole_folder, lambda place: folders.replaced(place, "a table")):
        with pytest.raises(OSError, match="No space") as refused:
            fill(writer)
        assert refused.value.filename == str(tmp_path / "out")


def test_an_error_of_the_system_in_the_words_of_safetensors_has_its_number(tmp_path: Path) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "out"):
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    with pytest.raises(OSError, match="No space") as refused:
        fill()
    assert (refused.value.errno, refused.value.filename) == (28, str(tmp_path / "out"))


def test_copies_of_read_only_files_may_be_written_to(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "base").mkdir(parents=True)
    for name in ("a.json", "base/b.json", "README.md"):
        (source / name).write_text(name)
        (source / name).chmod(0o444)
    for folder in (source / "base", source):
        folder.chmod(0o555)
    try:
        folders.copied(source, tmp_path / "copy", without=("README.md",))
    finally:
        for folder in (source, source / "base"):
            folder.chmod(0o755)
    assert shown(tmp_path / "copy") == {"a.json": "a.json", "base/b.json": "base/b.json"}
    assert all(path.stat().st_mode & 0o200 for path in (tmp_path / "copy").rglob("*"))
    assert (tmp_path / "copy").stat().st_mode & 0o200

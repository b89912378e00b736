"""A hub that does not answer is asked once (figlang/files/hub.py), and a misspelt folder never."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from figlang.errors import FiglangError
from figlang.files import hub
from figlang.models.weights import locate


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a hub that is not there, while the client thinks it is online."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    hub._silence.cache_clear()
    yield address
    hub._silence.cache_clear()


def test_a_hub_that_is_not_there_is_one_line_that_says_what_would_work(absent: str) -> None:
    with pytest.raises(FiglangError) as failed:
        locate("some/model")
    for part in (
        "some/model is not a folder here",
        absent,
        "give a folder, package:<module>/<path>, or internet access",
    ):
        assert part in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_released_checkpoint_without_its_clone_is_said_to_be_there(absent: str) -> None:
    with pytest.raises(FiglangError, match="released checkpoints are in a clone of the repository"):
        locate("checkpoints/minilm-figqa-large")
    with pytest.raises(FiglangError) as failed:
        locate("some/model")
    assert "clone" not in str(failed.value)


def test_an_unfinished_run_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(FiglangError, match=r"is an unfinished run .* the command that started it goes on"):
        locate(str(tmp_path))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert locate(str(tmp_path)) == str(tmp_path / "model")


def test_what_was_kept_is_used_without_asking_again(
    absent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda name, file, revision: f"/kept/{file}")
    assert locate("some/model") == "some/model"
    assert constants.HF_HUB_OFFLINE
    assert "the cached files of some/model are used" in caplog.text


@pytest.mark.parametrize("name", ["runs/name", "./name", "/no/name", "~/name", "here/name", "a/b/c"])
def test_a_misspelt_folder_is_not_asked_of_the_hub(
    absent: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    Path("here").mkdir()
    monkeypatch.setattr(hub, "check", lambda *_: pytest.fail("asked the hub"))
    with pytest.raises(FiglangError, match="no such model folder"):
        locate(name)

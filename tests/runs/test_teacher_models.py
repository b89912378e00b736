"""Networks as teachers: how they are found, named in a recipe, and described."""

import json
from pathlib import Path

import pytest

from figlang.config import DataConfig, MethodConfig, TrainConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.runs import teacher_models, teaching
from figlang.runs.training import recipe
from figlang.tasks.registry import for_training
from tests.runs.test_teaching import PATHS, data, trained


def finished(run: Path, settings: DataConfig, content: bytes = b"weights") -> str:
    """A finished run with weights, as far as it is read here."""
    trained(run, settings)
    (run / "model" / "model.safetensors").write_bytes(content)
    (run / "model" / "config.json").write_text("{}")
    facts = {"model": run.name, "trained": f"{settings.name}@of {run.name}", "seed": "0"}
    (run / "metrics.json").write_text(json.dumps({"model": run.name, "facts": facts}))
    return str(run)


def test_a_recipe_holds_weights_and_no_paths(tmp_path: Path) -> None:
    settings = data(tmp_path, "own")
    one, other = (finished(tmp_path / name, settings, name.encode()) for name in ("one", "other"))
    train, validation = for_training(settings, PATHS)

    def of(*named: str) -> dict[str, object]:
        config = TrainConfig(data=settings, method=MethodConfig(teacher_model=list(named)))
        return recipe(config, train, validation)

    assert digest(of(one, other)) == digest(of(other, f"{one}/model"))
    (tmp_path / "one").rename(tmp_path / "moved")
    moved = str(tmp_path / "moved")
    assert digest(of(moved, other)) == digest(of(other, moved))
    before = of(moved)
    (tmp_path / "moved" / "model" / "model.safetensors").write_bytes(b"others")
    assert digest(of(moved)) != digest(before)
    assert "teacher_model" not in of()["settings"]["method"]  # type: ignore[index]
    assert str(tmp_path) not in json.dumps(of(moved)["settings"]["method"])  # type: ignore[index]


def test_a_teacher_is_described_by_what_it_is(tmp_path: Path) -> None:
    place = finished(tmp_path / "one", data(tmp_path, "own"))
    (found,) = teacher_models.described([place], "figqa_large", 12)
    assert (found["model"], found["data_name"], found["split"], found["items"]) == (
        "one",
        "figqa_large",
        "train",
        12,
    )
    assert found["signature"].startswith(
        "data:figqa_large|split:train|model:one|trained:own@of one|seed:0|torch"
    )
    assert found["sha256"] == teacher_models.identity(place)
    assert found["sha256"] != sha256(tmp_path / "one" / "model" / "model.safetensors"), "it is of all files"


@pytest.mark.parametrize("kind", ["nowhere", "unfinished", "hub", "plain"])
def test_what_is_no_teacher_is_named(tmp_path: Path, kind: str) -> None:
    named = {"nowhere": str(tmp_path / "x"), "hub": "org/name", "plain": str(tmp_path)}.get(kind)
    if kind == "unfinished":
        named = finished(tmp_path / "one", data(tmp_path, "own"))
        (tmp_path / "one" / "metrics.json").unlink()
    assert named is not None
    with pytest.raises(FiglangError, match="is not the folder of a finished run or of a released checkpoint"):
        teacher_models.folder(named)


def test_two_with_the_same_weights_are_refused(tmp_path: Path) -> None:
    settings = data(tmp_path, "own")
    one, other = (finished(tmp_path / name, settings) for name in ("one", "other"))
    with pytest.raises(FiglangError, match="have the same weights; give each teacher once"):
        teacher_models.identities([one, other])
    (tmp_path / "one" / "model" / "model.safetensors").unlink()
    with pytest.raises(FiglangError, match="the weights are not in"):
        teacher_models.identity(one)


def test_text_that_only_a_network_was_trained_on_is_found(tmp_path: Path) -> None:
    own, theirs = data(tmp_path, "own"), data(tmp_path, "theirs", "a text of theirs")
    place = finished(tmp_path / "theirs", theirs)
    taught = teaching.by([place], PATHS)
    assert (taught.unknown, [split.name for split in taught.splits]) == ((), ["theirs"])
    run = trained(tmp_path / "own", own)
    (run / "config.yaml").write_text(json.dumps({"method": {"teacher_model": ["theirs"]}}))
    about = teacher_models.described([place], "own", 8)
    (run / "metrics.json").write_text(json.dumps({"model": "own", "facts": {}, "teachers": about}))
    assert teaching.hashes(run) == {about[0]["sha256"][:16]: "theirs"}
    assert [split.name for split in teaching.of_run(run, PATHS).splits] == ["theirs"]
    weights = tmp_path / "theirs" / "model" / "model.safetensors"
    weights.rename(tmp_path / "elsewhere")  # a run whose weights were deleted stops no student's student
    assert teaching.of_run(run, PATHS).unknown == ("theirs",)
    (tmp_path / "elsewhere").rename(weights)
    assert teaching.of_run(run, PATHS).unknown == ()
    (tmp_path / "theirs").rename(tmp_path / "gone")
    assert teaching.of_run(run, PATHS).unknown == ("theirs",)

"""Results as teachers: whose scores are read, what is refused, and what a recipe holds of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import DataConfig, MethodConfig, PathsConfig, TrainConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.runs import results, teachers
from figlang.runs.predictions import FORWARD, write_predictions
from figlang.runs.training import recipe
from figlang.tasks.registry import for_training, load
from figlang.types import Prediction

HEADER = "startphrase,ending1,ending2,labels\n"
PATHS = PathsConfig()


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    rows = "".join(f"m{n},x{n // 2},y{n // 2},{n % 2}\n" for n in range(12))
    (tmp_path / "train.csv").write_text(HEADER + rows)
    (tmp_path / "validation.csv").write_text(HEADER + "v,p,q,0\nw,p,q,1\n")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "validation")}
    return DataConfig(name="own", dataset="figqa_csv", **files)


def evaluated(folder: Path, data: DataConfig, scale: float = 1.0, split: str = "train") -> str:
    """Results of a system that gives the first option a score by the number of its item."""
    items = load(split, data, PATHS)
    rows = [Prediction.of(item, (scale * place, 1.0)) for place, item in enumerate(items.items)]
    folder.mkdir()
    write_predictions(folder / FORWARD, rows)
    content = results.Evaluated("m", {}, items, split, data.name, 0).document(folder)
    results.write(folder / "metrics.json", content | {"data": results.about_data(data, {split: items}, ())})
    return str(folder)


def test_halves_teach_all_items_together(data: DataConfig, tmp_path: Path) -> None:
    halves = [replace(data, fold=f"{number}/2") for number in (1, 2)]
    folders = [evaluated(tmp_path / half.fold.replace("/", "-"), half) for half in halves if half.fold]
    train, _ = for_training(data, PATHS)
    found = teachers.read(folders, train.items, PATHS)
    assert found.keys() == {item.id for item in train.items}
    assert all(len(scores) == 1 for scores in found.values())
    own = {
        item.id: float(place)
        for half in halves
        for place, item in enumerate(load("train", half, PATHS).items)
    }
    assert {name: scores[0][0] for name, scores in found.items()} == own


def test_an_item_has_all_teachers_that_scored_it_in_any_order(data: DataConfig, tmp_path: Path) -> None:
    folders = [evaluated(tmp_path / "a", data), evaluated(tmp_path / "b", replace(data, limit=4), 3.0)]
    train, _ = for_training(data, PATHS)
    found = teachers.read(folders, train.items, PATHS)
    assert sorted(map(len, found.values())) == [1] * 8 + [2] * 4
    assert teachers.read(folders[::-1], train.items, PATHS) == found


def test_copies_of_an_item_have_its_teacher(data: DataConfig, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "a", data)
    (item, *_) = for_training(data, PATHS)[0].items
    copy = replace(item, id=f"{item.id} again 1")
    assert teachers.read([folder], [item, copy], PATHS).keys() == {item.id, copy.id}


def test_a_changed_item_is_refused(data: DataConfig, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "a", data)
    items = list(for_training(data, PATHS)[0].items)
    items[3] = replace(items[3], options=("another", items[3].options[1]))
    with pytest.raises(FiglangError, match=f"item {items[3].id} has another text there"):
        teachers.read([folder], items, PATHS)
    other = replace(items[3], options=load("train", data, PATHS).items[3].options, gold=None)
    items[3] = other  # its label is the student's own
    assert other.id in teachers.read([folder], items, PATHS)


def test_changed_data_are_refused(data: DataConfig, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "a", data)
    train, _ = for_training(data, PATHS)
    assert data.train is not None
    Path(data.train).write_text(Path(data.train).read_text() + "n,x,y,0\n")
    with pytest.raises(FiglangError, match=r"is not what .* was evaluated on"):
        teachers.read([folder], train.items, PATHS)


def test_what_is_not_a_teacher_is_refused(data: DataConfig, tmp_path: Path) -> None:
    train, _ = for_training(data, PATHS)
    with pytest.raises(FiglangError, match=r"has no predictions\.jsonl; give the folder of finished results"):
        teachers.read([str(tmp_path)], train.items, PATHS)
    folder = evaluated(tmp_path / "a", data)
    with pytest.raises(FiglangError, match="have the same predictions; give each teacher once"):
        teachers.read([folder, folder], train.items, PATHS)
    document = json.loads((tmp_path / "a" / "metrics.json").read_text())
    replies = {"n": 12, "invalid": document["metrics"]["accuracy"], "cut": 0}
    (tmp_path / "a" / "metrics.json").write_text(json.dumps(document | {"replies": replies}))
    with pytest.raises(FiglangError, match="has replies and no log-probabilities of the options"):
        teachers.read([folder], train.items, PATHS)
    elsewhere = evaluated(tmp_path / "b", data, split="validation")
    with pytest.raises(
        FiglangError, match=r"scored none of the items that are trained on, but own \(validation\)"
    ):
        teachers.read([elsewhere], train.items, PATHS)


def test_a_recipe_holds_the_predictions_of_teachers_and_not_their_place(
    data: DataConfig, tmp_path: Path
) -> None:
    one, other = evaluated(tmp_path / "a", data), evaluated(tmp_path / "b", data, 2.0)
    splits = for_training(data, PATHS)

    def of(*folders: str) -> dict[str, object]:
        config = TrainConfig(data, method=MethodConfig(teacher=list(folders)))
        return recipe(config, *splits)

    assert sha256(tmp_path / "a" / FORWARD)[:16] in json.dumps(of(one))
    assert "teacher" not in json.dumps(of()), "runs of earlier versions stay equal"
    assert of(one, other) == of(other, one)
    assert len({digest(of()), digest(of(one)), digest(of(other)), digest(of(one, other))}) == 4
    moved = str((tmp_path / "a").rename(tmp_path / "c"))
    assert of(moved) == of(str(tmp_path / "c"))
    lines = (tmp_path / "c" / FORWARD).read_text().splitlines(keepends=True)
    before = of(moved)
    (tmp_path / "c" / FORWARD).write_text("".join(lines[1:]))
    assert of(moved) != before


@pytest.mark.parametrize("name", ["lm", "nli"])
def test_teachers_are_for_choices(name: str) -> None:
    with pytest.raises(FiglangError, match=r"method\.teacher is for method=contrastive"):
        MethodConfig(name=name, teacher=["x"])

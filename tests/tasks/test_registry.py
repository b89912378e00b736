"""The index of the readers, figlang/tasks/registry.py: one split by name, and training data free of
evaluation items."""

from pathlib import Path

import pytest

from figlang.config import ColumnsConfig, DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.registry import check, for_training, load

HEADER = "startphrase,ending1,ending2,labels\n"
TRAIN = HEADER + "the night was ink.,x,y,0\nb,x,y,1\nc,v,w,0\nd,v,w,1\n"
VALIDATION = HEADER + "The night was ink,p,q,0\nf,p,q,1\n"
TEST = HEADER + "d,r,s,-1\nh,r,s,-1\n"


@pytest.fixture
def own(tmp_path: Path) -> DataConfig:
    """A person's three files; one training metaphor is in validation, another one in test."""
    for name, content in (("train", TRAIN), ("validation", VALIDATION), ("test", TEST)):
        (tmp_path / f"{name}.csv").write_text(content)
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "validation", "test")}
    return DataConfig(name="own", dataset="figqa_csv", **files)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_split_is_read_from_its_own_file(own: DataConfig, split: str) -> None:
    assert load(split, own, PathsConfig()).name == split


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_split_without_a_file_names_the_setting_and_the_columns(split: str) -> None:
    with pytest.raises(FiglangError) as error:
        load(split, DataConfig(dataset="figqa_csv"), PathsConfig())
    for part in (
        f"data.{split} is not set",
        f"data.{split}=FILE.csv",
        "startphrase, ending1, ending2, labels",
    ):
        assert part in str(error.value)


def test_a_limit_takes_the_first_items(own: DataConfig) -> None:
    own.limit = 3
    assert [item.id for item in load("train", own, PathsConfig()).items] == ["train-1", "train-2", "train-3"]


def test_a_label_file_reveals_the_test_labels(own: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("labels\n1\n0\n")
    own.test_labels = str(tmp_path / "labels.csv")
    assert [item.gold for item in load("test", own, PathsConfig()).items] == [1, 0]


def test_strict_reaches_the_reader(own: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(TRAIN + "single,v,w,0\n")
    own.strict = True
    with pytest.raises(FiglangError, match=r"train\.csv row 5"):
        load("train", own, PathsConfig())


def test_strict_reaches_the_reader_of_labels(own: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(b"\xef\xbb\xbflabels\n1\n0\n")
    own.strict, own.test_labels = True, str(tmp_path / "labels.csv")
    with pytest.raises(FiglangError, match=r"labels\.csv: starts with a byte-order mark"):
        load("test", own, PathsConfig())


def test_training_items_of_validation_and_test_are_dropped(own: DataConfig) -> None:
    train, _ = for_training(own, PathsConfig())
    assert [item.id for item in train.items] == ["train-2", "train-3"]


def test_near_duplicates_are_kept_by_the_switch(own: DataConfig) -> None:
    own.drop_near_duplicates = False
    train, _ = for_training(own, PathsConfig())
    assert [item.id for item in train.items] == ["train-1", "train-2", "train-3", "train-4"]


@pytest.mark.parametrize(
    ("drop", "done"),
    [(True, "dropped from training"), (False, "kept, since data.drop_near_duplicates=false")],
)
def test_near_duplicates_are_listed_either_way(own: DataConfig, drop: bool, done: str) -> None:
    own.drop_near_duplicates = drop
    train, _ = for_training(own, PathsConfig())
    assert train.notes == (
        f"2 metaphors also occur in an evaluation split, {done}: train-1 = validation-1, train-4 = test-1",
    )


def test_the_evaluation_split_is_never_thinned(own: DataConfig) -> None:
    _, validation = for_training(own, PathsConfig())
    assert [item.id for item in validation.items] == ["validation-1", "validation-2"]


def test_own_data_needs_no_test_file_for_training(own: DataConfig) -> None:
    own.test = None
    train, _ = for_training(own, PathsConfig())
    assert [item.id for item in train.items] == ["train-2", "train-3", "train-4"]


def test_data_without_near_duplicates_has_no_note(own: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(HEADER + "m,x,y,0\nn,x,y,1\n")
    train, _ = for_training(own, PathsConfig())
    assert len(train.items) == 2
    assert train.notes == ()


@pytest.mark.parametrize(("drop", "items"), [(True, 4), (False, 6)])
def test_repeated_rows_of_own_files_are_left_out_unless_the_switch_keeps_them(
    own: DataConfig, tmp_path: Path, drop: bool, items: int
) -> None:
    (tmp_path / "train.csv").write_text(TRAIN + TRAIN.split("\n", 1)[1][:-1].rpartition("\nc,")[0] + "\n")
    own.drop_duplicates = drop
    split = load("train", own, PathsConfig())
    assert len(split.items) == items
    assert "2 rows repeat an earlier row" in split.notes[-1]


def test_a_long_list_of_near_duplicates_is_cut_in_the_note_and_whole_in_what_is_dropped(
    own: DataConfig, tmp_path: Path
) -> None:
    rows = HEADER + "".join(f"m {n},x,y,0\nn {n},x,y,1\n" for n in range(60))
    (tmp_path / "train.csv").write_text(rows + "k,x,y,0\nl,x,y,1\n")
    (tmp_path / "validation.csv").write_text(rows)
    train, _ = for_training(own, PathsConfig())
    assert len(train.dropped) == 120
    assert train.notes[-1].endswith("train-50 = validation-50 and 70 more")


@pytest.mark.parametrize(
    ("size", "drop", "items"),
    [
        ("small", True, 200),  # none in dev or test
        ("medium", True, 1455),  # 1,458 − 2 in dev − 1 in test
        ("large", True, 8012),  # 8,016 − 2 in dev − 2 in test
        ("medium", False, 1458),
    ],
)
def test_published_training_items(figqa_root: str, size: str, drop: bool, items: int) -> None:
    train, validation = for_training(
        DataConfig(size=size, drop_near_duplicates=drop), PathsConfig(data=figqa_root)
    )
    assert len(train.items) == items
    assert len(validation.items) == 1094


def test_data_root_goes_before_paths_data(figqa_root: str) -> None:
    paths = PathsConfig(data=figqa_root)
    assert load("validation", DataConfig(root="package:figlang/samples"), paths).source.endswith(
        "samples/figqa/filtered/dev.csv"
    )


def test_columns_are_refused_by_a_task_that_does_not_read_them() -> None:
    named = ColumnsConfig(gold="right")
    with pytest.raises(FiglangError, match=r"data\.columns is only for data\.dataset=own, but data=mine"):
        check(DataConfig("mine", "figqa", columns=named))
    check(DataConfig("mine", "own", columns=named))

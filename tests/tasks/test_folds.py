"""`data.fold`: every group is in one fold, and what is evaluated is new to what was trained."""

from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import folds
from figlang.tasks.registry import for_training, load
from figlang.tasks.twins import twin
from figlang.types import Item, Split

ITEMS = tuple(
    Item(f"{group}-{place}", f"pair {group}", f"metaphor {group} {place}", ("a", "b"), place)
    for group in range(200)
    for place in (0, 1)
)
TRAIN = Split("train", ITEMS, "train.csv", "hash")


def fold(name: str, seed: int = 0) -> DataConfig:
    return DataConfig(fold=name, seed=seed)


def ids(split: Split) -> set[str]:
    return {item.id for item in split.items}


@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_pair_is_in_one_fold_and_the_rest_is_trained_on(count: int) -> None:
    parts = [folds.inside(TRAIN, fold(f"{number}/{count}")) for number in range(1, count + 1)]
    assert sorted(item.id for part in parts for item in part.items) == sorted(ids(TRAIN))
    for number, part in enumerate(parts, start=1):
        assert len(part.items) == 2 * len({item.group for item in part.items}), "pairs are whole"
        assert abs(len(part.items) - 400 / count) < 80, "folds are of like size"
        rest = folds.outside(TRAIN, fold(f"{number}/{count}"))
        assert ids(rest) == ids(TRAIN) - ids(part)
        assert part.drawn == rest.drawn == f"fold={number}/{count},seed=0"
        assert (part.whole, rest.whole) == (False, False)


def test_a_fold_depends_on_names_and_the_seed_alone() -> None:
    some = replace(TRAIN, items=ITEMS[::-1][:100])
    assert ids(folds.inside(some, fold("1/2"))) == ids(folds.inside(TRAIN, fold("1/2"))) & ids(some)
    assert ids(folds.inside(TRAIN, fold("1/2", 1))) != ids(folds.inside(TRAIN, fold("1/2")))


def test_without_a_fold_nothing_changes() -> None:
    assert folds.inside(TRAIN, DataConfig()) is TRAIN
    assert folds.outside(TRAIN, DataConfig()) is TRAIN


def test_no_text_of_a_fold_is_trained_on_through_a_repeated_row() -> None:
    again = tuple(
        replace(item, id=f"{item.id} again", group=f"{item.group} again", context=f"{item.context.upper()}.")
        for item in ITEMS
    )
    whole = replace(TRAIN, items=(*ITEMS, *again))
    held, rest = folds.inside(whole, fold("1/2")), folds.outside(whole, fold("1/2"))
    assert rest.items
    assert not {twin(item) for item in rest.items} & {twin(item) for item in held.items}
    repeats = len(whole.items) - len(held.items) - len(rest.items)
    assert (
        f"left out are fold 1/2 (data.seed=0), and {repeats} items that repeat a text of it" in rest.notes[-1]
    )


def test_an_empty_fold_is_refused() -> None:
    one = replace(TRAIN, items=ITEMS[:2])
    number = folds.fold_of("pair 0", 2, 0)
    with pytest.raises(FiglangError, match=r"train\.csv has no item in data\.fold"):
        folds.inside(one, fold(f"{3 - number}/2"))
    with pytest.raises(FiglangError, match=r"train\.csv has no item outside data\.fold"):
        folds.outside(one, fold(f"{number}/2"))


@pytest.mark.parametrize("wrong", ["0/2", "3/2", "1/1", "1", "1/2/3", "a/b", "1/1001", ""])
def test_a_wrong_fold_is_named(wrong: str) -> None:
    with pytest.raises(FiglangError, match=r"data\.fold=.* must be K/N"):
        DataConfig(fold=wrong)


def test_a_training_and_an_evaluation_of_its_fold_share_no_item(tmp_path: Path) -> None:
    rows = "".join(f"m{n},x{n // 2},y{n // 2},{n % 2}\n" for n in range(40))
    for name, content in (("train", rows), ("validation", "v,p,q,0\nw,p,q,1\n")):
        (tmp_path / f"{name}.csv").write_text("startphrase,ending1,ending2,labels\n" + content)
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "validation")}
    data, paths = DataConfig(name="own", dataset="figqa_csv", fold="2/3", **files), PathsConfig()
    trained, validation = for_training(data, paths)
    evaluated = load("train", data, paths)
    assert ids(trained) | ids(evaluated) == {f"train-{n}" for n in range(1, 41)}
    assert not ids(trained) & ids(evaluated)
    assert len(validation.items) == 2, "only training items are dealt"


def test_texts_that_are_cut_are_twins_by_their_options_too() -> None:
    cut = Item("a", "a", "The trophy did not fit since the", ("trophy was big", "case was big"), 0, cut=True)
    whole = replace(cut, cut=False)
    others = ("shelf was low", "door was low")
    assert twin(cut) == twin(replace(cut, id="b", gold=1)) != twin(replace(cut, options=others))
    assert twin(whole) == twin(replace(whole, options=others))

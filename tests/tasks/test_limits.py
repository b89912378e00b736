"""`data.limit` takes the first items, or equally many of each part."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.statistics import metrics
from figlang.tasks import registry
from figlang.tasks.limits import limited, shares
from figlang.types import Item, Prediction, Split


def split(*sizes: int) -> Split:
    items = tuple(
        Item(f"{part}-{number}", f"{part}-{number}", "c", ("a", "b"), 0)
        for part, size in enumerate(sizes)
        for number in range(size)
    )
    return Split("several", items, "files", "hash", parts=sizes)


@pytest.mark.parametrize("seed", range(50))
def test_shares_are_as_even_as_the_sizes_allow(seed: int) -> None:
    draw = random.Random(seed)
    sizes = tuple(draw.randint(0, 12) for _ in range(draw.randint(2, 8)))
    limit = draw.randint(0, sum(sizes))
    kept = shares(sizes, limit)
    assert sum(kept) == limit
    assert all(0 <= count <= size for count, size in zip(kept, sizes, strict=True))
    fewest_of_larger = min((c for c, size in zip(kept, sizes, strict=True) if c < size), default=max(sizes))
    assert max(kept) <= fewest_of_larger + 1, "no part gives two more than one that has items left"


def test_each_part_gives_its_first_items_in_their_order() -> None:
    kept = limited(split(3, 1, 5), 6)
    assert [item.id for item in kept.items] == ["0-0", "0-1", "0-2", "1-0", "2-0", "2-1"]
    assert not kept.whole
    assert [item.id for item in limited(split(4, 4), 4).items] == ["0-0", "0-1", "1-0", "1-1"]
    assert kept.notes == ("several: 6 of 9 items, the first 1 to 3 of each of 3 parts, since data.limit=6",)


def test_a_training_can_have_fewer_items_and_the_evaluated_ones_stay() -> None:
    """A learning curve by data.limit had other evaluated items at every point."""
    data, paths = DataConfig(root="package:figlang/samples"), PathsConfig()
    train, validation = registry.for_training(data, paths)
    few, same = registry.for_training(replace(data, train_limit=20), paths)
    assert few.items == train.items[:20]
    assert same.items == validation.items
    assert "the first 20 of" in few.notes[-1]
    assert "since data.train_limit=20" in few.notes[-1]
    assert registry.load("validation", replace(data, train_limit=20), paths).items == validation.items
    assert registry.for_training(replace(data, train_limit=10**6), paths)[0] == train


def test_repeated_metaphors_do_not_count_for_the_limit_of_training_items(tmp_path: Path) -> None:
    header = "startphrase,ending1,ending2,labels\n"
    evaluated = [f"The night was a cave {n},It was dark,It was bright,0" for n in range(3)]
    others = [f"The day was a lamp {n},It was dark,It was bright,1" for n in range(5)]
    for name, lines in (("train", [*evaluated, *others]), ("dev", evaluated)):
        (tmp_path / f"{name}.csv").write_text(header + "\n".join(lines) + "\n")
    files = {"file": str(tmp_path / "train.csv"), "validation": str(tmp_path / "dev.csv")}
    few, _ = registry.for_training(DataConfig(dataset="own", **files, train_limit=4), PathsConfig())
    assert [item.context for item in few.items] == [f"The day was a lamp {n}" for n in range(4)]
    assert few.notes[-1] == "train: the first 4 of 5 items, since data.train_limit=4"


def test_a_pair_that_is_cut_is_not_a_pair() -> None:
    rows = tuple(
        Item(f"{row}-{number}", f"row {row}", "c", ("a", "b"), 0) for row in range(3) for number in range(4)
    )
    some = limited(Split("rows", rows, "file", "hash"), 6)
    assert [item.paired for item in some.items] == [True] * 4 + [False] * 2
    assert some.notes[1] == (
        "rows: data.limit cuts 1 pair, whose items count for accuracy and not for pair accuracy"
    )
    predictions = [Prediction.of(item, (1.0, 0.0)) for item in some.items]
    pairs = metrics.pair_accuracy(predictions)
    assert pairs is not None
    assert pairs.n == 1, "two of four items would be right together more often than four"
    assert len(limited(Split("rows", rows, "file", "hash"), 8).notes) == 1
    assert [item.paired for item in limited(Split("two", rows, "file", "hash", parts=(8, 4)), 7).items] == [
        *[True] * 4,
        *[False] * 3,
    ]


def test_a_split_without_parts_gives_its_first_items() -> None:
    assert [item.id for item in limited(split(4), 2).items] == ["0-0", "0-1"]

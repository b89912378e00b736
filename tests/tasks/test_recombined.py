"""Items made of the contexts of others: what is exchanged, what is left out, and no evaluated text."""

from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.recombined import added, recombined
from figlang.tasks.registry import check, for_training, load
from figlang.types import Inference, Item, Marked, Split

LOUD = Item("a", "1", "The choir was as loud as a whisper", ("It was quiet.", "It was loud."), 0)
LOUDER = Item("b", "2", "Her engine is As Loud as thunder.", ("We hear it.", "We do not."), 0)
DEEP = Item("c", "3", "Talks that had the depth of a puddle", ("They were deep.", "They were not."), 1)
DEEPER = Item("d", "3", "Talks that had the depth of the sea", ("They were deep.", "They were not."), 0)
MARKED = Marked("m", "5", "He is as loud as a horn", ("x", "y"), 0, target=(0, 2))


def made(*items: Item) -> list[tuple[str, str]]:
    return [(item.id, item.context) for item in recombined(items)]


def test_contexts_with_one_frame_exchange_their_images() -> None:
    assert made(LOUD, LOUDER) == [
        ("a+b", "The choir was as loud as thunder."),
        ("b+a", "Her engine is As Loud as a whisper"),
    ]
    (first, second) = recombined([LOUD, LOUDER])
    assert (first.options, first.group, first.gold, first.paired) == (LOUD.options, "1", None, False)
    assert second.options == LOUDER.options


def test_what_is_there_already_is_not_made() -> None:
    assert made(DEEP, DEEPER) == [], "each has the beginning of the other"
    twice = replace(LOUD, id="e", context="THE choir was as loud as thunder")
    assert made(LOUD, LOUDER, twice) == [("b+a", "Her engine is As Loud as a whisper")]
    again = replace(LOUD, id="f", group="9", options=("p", "q"))
    assert [name for name, _ in made(LOUD, again, LOUDER)] == ["a+b", "b+a"], "a text is made once"


def test_other_frames_and_other_items_are_left_alone() -> None:
    assert made(LOUD, DEEP) == []
    noun = replace(LOUDER, context="Her engine had the loud of thunder")
    assert made(LOUD, noun) == [], "an adjective and a noun are two frames"
    assert made(LOUD, replace(LOUDER, cut=True)) == []
    assert made(LOUD, replace(LOUDER, context="Her engine is as loud as")) == [], "there is no image"
    assert made(LOUD, MARKED) == []
    inference = Inference("i", "6", LOUDER.context, ("entailment", "not_entailment"), 0, hypothesis="x")
    assert made(LOUD, inference) == []


def test_each_has_an_id_of_its_own() -> None:
    plus = [
        replace(LOUD, id=name, context=f"Thing {name} is as big as image {name}")
        for name in ("a", "a+b", "b", "b+b")
    ]
    new = [item.id for item in recombined(plus)]
    assert len({*new, *(item.id for item in plus)}) == 4 + 4 * 3
    assert new[:2] == ["a+a+b", "a+b+"], "a+b is there already"


def test_a_number_of_them_is_drawn_by_the_seed() -> None:
    items = tuple(
        Item(f"x{n}", f"g{n}", f"The thing {n} is as big as image {n}", ("p", "q"), 0) for n in range(6)
    )
    split = Split("train", items, "train.csv", "0", parts=(3, 3))
    data = DataConfig(recombined=10)
    few, again, other = (added(split, each) for each in (data, data, replace(data, seed=1)))
    assert few == again
    assert {item.id for item in few.items} != {item.id for item in other.items}
    assert few.items[:6] == items
    assert len({item.context for item in few.items}) == 16
    assert few.drawn == "recombined=10,seed=0"
    assert "10 items without a label" in few.notes[-1]
    assert (few.whole, few.parts) == (False, ())
    every = added(split, replace(data, recombined=1000))
    assert len(every.items) == 6 + 6 * 5
    assert "30 items" in every.notes[-1]
    with pytest.raises(FiglangError, match=r"no two contexts of the 1 item that .* train\.csv have"):
        added(replace(split, items=items[:1]), data)
    with pytest.raises(FiglangError, match=r"and those of train\.csv are cut at a blank; leave it out"):
        added(replace(split, items=tuple(replace(item, cut=True) for item in items)), data)


def test_no_evaluated_context_is_made(tmp_path: Path) -> None:
    header = "startphrase,ending1,ending2,labels\n"
    train = [f"Thing {n} is as big as image {n},p{n},q{n},0\n" for n in range(4)]
    (tmp_path / "train.csv").write_text(header + "".join(train))
    (tmp_path / "dev.csv").write_text(f"{header}thing 0 is as big as image 3.,p,q,0\nElse,p,q,1\n")
    files = {"train": str(tmp_path / "train.csv"), "validation": str(tmp_path / "dev.csv")}
    data = DataConfig(name="own", dataset="figqa_csv", **files, recombined=1000)
    for keep in (True, False):
        found, _ = for_training(replace(data, drop_near_duplicates=keep), PathsConfig())
        extra = [item for item in found.items if item.gold is None]
        assert len(extra) == 4 * 3 - 1
        assert "11 items without a label" in found.notes[-1]
        assert "Thing 0 is as big as image 3" not in {item.context for item in extra}
    assert all(item.gold is not None for item in load("train", data, PathsConfig()).items)


def test_no_context_of_a_fold_is_made(tmp_path: Path) -> None:
    header = "startphrase,ending1,ending2,labels\n"
    places = [(first, second) for first in range(4) for second in range(4)]
    rows = [f"Thing {first} is as big as image {second},p{first},q{second},0\n" for first, second in places]
    (tmp_path / "train.csv").write_text(header + "".join(rows) + "New is as big as it,p,q,1\n")
    (tmp_path / "dev.csv").write_text(f"{header}Else,p,q,1\n")
    files = {"train": str(tmp_path / "train.csv"), "validation": str(tmp_path / "dev.csv")}
    data = DataConfig(name="own", dataset="figqa_csv", **files, recombined=1000, fold="1/2")
    kept = {item.context for item in load("train", data, PathsConfig()).items}
    found, _ = for_training(data, PathsConfig())
    labelled = [item for item in found.items if item.gold is not None]
    assert kept & {item.context for item in recombined(labelled)}, "they could be made"
    assert not kept & {item.context for item in found.items}
    assert len(found.items) > len(labelled)


def test_mixtures_and_inferences_make_none() -> None:
    mixed = DataConfig(name="mix", dataset="mix", mix={"figqa": 1.0}, recombined=5)
    for data in (mixed, DataConfig(name="snli", dataset="snli", recombined=5)):
        with pytest.raises(FiglangError, match=r"data\.recombined makes items of contexts with options"):
            check(data)

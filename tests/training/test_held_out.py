"""Which items are trained on, and what selects the exported epoch."""

from dataclasses import replace

import pytest

from figlang.config import MethodConfig
from figlang.errors import FiglangError
from figlang.tasks.twins import twin
from figlang.training.held_out import select
from figlang.types import Item, Split

TRAIN = Split(
    "train",
    tuple(Item(f"t{n}", f"g{n // 2}", f"m {n}", ("a", "b"), n % 2) for n in range(40)),
    "train.csv",
    "0",
)
DEV = Split(
    "dev", tuple(Item(f"d{n}", f"e{n // 2}", f"p {n}", ("a", "b"), n % 2) for n in range(6)), "dev.csv", "1"
)


def test_held_out_pairs_are_whole_seeded_and_not_trained_on() -> None:
    method = MethodConfig(selection="heldout", held_out=0.2)
    kept, selected, notes = select(method, TRAIN, DEV, seed=0)
    assert len(selected) == 8
    assert not {item.group for item in kept} & {item.group for item in selected}
    assert sorted(item.id for item in (*kept, *selected)) == sorted(item.id for item in TRAIN.items)
    assert select(method, TRAIN, DEV, seed=0)[1] == selected != select(method, TRAIN, DEV, seed=1)[1]
    assert "8 items of 4 clusters held out" in notes[0]


def test_no_held_out_text_is_trained_on_through_a_repeated_row() -> None:
    again = tuple(
        replace(item, id=f"{item.id} again", group=f"{item.group} again", context=f"M  {n}.")
        for n, item in enumerate(TRAIN.items)
    )
    kept, selected, notes = select(
        MethodConfig(selection="heldout", held_out=0.2), replace(TRAIN, items=(*TRAIN.items, *again)), DEV, 0
    )
    assert not {twin(item) for item in kept} & {twin(item) for item in selected}
    assert (
        f"{80 - len(kept) - len(selected)} items whose text is among those held out are not trained on"
        in notes[1]
    )


def test_items_without_a_text_are_nobodys_twins() -> None:
    items = tuple(replace(item, context="") for item in TRAIN.items)
    kept, selected, _ = select(
        MethodConfig(selection="heldout", held_out=0.2), replace(TRAIN, items=items), DEV, 0
    )
    assert len(kept) + len(selected) == 40


def test_everything_held_out_is_refused() -> None:
    items = tuple(replace(item, context="m") for item in TRAIN.items)
    with pytest.raises(FiglangError, match=r"is among those held out too; use method\.selection=none"):
        select(MethodConfig(selection="heldout", held_out=0.2), replace(TRAIN, items=items), DEV, 0)


def test_the_validation_split_selects_by_its_labelled_items_only() -> None:
    method = MethodConfig(selection="validation")
    hidden = tuple(replace(item, gold=None) for item in DEV.items[:2])
    assert select(method, TRAIN, replace(DEV, items=(*hidden, *DEV.items[2:])), 0)[:2] == (
        TRAIN.items,
        DEV.items[2:],
    )
    with pytest.raises(FiglangError, match="every label is hidden, so none can select an epoch"):
        select(method, TRAIN, replace(DEV, items=hidden), 0)


def test_nothing_is_left_to_hold_out_of_one_group() -> None:
    with pytest.raises(FiglangError, match="none can be held out"):
        select(MethodConfig(selection="heldout"), replace(TRAIN, items=TRAIN.items[:2]), DEV, 0)


def test_items_without_a_label_are_trained_on_and_select_nothing() -> None:
    hidden = tuple(
        replace(item, id=f"{item.id}+x", context=f"h {item.id}", gold=None) for item in TRAIN.items
    )
    whole = replace(TRAIN, items=(*TRAIN.items, *hidden))
    kept, selected, _ = select(MethodConfig(selection="heldout", held_out=0.2), whole, DEV, 0)
    assert len(selected) == 8
    assert all(item.gold is not None for item in selected)
    assert sum(item.gold is None for item in kept) == 32, "those made of held-out pairs are left out too"

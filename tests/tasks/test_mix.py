"""Several data sets as one to train on (figlang/tasks/mix.py), and NLI posed as a choice."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from figlang.config import DataConfig, MethodConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.scoring.likelihood import partners_of
from figlang.tasks import mix
from figlang.tasks.nli import reading as nli
from figlang.tasks.registry import check, for_training, load, parts
from figlang.training.held_out import select
from figlang.types import CLASSES, Inference, Item, Split
from train import main as train_command

SAMPLES = "package:figlang/samples"
PATHS = PathsConfig()


def mixture(**proportions: float) -> DataConfig:
    return DataConfig("several", "mix", mix=proportions, root=SAMPLES)


def sizes(train: Split) -> dict[str, int]:
    kinds = Counter(_part(item) for item in train.items)
    return {name: kinds[name] for name in ("figqa", "munch", "snli", "winogrande")}


def _part(item: Item) -> str:
    if item.id.startswith("munch"):
        return "munch"
    return "winogrande" if item.cut else "figqa" if item.paired else "snli"


def test_a_mixture_has_the_training_items_of_its_parts_and_validates_on_the_first() -> None:
    data = mixture(figqa=1, munch=1, winogrande=1, snli=1)
    train, validation = for_training(data, PATHS)
    alone = [for_training(part, PATHS) for part in parts(data)]
    assert list(train.items) == [item for one, _ in alone for item in one.items]
    assert validation == alone[0][1]
    assert train.drawn == "figqa=1,munch=1,winogrande=1,snli=1,seed=0"
    evaluated = {item.id for part in parts(data) for item in load("validation", part, PATHS).items}
    assert not evaluated & {item.id for item in train.items}


def test_proportions_repeat_draw_and_leave_out() -> None:
    once = sizes(for_training(mixture(figqa=1, munch=1, winogrande=1), PATHS)[0])
    train = for_training(mixture(figqa=0.25, munch=2.5, winogrande=0), PATHS)[0]
    assert sizes(train)["figqa"] == pytest.approx(once["figqa"] / 4, abs=2)
    assert sizes(train)["munch"] == pytest.approx(2.5 * once["munch"], rel=0.1)
    assert sizes(train)["winogrande"] == 0
    assert len({item.id for item in train.items}) == len(train.items)
    assert for_training(mixture(figqa=0.25, munch=2.5), PATHS)[0].items == train.items
    assert "items of each part of data.mix: figqa" in train.notes[0]


def test_repeated_pairs_are_pairs_of_their_own_and_are_held_out_together() -> None:
    train = for_training(mixture(figqa=3), PATHS)[0]
    assert {len(members) for members in partners_of(train.items).values()} == {2}
    kept, selected, _ = select(MethodConfig(selection="heldout"), train, train, 0)
    assert len(kept) + len(selected) == len(train.items)
    assert not {mix.original(item.id) for item in kept} & {mix.original(item.id) for item in selected}


def inference(identifier: str, premise: str, label: int, hypothesis: str) -> Inference:
    return Inference(identifier, premise, premise, CLASSES, label, hypothesis=hypothesis)


def test_an_entailed_hypothesis_is_chosen_among_two_of_one_premise() -> None:
    rows = (
        inference("e", "A man sleeps.", 0, "A person rests."),
        inference("n", "A man sleeps.", 1, "He is tired."),
        inference("c", "A man sleeps.", 2, "A man runs."),
        inference("other", "A dog barks.", 2, "A dog is silent."),
    )
    found = nli.choices(Split("some", rows, "some.jsonl", ""))
    assert [(item.id, item.context, item.options, item.gold) for item in found.items] == [
        ("e+c", "A man sleeps.", ("A man runs.", "A person rests."), 1)
    ]
    assert not found.items[0].paired
    assert partners_of(found.items) == {}
    assert found.notes == (
        "some: 1 choice between a hypothesis of the class entailment and one of the class contradiction, "
        "2 rows left over",
    )
    with pytest.raises(FiglangError, match="no premise has both a hypothesis of the class entailment"):
        nli.choices(Split("some", rows[:2], "some.jsonl", ""))


def test_of_munch_the_held_out_sentences_are_not_in_a_mixture() -> None:
    held_out = {item.group for item in load("validation", parts(mixture(munch=1))[0], PATHS).items}
    taught = [
        item
        for item in for_training(mixture(figqa=1, munch=2), PATHS)[0].items
        if item.id.startswith("munch")
    ]
    assert taught
    assert not held_out & {mix.original(item.group) for item in taught}


def test_of_impli_the_silver_pairs_are_choices_in_a_mixture() -> None:
    (gold,) = (load("validation", part, PATHS) for part in parts(mixture(impli=1)))
    whole = for_training(mixture(figqa=1, impli=1), PATHS)[0]
    taught = whole.items[len(for_training(mixture(figqa=1), PATHS)[0].items) :]
    assert taught
    assert all(len(item.options) == 2 and item.gold is not None for item in taught)
    assert not {item.context for item in taught} & {item.context for item in gold.items}


@pytest.mark.parametrize(
    ("proportions", "said"),
    [
        ({"figqa": 1, "miqa": 1}, "data.mix has no part 'miqa'"),
        ({"figqa": -1}, "data.mix.figqa=-1 must be at least 0"),
        ({"figqa": 0}, "every part of data.mix is 0"),
        ({}, "data.mix and data.dataset=mix go together"),
    ],
)
def test_mistakes_in_a_mixture(proportions: dict[str, float], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        check(mixture(**proportions))


@pytest.mark.parametrize(
    "words",
    [
        ["model=minilm", "model.max_length=128"],
        ["model=smollm2", "peft=lora", "method.direction=both", "method.selection=heldout"],
        ["model=smollm2", "method=lm"],
    ],
)
def test_a_mixture_trains_every_kind_of_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    fixed = ["debug=fast", "data.limit=16", "trainer=cpu", "trainer.progress=false", f"run={tmp_path}/run"]
    monkeypatch.setattr(sys, "argv", ["train.py", "data=multitask", "data.mix.munch=1.5", *words, *fixed])
    train_command()
    content = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (
        "|trained:multitask_sample(figqa=1,munch=1.5,winogrande=0.25,snli_dev_test=0.5,seed=0)@"
        in content["signature"]
    )
    assert content["data"]["validation"]["items"] == 16
    looked_in = {(one["data"], one["split"]) for one in content["contamination"]["evaluated"]}
    assert looked_in == {
        *(("figqa", "validation"), ("figqa", "test"), ("munch", "validation"), ("winogrande", "validation")),
        ("snli_dev_test", "validation"),
    }
    training = content["training"]
    assert training["tokens_per_second"] > 0
    assert 50 < training["peak_memory_mb"] < 100_000
    assert training["peak_share"] is None, "a fit of seconds is too short to be measured against"

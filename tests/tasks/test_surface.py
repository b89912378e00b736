"""Laws of figlang/tasks/surface.py and what describe and the report show of it: hand-worked items."""

from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.reports import surface as shown
from figlang.tables import markdown
from figlang.tasks import surface
from figlang.tasks.registry import load
from figlang.types import CLASSES, Inference, Item
from tests.report_runs import report, run


def item(name: str, context: str, options: tuple[str, ...], gold: int | None) -> Item:
    return Item(name, name, context, options, gold)


ITEMS = [
    item("1", "The dog barks.", ("the dog is loud", "no"), 0),
    item("2", "The cat purrs.", ("yes", "it is glad about all"), 1),
    item("3", "The fish swims.", ("abc", "abd"), 0),
    item("4", "The bird sings.", ("long answer", "bird"), 1),
    item("5", "Hidden.", ("longer", "x"), None),
]


def found(items: list[Item], training: list[Item] | None = None) -> dict[str, surface.Baseline]:
    return {one.rule: one for one in surface.measure(items, training or [])}


@pytest.mark.parametrize(
    ("rule", "right", "ties"),
    [
        ("longest option", 2, 1),  # 1, 2; wrong about 4
        ("shortest option", 1, 1),  # 4
        ("most words of the context", 2, 2),  # 1: two of four words; 4: its only word; none in 2 and 3
        ("fewest words of the context", 0, 2),
        ("first option", 2, 0),
    ],
)
def test_every_rule_by_hand(rule: str, right: int, ties: int) -> None:
    one = found(ITEMS)[rule]
    assert (one.accuracy.value, one.accuracy.n, one.ties) == (right / 4, 4, ties)
    assert one.decided is not None
    assert (one.decided.value, one.decided.n) == (right / (4 - ties), 4 - ties)
    assert one.accuracy.low <= one.accuracy.value <= one.accuracy.high


def test_the_first_option_is_not_the_last() -> None:
    assert [found([one])["first option"].accuracy.value for one in ITEMS[:2]] == [1, 0]


def test_frequency_goes_by_right_answers_in_training_whatever_their_case_and_spaces() -> None:
    training = [
        item("t1", "a", ("No", "yes"), 0),
        item("t2", "b", ("yes", "maybe"), 1),
        item("t3", "c", ("x", "the dog  is loud"), 1),
    ]
    one = found(
        [item("1", "The dog barks.", ("the dog is loud", "yes"), 0), item("2", "d", ("NO", "maybe"), 1)],
        training,
    )
    # 1: "the dog is loud" was right once, "yes" never; 2: both once.
    assert (one["right most often in training"].accuracy.value, one["right most often in training"].ties) == (
        0.5,
        1,
    )
    assert "right most often in training" not in found(ITEMS)


def test_in_pairs_no_rule_about_the_options_beats_chance() -> None:
    """The two items of a pair have the same options and other answers."""
    pairs = [
        Item(f"{n}{gold}", str(n), "m", ("short", "rather long"), gold) for n in range(40) for gold in (0, 1)
    ]
    one = found(pairs)["longest option"].accuracy
    assert (one.value, one.chance) == (0.5, 0.5)


def test_the_order_of_the_options_changes_no_rule_but_the_first() -> None:
    turned = [
        item(one.id, one.context, one.options[::-1], None if one.gold is None else 1 - one.gold)
        for one in ITEMS
    ]
    ours, theirs = found(ITEMS), found(turned)
    assert all(ours[rule].accuracy == theirs[rule].accuracy for rule in ours if rule != "first option")


def test_classes_have_no_lengths() -> None:
    items: list[Item] = [Inference(str(n), str(n), "p", CLASSES, n % 2, hypothesis="h") for n in range(4)]
    assert set(found(items)) == {"first option"}
    by_frequency = found(items, items[:1])["right most often in training"]
    assert by_frequency.accuracy.value == 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog's here – again!", {"the", "dog's", "here", "again"}),
        ("वह पानी है।", {"वह", "पानी", "है"}),  # vowel signs are part of the word
        ("Caf\u00e9 cafe\u0301", {"café"}),
        ("3.5 kg", {"3.5", "kg"}),
        ("…", set()),
    ],
)
def test_words_are_those_of_unicode(text: str, words: set[str]) -> None:
    assert surface.words(text) == words


def test_without_labels_there_is_no_table() -> None:
    assert shown.table([ITEMS[4]], (), False) is None
    assert shown.table([], (), False) is None


def test_a_report_has_the_baselines_of_its_items(tmp_path: Path) -> None:
    split = load("validation", DataConfig(root="package:figlang/samples"), PathsConfig())
    page = report(tmp_path / "out", run(tmp_path / "one", split, 4))
    assert "Rules without a model" in page
    training = load("train", DataConfig(root="package:figlang/samples"), PathsConfig()).items
    made = shown.table(split.items, training, False)
    assert made is not None
    assert (tmp_path / "out" / "tables" / "surface.md").read_text(encoding="utf-8").strip() == markdown(
        made
    ).strip()
    assert "right most often in training" in page

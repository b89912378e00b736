"""Laws of figlang/tasks/munch/reading.py: any files in MUNCH's form."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.munch import reading as munch
from figlang.tasks.munch.marks import mark
from figlang.tasks.registry import check, for_training, load
from figlang.types import Item, Marked, Split

Row = dict[str, str]

SENTENCE = {
    "i0": "0",
    "idx": "7",
    "s0": "He <b>saw</b> that he saw.",
    "novelty": "0.25",
    "sid": "a-1",
    "genre": "NEWS",
    "human_ans": "noticed understood",
}
OTHER = SENTENCE | {
    "i0": "1",
    "idx": "9",
    "s0": "Prices <b>fell</b> & rose.",
    "sid": "a-2",
    "human_ans": "dropped",
    "novelty": "-0.1",
}
TRIPLE = {
    "i0": "0",
    "s0_idx": "7",
    "s0": SENTENCE["s0"],
    "s1": "He <b>noticed</b> that he saw.",
    "s1_label": "apt",
    "s2": "He <b>cut</b> that he saw.",
    "s2_label": "inapt",
}
NEITHER = TRIPLE | {"i0": "1", "s1": "He <b>sawed</b> that he saw.", "s1_label": "inapt"}
BOTH = TRIPLE | {"i0": "2", "s2": "He <b>understood</b> that he saw.", "s2_label": "apt"}
OF_OTHER = TRIPLE | {
    "i0": "3",
    "s0_idx": "9",
    "s0": OTHER["s0"],
    "s1": "Prices <b>dropped</b> & rose.",
    "s2": "Prices <b>tripped</b> & rose.",
}


def write(
    folder: Path,
    triples: Sequence[Row] = (TRIPLE, NEITHER, BOTH, OF_OTHER),
    sentences: Sequence[Row] = (SENTENCE, OTHER),
) -> Path:
    """The two tables in upstream layout; returns the folder that holds munch/."""
    for (path, _, _), rows in zip(
        (munch.FILES["judgement"], munch.FILES["generation"]), (triples, sentences), strict=True
    ):
        file = folder / "munch" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="") as opened:
            table = csv.DictWriter(opened, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return folder


def read(root: Path, split: str = "validation", **settings: Any) -> Split:
    return load(split, DataConfig("munch", "munch", **settings), PathsConfig(data=str(root)))


# Items


def test_a_triple_is_asked_about_in_words_and_in_sentences(tmp_path: Path) -> None:
    word, sentence = read(write(tmp_path, [TRIPLE]), order="upstream").items
    attributes = {"genre": ("NEWS",), "novelty": ("0.25",)}
    context, options = "He saw that he saw.", ("He noticed that he saw.", "He cut that he saw.")
    last = (munch.BOTH, munch.NEITHER)
    assert word == Marked(
        "munch-triple-0-word",
        "a-1",
        context,
        ("noticed", "cut", *last),
        0,
        attributes | {"form": ("word",)},
        target=(3, 6),
    )
    assert sentence == Marked(
        "munch-triple-0-sentence",
        "a-1",
        context,
        (*options, *last),
        0,
        attributes | {"form": ("sentence",)},
        target=(3, 6),
    )
    assert (word.word, word.highlighted()) == ("saw", "He *saw* that he saw.")


def test_the_target_is_where_its_tag_is_though_the_word_comes_twice(tmp_path: Path) -> None:
    second = SENTENCE | {"s0": "He saw that he <b>saw</b>."}
    (item,) = read(write(tmp_path, sentences=[second]), question="generation").items
    assert isinstance(item, Marked)
    assert (item.target, item.highlighted(), item.highlighted("cut")) == (
        (15, 18),
        "He saw that he *saw*.",
        "He saw that he *cut*.",
    )


def test_a_sentence_of_generation_has_its_answers_as_options(tmp_path: Path) -> None:
    items = read(write(tmp_path), question="generation").items
    assert [(item.id, item.group, item.options, item.gold) for item in items] == [
        ("munch-sentence-7", "a-1", ("noticed", "understood"), None),
        ("munch-sentence-9", "a-2", ("dropped",), None),
    ]


def test_residue_is_repaired_in_what_is_shown(tmp_path: Path) -> None:
    odd = TRIPLE | {"s1": "He <b>noticed</b> &gt;that he saw.", "s2": "He <b>cut</b> R&amp;D &lt;b&gt;."}
    (item,) = read(write(tmp_path, [odd]), question="sentence", order="upstream").items
    assert item.options[:2] == ("He noticed >that he saw.", "He cut R&D <b>.")


@pytest.mark.parametrize(("labels", "gold"), munch.GOLD.items())
def test_gold_follows_the_labels_as_they_are_shown(
    tmp_path: Path, labels: tuple[str, str], gold: int
) -> None:
    row = TRIPLE | dict(zip(("s1_label", "s2_label"), labels, strict=True))
    (item,) = read(write(tmp_path, [row]), question="word", order="upstream").items
    assert item.gold == gold


def triples(count: int) -> list[Row]:
    return [TRIPLE | {"i0": str(number)} for number in range(count)]


def test_the_seeded_order_is_one_draw_per_triple_whatever_else_is_asked(tmp_path: Path) -> None:
    root = write(tmp_path, triples(40))
    word, sentence = (read(root, question=form).items for form in munch.FORMS)
    assert [item.gold for item in word] == [item.gold for item in sentence]
    assert 8 < sum(item.gold == 0 for item in word) < 32
    few = read(write(tmp_path / "few", triples(40)[25:]), question="word").items
    assert [(item.id, item.gold) for item in few] == [(item.id, item.gold) for item in word[25:]]
    assert [item.gold for item in read(root, question="word", seed=1).items] != [item.gold for item in word]


def test_both_orders_are_each_others_mirror(tmp_path: Path) -> None:
    items = read(write(tmp_path), question="word", order="both").items
    assert [item.id for item in items[:2]] == ["munch-triple-0-1-word", "munch-triple-0-2-word"]
    for one, other in zip(items[::2], items[1::2], strict=True):
        assert one.options[:2] == other.options[1::-1]
        assert (one.gold, other.gold) in ((0, 1), (2, 2), (3, 3))
        assert (one.attributes["order"], other.attributes["order"]) == (("as upstream",), ("swapped",))


def test_upstreams_order_warns_of_what_always_a_scores(tmp_path: Path) -> None:
    split = read(write(tmp_path), question="word", order="upstream")
    assert [item.gold for item in split.items] == [0, 3, 2, 0]
    assert (
        "for_judgement.csv: data.order=upstream keeps apt candidates first, so always A scores 50.0 %"
        in split.notes
    )


def test_what_made_the_items_is_named_for_the_signature(tmp_path: Path) -> None:
    root = write(tmp_path)
    assert read(root, seed=3).drawn == "order=seeded,seed=3"
    assert read(root, order="both").drawn == "order=both"
    assert read(root, question="paraphrase", held_out=1.0).drawn == "order=seeded,seed=0,held_out=1,seed=0"
    assert read(root, question="generation").drawn == ""


# Paraphrase, and its two parts


def test_a_paraphrase_is_the_choice_between_an_apt_and_an_inapt_sentence(tmp_path: Path) -> None:
    (first, _) = read(write(tmp_path), question="paraphrase", held_out=1.0, order="upstream").items
    assert first == Item(
        "munch-triple-0",
        "a-1",
        "He saw that he saw.",
        ("He noticed that he saw.", "He cut that he saw."),
        0,
        {"genre": ("NEWS",), "novelty": ("0.25",)},
        paired=False,
    )


def many(count: int) -> tuple[list[Row], list[Row]]:
    """Two targets in each of `count` sentences, with a triple each."""
    sentences = [
        SENTENCE | {"i0": str(number), "idx": str(number), "sid": f"s-{number // 2}"}
        for number in range(2 * count)
    ]
    return [TRIPLE | {"i0": str(number), "s0_idx": str(number)} for number in range(2 * count)], sentences


def test_no_sentence_is_on_both_sides(tmp_path: Path) -> None:
    root = write(tmp_path, *many(20))
    train, validation = for_training(
        DataConfig("munch", "munch", question="paraphrase"), PathsConfig(data=str(root))
    )
    assert not {item.group for item in train.items} & {item.group for item in validation.items}
    assert (len(train.items), len(validation.items)) == (30, 10)
    assert train.drawn == validation.drawn == "order=seeded,seed=0,held_out=0.25,seed=0"
    other = read(root, question="paraphrase", seed=1)
    assert {item.group for item in other.items} != {item.group for item in validation.items}


@pytest.mark.parametrize(
    ("split", "settings", "message"),
    [
        ("test", {"question": "paraphrase"}, "has no test part; data.held_out=1 evaluates on all"),
        ("train", {"question": "paraphrase", "held_out": 1.0}, "held_out=1 leaves no item of .* to train on"),
        (
            "validation",
            {"question": "paraphrase", "held_out": 0.0},
            "held_out=0 leaves no item of .* to validate on",
        ),
        (
            "train",
            {"question": "word"},
            "question=word is for evaluation; data=munch_paraphrase can be trained on",
        ),
    ],
)
def test_a_part_that_is_not_there_is_one_line(
    tmp_path: Path, split: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(FiglangError, match=message):
        read(write(tmp_path), split, **settings)


@pytest.mark.parametrize(
    ("name", "value"), [("question", "implies"), ("held_out", 1.5), ("order", "random"), ("seed", -1)]
)
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(FiglangError, match=str(value)):
        check(DataConfig("munch", "munch", **{name: value}))


def test_a_question_of_another_data_set_is_refused() -> None:
    with pytest.raises(
        FiglangError,
        match="question=word is not a question of data=miqa; choose one of both, implies, implied-by",
    ):
        check(DataConfig("miqa", "miqa", question="word"))


# Rows that cannot be used

BAD_TRIPLES = [
    ({"s1_label": "good"}, "labels 'good' and 'inapt'"),
    ({"s1": "He noticed that he saw."}, "s0, s1 or s2 has not exactly one target"),
    ({"s2": "He <b>cut</b> that he <b>saw</b>."}, "s0, s1 or s2 has not exactly one target"),
    ({"s2": "He </b>cut<b> that he saw."}, "s0, s1 or s2 has not exactly one target"),
    ({"s2": "He <b></b> that he saw."}, "s0, s1 or s2 has not exactly one target"),
    ({"s1": "He <b>took note</b> that he saw."}, "candidate 'took note' with white space"),
    ({"s2": TRIPLE["s1"]}, "two candidates 'noticed'"),
    ({"s0_idx": "8"}, "no sentence of for_generation has idx '8' and this s0"),
    ({"s0": "He saw that he <b>saw</b>!"}, "no sentence of for_generation has idx '7' and this s0"),
    ({"i0": "3"}, "i0 '3' occurs twice"),
]


@pytest.mark.parametrize(("change", "what"), BAD_TRIPLES)
def test_a_triple_that_cannot_be_used_is_left_out(tmp_path: Path, change: Row, what: str) -> None:
    root = write(tmp_path, [OF_OTHER, TRIPLE | change])
    split = read(root, question="word")
    assert [item.id for item in split.items] == ["munch-triple-3-word"]
    (note,) = [note for note in split.notes if "left out" in note]
    assert note.startswith(f"for_judgement.csv row 2: {what}, row left out; ")
    with pytest.raises(FiglangError, match=r"row 2: .* \(data.strict=true refuses the file") as error:
        read(root, question="word", strict=True)
    assert "\n" not in str(error.value)


BAD_SENTENCES = [
    ({"s0": "He saw."}, "s0 has not exactly one target"),
    ({"s0": "<b>He</b> <b>saw</b>."}, "s0 has not exactly one target"),
    ({"genre": "POETRY"}, "genre 'POETRY'"),
    ({"novelty": "high"}, "novelty 'high'"),
    ({"novelty": "nan"}, "novelty 'nan'"),
    ({"human_ans": "noticed  understood"}, "answer '' with white space in human_ans"),
    ({"human_ans": "took\tnote"}, "answer 'took\\tnote' with white space in human_ans"),
    ({"human_ans": "noticed noticed"}, "answer 'noticed' occurs twice"),
    ({"human_ans": " "}, "empty human_ans"),
    ({"sid": ""}, "empty sid"),
    ({"idx": "9"}, "idx '9' occurs twice"),
    ({"i0": "1"}, "i0 '1' occurs twice"),
]


@pytest.mark.parametrize(("change", "what"), BAD_SENTENCES)
def test_a_sentence_that_cannot_be_used_is_left_out(tmp_path: Path, change: Row, what: str) -> None:
    root = write(tmp_path, sentences=[OTHER, SENTENCE | change])
    split = read(root, question="generation")
    assert [item.id for item in split.items] == ["munch-sentence-9"]
    assert f"for_generation.csv row 2: {what}, row left out" in split.notes[0]
    with pytest.raises(FiglangError, match=r"data.strict=true refuses the file"):
        read(root, question="generation", strict=True)


@pytest.mark.parametrize(
    ("triples", "sentences", "message"),
    [
        (
            [TRIPLE | {"s1_label": ""}],
            [SENTENCE],
            "for_judgement.csv: no usable row; for_judgement.csv row 1: labels",
        ),
        (
            [TRIPLE],
            [SENTENCE | {"s0": ""}],
            "for_generation.csv: no usable row; for_generation.csv row 1: empty s0",
        ),
        ([{"i0": "0"}], [SENTENCE], "for_judgement.csv: no column 's0_idx'"),
    ],
)
def test_files_without_a_usable_row_are_one_line(
    tmp_path: Path, triples: Sequence[Row], sentences: Sequence[Row], message: str
) -> None:
    with pytest.raises(FiglangError, match=message):
        read(write(tmp_path, triples, sentences))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"no correct_answers/for_generation\.csv in"):
        read(tmp_path)


# Marks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word",
        "<b></b>",
        "<b> </b>",
        "<b>a</b><b>b</b>",
        "<b>a",
        "a</b>",
        "<b><b>a</b>",
        "<b>a</b></b>",
        "</b>a<b>",
    ],
)
def test_a_sentence_without_exactly_one_mark(text: str) -> None:
    assert mark(text) is None


def test_a_marked_word_part() -> None:
    found = mark("no-<b>fixed-</b>abode")
    assert found is not None
    assert (found.plain, found.starred, found.plain[slice(*found.target)]) == (
        "no-fixed-abode",
        "no-*fixed-*abode",
        "fixed-",
    )


# The bundled sample


def test_the_bundled_sample_is_clean() -> None:
    data = DataConfig("munch_sample", "munch", root="package:figlang/samples", strict=True)
    split = load("validation", data, PathsConfig())
    assert len(split.items) == 2 * 213
    assert [note for note in split.notes if "left out" in note or ".json" in note] == []
    assert len(load("validation", replace(data, question="generation"), PathsConfig()).items) == 95

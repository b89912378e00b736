"""Laws of figlang/data/munch.py: any files in MUNCH's form, and the facts of the published ones."""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.data import for_training, load, munch
from figlang.data.marks import mark
from figlang.errors import FiglangError
from figlang.types import Judgement, Paraphrase, Split, Substitution
from tests.conftest import published

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
    folder: Path, triples: Sequence[Row] = (TRIPLE, NEITHER, BOTH, OF_OTHER), sentences: Sequence[Row] = (SENTENCE, OTHER)
) -> Path:
    """The two tables in upstream layout; returns the folder that holds munch/."""
    for (path, _), rows in zip((munch.FILES["judgement"], munch.FILES["generation"]), (triples, sentences), strict=True):
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
    assert word == Judgement(
        "munch-triple-0-word", "a-1", context, ("noticed", "cut", *last), 0, attributes | {"form": ("word",)}, target=(3, 6)
    )
    assert sentence == Judgement(
        "munch-triple-0-sentence", "a-1", context, (*options, *last), 0, attributes | {"form": ("sentence",)}, target=(3, 6)
    )
    assert (word.word, word.highlighted()) == ("saw", "He *saw* that he saw.")


def test_the_target_is_where_its_tag_is_though_the_word_comes_twice(tmp_path: Path) -> None:
    second = SENTENCE | {"s0": "He saw that he <b>saw</b>."}
    (item,) = read(write(tmp_path, sentences=[second]), question="generation").items
    assert isinstance(item, Substitution)
    assert (item.target, item.highlighted(), item.highlighted("", "", "cut")) == (
        (15, 18),
        "He saw that he *saw*.",
        "He saw that he cut.",
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
def test_gold_follows_the_labels_as_they_are_shown(tmp_path: Path, labels: tuple[str, str], gold: int) -> None:
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
    assert "for_judgement.csv: data.order=upstream keeps apt candidates first, so always A scores 50.0 %" in split.notes


def test_what_made_the_items_is_named_for_the_signature(tmp_path: Path) -> None:
    root = write(tmp_path)
    assert read(root, seed=3).drawn == "order=seeded,seed=3"
    assert read(root, order="both").drawn == "order=both"
    assert read(root, question="paraphrase", held_out=1.0).drawn == "order=seeded,seed=0,held_out=1,seed=0"
    assert read(root, question="generation").drawn == ""


# Paraphrase, and its two parts


def test_a_paraphrase_is_the_choice_between_an_apt_and_an_inapt_sentence(tmp_path: Path) -> None:
    (first, _) = read(write(tmp_path), question="paraphrase", held_out=1.0, order="upstream").items
    assert first == Paraphrase(
        "munch-triple-0",
        "a-1",
        "He saw that he saw.",
        ("He noticed that he saw.", "He cut that he saw."),
        0,
        {"genre": ("NEWS",), "novelty": ("0.25",)},
    )


def many(count: int) -> tuple[list[Row], list[Row]]:
    """Two targets in each of `count` sentences, with a triple each."""
    sentences = [SENTENCE | {"i0": str(number), "idx": str(number), "sid": f"s-{number // 2}"} for number in range(2 * count)]
    return [TRIPLE | {"i0": str(number), "s0_idx": str(number)} for number in range(2 * count)], sentences


def test_no_sentence_is_on_both_sides(tmp_path: Path) -> None:
    root = write(tmp_path, *many(20))
    train, validation = for_training(DataConfig("munch", "munch", question="paraphrase"), PathsConfig(data=str(root)))
    assert not {item.group for item in train.items} & {item.group for item in validation.items}
    assert (len(train.items), len(validation.items)) == (30, 10)
    assert train.drawn == validation.drawn == "order=seeded,seed=0,held_out=0.25,seed=0"
    other = read(root, question="paraphrase", seed=1)
    assert {item.group for item in other.items} != {item.group for item in validation.items}


@pytest.mark.parametrize(
    ("split", "settings", "message"),
    [
        ("test", {"question": "paraphrase"}, "has no test part; data.held_out=1 evaluates on all"),
        ("train", {"question": "paraphrase", "held_out": 1.0}, "held_out=1 leaves nothing of .* to train on"),
        ("validation", {"question": "paraphrase", "held_out": 0.0}, "held_out=0 leaves nothing of .* to validate on"),
        ("train", {"question": "word"}, "question=word is for evaluation; data=munch_paraphrase can be trained on"),
    ],
)
def test_a_part_that_is_not_there_is_one_line(tmp_path: Path, split: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        read(write(tmp_path), split, **settings)


@pytest.mark.parametrize(("name", "value"), [("question", "implies"), ("held_out", 1.5), ("order", "random"), ("seed", -1)])
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(FiglangError, match=str(value)):
        DataConfig("munch", "munch", **{name: value})


def test_a_question_of_another_data_set_is_refused() -> None:
    with pytest.raises(FiglangError, match="question=word is none of data=miqa, which has both, implies, implied-by"):
        DataConfig("miqa", "miqa", question="word")


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
        ([TRIPLE | {"s1_label": ""}], [SENTENCE], "for_judgement.csv: no usable row; for_judgement.csv row 1: labels"),
        ([TRIPLE], [SENTENCE | {"s0": ""}], "for_generation.csv: no usable row; for_generation.csv row 1: empty s0"),
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


# Task files

ENTRY = {"s0": "He *saw* that he saw.", "options": [{"text": "noticed", "label": "apt"}, {"text": "cut", "label": "inapt"}]}


def task(root: Path, name: str, content: Any) -> None:
    folder = root / "munch" / "tasks"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


def notes(split: Split) -> list[str]:
    return [note for note in split.notes if ".json" in note]


def test_a_task_file_that_agrees_says_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", [{"dataset_index": 0, **ENTRY}])
    task(root, "generation", [{"dataset_index": 0, "s0": SENTENCE["s0"]}, {"dataset_index": 1, "s0": OTHER["s0"]}])
    assert notes(read(root, strict=True)) == []


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        ([{"dataset_index": 0, **ENTRY, "s0": "He saw that he *saw*."}], "row 1: word_judge.json has another s0"),
        ([{"dataset_index": 0, **ENTRY, "options": ENTRY["options"][::-1]}], "row 1: word_judge.json has another options"),
        ([], "row 1: word_judge.json lacks it"),
        (
            [{"dataset_index": 0, **ENTRY}, {"dataset_index": 5, **ENTRY}],
            "word_judge.json has 1 entries of no row, dataset_index 5",
        ),
    ],
)
def test_a_task_file_that_disagrees_is_noted_and_the_table_read(tmp_path: Path, entries: Any, note: str) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", entries)
    split = read(root, question="word", order="upstream")
    assert split.items[0].options[:2] == ("noticed", "cut")
    (found,) = notes(split)
    assert found.startswith(f"for_judgement.csv {note}" if note.startswith("row") else f"for_judgement.csv: {note}")
    with pytest.raises(FiglangError, match="refuses the file"):
        read(root, strict=True)


@pytest.mark.parametrize("content", ["{", "[1]", '[{"s0": ""}]', "7"])
def test_a_damaged_task_file_is_one_line(tmp_path: Path, content: str) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", content)
    with pytest.raises(FiglangError, match=r"word_judge\.json is no list of JSON objects with a dataset_index") as error:
        read(root)
    assert "\n" not in str(error.value)


# Parts of speech


def tags(root: Path, *rows: tuple[str, str, str], name: str = "munch/derived/pos_from_vua_seq.tsv") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in (("idx", "target", "upos"), *rows)))
    return path


def pos(split: Split) -> Mapping[str, Sequence[str]]:
    return {item.id: item.attributes.get("pos", ()) for item in split.items}


def test_parts_of_speech_come_from_the_file_beside_the_tables(tmp_path: Path) -> None:
    root = write(tmp_path)
    tags(root, ("7", "saw", "VERB"), ("9", "fell", ""))
    split = read(root, question="generation")
    assert pos(split) == {"munch-sentence-7": ("VERB",), "munch-sentence-9": ()}
    assert "1 of 2 targets have no part of speech; data.tagger=en_core_web_sm tags them" in split.notes
    assert {item.attributes["pos"] for item in read(root).items if item.group == "a-1"} == {("VERB",)}


def test_a_file_of_the_users_own_goes_before(tmp_path: Path) -> None:
    root = write(tmp_path)
    tags(root, ("7", "saw", "VERB"))
    own = tags(root, ("7", "saw", "NOUN"), ("9", "climbed", "VERB"), name="mine.tsv")
    split = read(root, question="generation", pos=str(own))
    assert pos(split)["munch-sentence-7"] == ("NOUN",)
    assert "mine.tsv row 2: target 'climbed' is 'fell' in the sentence, row left out; tag the same release" in split.notes
    with pytest.raises(FiglangError, match="no such file"):
        read(root, pos=str(tmp_path / "none.tsv"))


def test_without_any_file_nothing_has_a_part_of_speech(tmp_path: Path) -> None:
    assert set(pos(read(write(tmp_path), question="generation")).values()) == {()}


def test_a_tagger_fills_what_the_file_lacks(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{"TEXT": "fell"}]], {"POS": "VERB"})
    ruler.add([[{"TEXT": "-"}]], {"POS": "PUNCT"})
    pipeline.to_disk(tmp_path / "tagger")
    root = write(tmp_path, sentences=[SENTENCE, OTHER | {"s0": "Prices half<b>-fell</b> & rose."}])
    tags(root, ("7", "saw", "NOUN"))
    split = read(root, question="generation", tagger=str(tmp_path / "tagger"))
    # Of a word part in several tokens, the longest.
    assert pos(split) == {"munch-sentence-7": ("NOUN",), "munch-sentence-9": ("VERB",)}
    with pytest.raises(FiglangError, match="no spaCy pipeline 'none'"):
        read(root, tagger="none")
    with pytest.raises(FiglangError, match="gives no part of speech"):
        read(write(tmp_path / "more"), tagger=str(tmp_path / "tagger"))


# Marks


@pytest.mark.parametrize(
    "text", ["", "word", "<b></b>", "<b>a</b><b>b</b>", "<b>a", "a</b>", "<b><b>a</b>", "<b>a</b></b>", "</b>a<b>"]
)
def test_a_sentence_without_exactly_one_mark(text: str) -> None:
    assert mark(text) is None


def test_a_marked_word_part() -> None:
    found = mark("no-<b>fixed-</b>abode")
    assert found is not None
    assert (found.plain, found.starred, found.plain[slice(*found.target)]) == ("no-fixed-abode", "no-*fixed-*abode", "fixed-")


# The bundled sample, and the published files


def test_the_bundled_sample_is_clean() -> None:
    data = DataConfig("munch_sample", "munch", root="package:figlang/data/samples", strict=True)
    split = load("validation", data, PathsConfig())
    assert len(split.items) == 2 * 213
    assert [note for note in split.notes if "left out" in note or ".json" in note] == []
    assert len(load("validation", replace(data, question="generation"), PathsConfig()).items) == 95


@pytest.fixture(scope="module")
def munch_root() -> Path:
    return Path(published("munch/correct_answers/for_judgement.csv"))


def test_counts_of_the_published_sentences(munch_root: Path) -> None:
    split = read(munch_root, question="generation", strict=True)
    assert split.sha256 == munch.FILES["generation"][1]
    assert (len(split.items), sum(len(item.options) for item in split.items)) == (2953, 10261)
    assert Counter(item.attributes["genre"][0] for item in split.items) == dict(
        zip(munch.GENRES, (1061, 922, 593, 377), strict=True)
    )
    novelties = [float(item.attributes["novelty"][0]) for item in split.items]
    assert (min(novelties), max(novelties), round(sum(novelties) / 2953, 3)) == (-0.3, 0.71, 0.057)
    beside = [
        item.context[: item.target[0]][-1:] + item.context[item.target[1] :][:1]
        for item in split.items
        if isinstance(item, Substitution)
    ]
    assert sum(any(map(str.isalnum, letters)) for letters in beside) == 15
    assert sum(">" in item.context for item in split.items) == 13


def test_counts_of_the_published_triples(munch_root: Path) -> None:
    split = read(munch_root, question="sentence", strict=True)
    assert split.sha256 == munch.FILES["judgement"][1]
    gold = Counter(item.gold for item in split.items)
    assert (len(split.items), gold[0] + gold[1], gold[2], gold[3]) == (1492, 1072, 45, 375)
    assert len({(item.context, item.target) for item in split.items if isinstance(item, Judgement)}) == 728
    assert Counter(item.attributes["genre"][0] for item in split.items) == {"NEWS": 631, "ACPROSE": 618, "FICTION": 243}
    assert not any("&gt;" in text for item in split.items for text in (item.context, *item.options))
    # Near 36, 36, 3 and 25 % once they are shuffled, 71.8 % A if they are not.
    assert [gold[letter] / 1492 for letter in range(4)] == pytest.approx([0.36, 0.36, 0.03, 0.25], abs=0.02)
    upstream = read(munch_root, question="word", order="upstream")
    assert any("always A scores 71.8 %" in note for note in upstream.notes)


def test_the_parts_of_the_published_triples(munch_root: Path) -> None:
    paths = PathsConfig(data=str(munch_root))
    train, validation = for_training(DataConfig("munch", "munch", question="paraphrase"), paths)
    assert len(train.items) + len(validation.items) == 1072
    assert not {item.group for item in train.items} & {item.group for item in validation.items}
    assert not {item.context for item in train.items} & {item.context for item in validation.items}
    assert len(read(munch_root, question="paraphrase", held_out=1.0).items) == 1072


def test_adverbs_of_the_published_triples_are_ten(munch_root: Path) -> None:
    published("munch/derived/pos_from_vua_seq.tsv")
    found = Counter(item.attributes.get("pos", ("",))[0] for item in read(munch_root, question="word").items)
    assert found["ADV"] == 10

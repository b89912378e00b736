"""The bundled samples (figlang/samples): small, and yet data sets in the exact forms of the published
ones."""

import csv
import json
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.files.sources import package_path
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.registry import for_training, load
from figlang.types import Split

ROOT = Path(__file__).parents[2]
SOURCE = "package:figlang/samples"
SAMPLES = package_path(SOURCE)
SPLITS = ["train", "validation", "test"]


# Fig-QA


@cache
def figqa_split(name: str) -> Split:
    return figqa.load(name, "medium", SOURCE, "", strict=True)


def pairs(split: Split) -> Counter[str]:
    return Counter(item.group for item in split.items)


def fold(text: str) -> str:
    return text.lower().rstrip(" .")


@pytest.mark.parametrize("name", SPLITS)
def test_figqa_has_no_row_level_problem(name: str) -> None:
    assert figqa_split(name).notes == ()  # and strict raised nothing


def test_figqa_has_at_least_120_pairs() -> None:
    assert sum(len(pairs(figqa_split(name))) for name in SPLITS) >= 120


@pytest.mark.parametrize("name", SPLITS)
def test_figqa_rows_are_all_paired(name: str) -> None:
    assert set(pairs(figqa_split(name)).values()) == {2}


@pytest.mark.parametrize("name", ["train", "validation"])
def test_figqa_labels_alternate(name: str) -> None:
    assert all(item.gold == place % 2 for place, item in enumerate(figqa_split(name).items))


def test_figqa_test_labels_are_hidden() -> None:
    assert {item.gold for item in figqa_split("test").items} == {None}


def test_figqa_phrases_are_unique_over_all_splits() -> None:
    phrases = Counter(fold(item.context) for name in SPLITS for item in figqa_split(name).items)
    assert [phrase for phrase, count in phrases.items() if count > 1] == []


def test_figqa_endings_of_a_row_differ() -> None:
    assert [
        item.id
        for name in SPLITS
        for item in figqa_split(name).items
        if fold(item.options[0]) == fold(item.options[1])
    ] == []


def test_figqa_position_says_nothing_about_meaning() -> None:
    # The ending with a negation is first about as often as second: a rule on the words of the options alone
    # learns nothing.
    negated = [
        [bool(re.search(r"\b(not|no|never|nothing|none)\b|n't", option)) for option in item.options]
        for item in figqa_split("train").items[::2]
    ]
    first, second = (sum(row[place] and not row[1 - place] for row in negated) for place in (0, 1))
    assert min(first, second) / (first + second) > 0.3


def test_figqa_has_similes_and_metaphors() -> None:
    similes = [bool(re.search(r"\b(like|as)\b", item.context)) for item in figqa_split("train").items]
    assert 0.2 < sum(similes) / len(similes) < 0.9


def test_figqa_columns_are_upstreams() -> None:
    for path in (SAMPLES / "figqa" / "filtered").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == ["startphrase", "ending1", "ending2", "labels", "valid", "qid"]


def test_figqa_qids_are_of_one_pair_each() -> None:
    qids: Counter[str] = Counter()
    for path in (SAMPLES / "figqa" / "filtered").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            qids.update(row["qid"] for row in csv.DictReader(file))
    assert set(qids.values()) == {2}


def test_figqa_validation_items_have_a_commonsense_category() -> None:
    assert all(item.attributes["commonsense"] for item in figqa_split("validation").items)


def test_figqa_commonsense_counts_its_labels() -> None:
    with (SAMPLES / "figqa" / "commonsense_annotation" / "dev.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    assert all(
        int(row["num_labels"]) == sum(row[short] == "1" for short in figqa.COMMONSENSE) for row in rows
    )


def test_figqa_sample_needs_nothing_dropped_from_training() -> None:
    train, _ = for_training(DataConfig(root=SOURCE), PathsConfig())
    assert len(train.items) == len(figqa_split("train").items)


def test_figqa_test_labels_of_the_tests_fit_the_sample() -> None:
    labels = str(ROOT / "tests" / "data" / "figqa_sample_test_labels.csv")
    split = load("test", DataConfig(root=SOURCE, test_labels=labels), PathsConfig())
    golds: dict[str, set[int | None]] = {}
    for item in split.items:
        golds.setdefault(item.group, set()).add(item.gold)
    assert set(map(frozenset, golds.values())) == {frozenset({0, 1})}


# MiQA


@cache
def miqa() -> list[dict[str, str]]:
    lines = (SAMPLES / "miqa" / "metaphor_inference_qa.tsv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split("\t") for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_miqa_has_at_least_40_rows() -> None:
    assert len(miqa()) >= 40


def test_miqa_columns_are_upstreams() -> None:
    columns = ["literal_premise", "metaphorical_premise", "literal_conclusion", "metaphorical_conclusion"]
    assert all(list(row) == columns for row in miqa())


def test_miqa_statements_are_unique() -> None:
    counts = Counter(statement for row in miqa() for statement in row.values())
    assert [statement for statement, count in counts.items() if count > 1] == []


def test_miqa_statements_are_bare() -> None:
    # As upstream: no quoting, no final punctuation, no spaces around.
    odd = [
        text
        for row in miqa()
        for text in row.values()
        if not text or text != text.strip() or text[-1] in ".!?," or '"' in text
    ]
    assert odd == []


def test_miqa_statements_begin_lower_case_unless_with_i_or_a_name() -> None:
    # A name is a first word that occurs in no statement in lower case.
    words = {word for row in miqa() for text in row.values() for word in re.findall(r"\w+", text)}
    upper = [re.findall(r"\w+", text)[0] for row in miqa() for text in row.values() if text[0].isupper()]
    assert [word for word in upper if word != "I" and word.lower() in words] == []


def test_miqa_premises_share_a_word() -> None:
    # What makes an item hard: the literal and the metaphorical premise hold the same expression.
    def words(text: str) -> set[str]:
        return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}

    apart = [row for row in miqa() if not words(row["literal_premise"]) & words(row["metaphorical_premise"])]
    assert apart == []


# MUNCH


def table(name: str) -> list[dict[str, str]]:
    with (SAMPLES / "munch" / "correct_answers" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def task(name: str) -> dict[int, dict[str, Any]]:
    rows = json.loads((SAMPLES / "munch" / "tasks" / f"{name}.json").read_text(encoding="utf-8"))
    indexed = {row["dataset_index"]: row for row in rows}
    assert len(indexed) == len(rows)
    return indexed


JUDGEMENT, GENERATION = table("for_judgement.csv"), table("for_generation.csv")


def bare(sentence: str) -> str:
    return sentence.replace("<b>", "").replace("</b>", "")


def starred(sentence: str) -> str:
    return sentence.replace("<b>", "*").replace("</b>", "*")


def target(sentence: str) -> str:
    (found,) = re.findall(r"<b>(.+?)</b>", sentence)
    return str(found)


def test_munch_has_at_least_60_sentences() -> None:
    assert len({bare(row["s0"]) for row in JUDGEMENT}) >= 60


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (JUDGEMENT, ["i0", "s0_idx", "s0", "s1", "s1_label", "s2", "s2_label"]),
        (GENERATION, ["i0", "idx", "s0", "novelty", "sid", "genre", "human_ans"]),
    ],
    ids=["judgement", "generation"],
)
def test_munch_columns_are_upstreams(rows: list[dict[str, str]], columns: list[str]) -> None:
    assert list(rows[0]) == columns


@pytest.mark.parametrize("rows", [JUDGEMENT, GENERATION], ids=["judgement", "generation"])
def test_munch_rows_are_numbered_from_zero(rows: list[dict[str, str]]) -> None:
    assert [int(row["i0"]) for row in rows] == list(range(len(rows)))


def test_munch_sentences_have_one_marked_target() -> None:
    sentences = [row[name] for row in JUDGEMENT for name in ("s0", "s1", "s2")] + [
        row["s0"] for row in GENERATION
    ]
    odd = [
        text
        for text in sentences
        if len(re.findall(r"<b>[^<>*]+</b>", text)) != 1 or text.count("<") != 2 or "*" in text
    ]
    assert odd == []


def test_munch_candidates_differ_from_their_sentence_by_the_target() -> None:
    # A candidate may also change the article before it: "an idea" for "a thought".
    def frame(text: str) -> str:
        return re.sub(r"\b[Aa]n? ?<", "a <", re.sub(r"<b>.+?</b>", "<>", text))

    odd = [row["i0"] for row in JUDGEMENT if not frame(row["s0"]) == frame(row["s1"]) == frame(row["s2"])]
    assert odd == []


def test_munch_candidates_are_single_words_other_than_the_target() -> None:
    triples = [[target(row[name]) for name in ("s0", "s1", "s2")] for row in JUDGEMENT]
    assert [
        triple for triple in triples if len(set(triple)) != 3 or any(" " in word for word in triple[1:])
    ] == []


def test_munch_apt_candidates_come_first() -> None:
    labels = {(row["s1_label"], row["s2_label"]) for row in JUDGEMENT}
    assert labels == {("apt", "inapt"), ("inapt", "inapt"), ("apt", "apt")}


def test_munch_triples_are_all_pairs_of_a_sentences_candidates() -> None:
    found: dict[str, list[frozenset[str]]] = {}
    for row in JUDGEMENT:
        found.setdefault(row["s0_idx"], []).append(frozenset({target(row["s1"]), target(row["s2"])}))
    for triples in found.values():
        candidates = sorted(frozenset().union(*triples))
        assert Counter(triples) == Counter(map(frozenset, combinations(candidates, 2)))


def test_munch_candidates_keep_their_label() -> None:
    labels: dict[tuple[str, str], set[str]] = {}
    for row in JUDGEMENT:
        for name in ("s1", "s2"):
            labels.setdefault((row["s0_idx"], target(row[name])), set()).add(row[f"{name}_label"])
    assert [key for key, found in labels.items() if len(found) > 1] == []


def test_munch_judged_sentences_are_sentences_of_generation() -> None:
    sentences = {row["idx"]: row["s0"] for row in GENERATION}
    assert [row["i0"] for row in JUDGEMENT if sentences.get(row["s0_idx"]) != row["s0"]] == []


def test_munch_apt_candidates_are_human_answers() -> None:
    answers = {row["idx"]: row["human_ans"].split() for row in GENERATION}
    apt = {
        (row["s0_idx"], target(row[name]))
        for row in JUDGEMENT
        for name in ("s1", "s2")
        if row[f"{name}_label"] == "apt"
    }
    assert sorted((index, word) for index, word in apt if word not in answers[index]) == []


def test_munch_human_answers_are_distinct_words() -> None:
    answers = [row["human_ans"].split() for row in GENERATION]
    assert all(1 <= len(words) <= 7 for words in answers)
    assert all(len(set(words)) == len(words) for words in answers)


def test_munch_genres_and_novelties_are_upstreams() -> None:
    assert {row["genre"] for row in GENERATION} == {"NEWS", "ACPROSE", "FICTION", "CONVRSN"}
    assert all(-0.3 <= float(row["novelty"]) <= 0.71 for row in GENERATION)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("word_judge", starred),
        ("sent_judge_mword", starred),
        ("sent_judge_implicit", bare),
        ("sent_judge_msent", bare),
    ],
)
def test_munch_judgement_tasks_agree_with_the_table(name: str, sentence: Any) -> None:
    word = target if name == "word_judge" else bare
    expected = {
        int(row["i0"]): {
            "dataset_index": int(row["i0"]),
            "s0": sentence(row["s0"]),
            "options": [{"text": word(row[place]), "label": row[f"{place}_label"]} for place in ("s1", "s2")],
        }
        for row in JUDGEMENT
    }
    assert task(name) == expected


def test_munch_generation_task_agrees_with_the_table() -> None:
    assert task("generation") == {
        int(row["i0"]): {"dataset_index": int(row["i0"]), "s0": row["s0"]} for row in GENERATION
    }


def test_munch_sentence_tasks_are_the_same_file_twice() -> None:
    tasks = SAMPLES / "munch" / "tasks"
    assert (tasks / "sent_judge_implicit.json").read_bytes() == (tasks / "sent_judge_msent.json").read_bytes()


def test_munch_parts_of_speech_are_of_the_targets() -> None:
    lines = (SAMPLES / "munch" / "derived" / "pos_from_vua_seq.tsv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split("\t") for line in lines]
    assert header == ["i0", "idx", "sid", "target", "upos"]
    assert [row[:4] for row in rows] == [
        [row["i0"], row["idx"], row["sid"], target(row["s0"])] for row in GENERATION
    ]
    assert {row[4] for row in rows} <= {"NOUN", "VERB", "ADJ", "ADV", "ADP", "PROPN"}


# MABL


@pytest.mark.parametrize("question", ["all", "with_english"])
def test_mabl_has_two_pairs_or_more_in_every_language(question: str) -> None:
    data = DataConfig(name="mabl", dataset="mabl", question=question)
    split = load("validation", data, PathsConfig(data=SOURCE))
    assert set(pairs(split).values()) == {2}
    counts = Counter(language for item in split.items for language in item.attributes["language"])
    assert len(counts) == (7 if question == "all" else 8)
    assert min(counts.values()) >= 4

"""The bundled sample of MUNCH: small, and yet a data set in the exact form of the published one."""

import csv
import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from tests.samples.places import SAMPLES


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

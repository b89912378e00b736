"""What lies beside the tables of MUNCH (figlang/tasks/munch/reading.py): its task files, and parts of
speech."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.types import Split
from tests.tasks.munch.test_reading import OTHER, SENTENCE, TRIPLE, read, write

# Task files

ENTRY = {
    "s0": "He *saw* that he saw.",
    "options": [{"text": "noticed", "label": "apt"}, {"text": "cut", "label": "inapt"}],
}


def task(root: Path, name: str, content: Any) -> None:
    folder = root / "munch" / "tasks"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


def notes(split: Split) -> list[str]:
    return [note for note in split.notes if ".json" in note]


def test_a_task_file_that_agrees_says_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", [{"dataset_index": 0, **ENTRY}])
    task(
        root,
        "generation",
        [{"dataset_index": 0, "s0": SENTENCE["s0"]}, {"dataset_index": 1, "s0": OTHER["s0"]}],
    )
    assert notes(read(root, strict=True)) == []


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        (
            [{"dataset_index": 0, **ENTRY, "s0": "He saw that he *saw*."}],
            "row 1: word_judge.json has another s0",
        ),
        (
            [{"dataset_index": 0, **ENTRY, "options": ENTRY["options"][::-1]}],
            "row 1: word_judge.json has another options",
        ),
        ([], "row 1: word_judge.json lacks it"),
        (
            [{"dataset_index": 0, **ENTRY}, {"dataset_index": 5, **ENTRY}],
            "word_judge.json has 1 entries of no row, dataset_index 5",
        ),
        (
            [{"dataset_index": 0, **ENTRY, "s0": "He saw."}, {"dataset_index": 0, **ENTRY}],
            "word_judge.json has 1 entries whose dataset_index another one has",
        ),
    ],
)
def test_a_task_file_that_disagrees_is_noted_and_the_table_read(
    tmp_path: Path, entries: Any, note: str
) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", entries)
    split = read(root, question="word", order="upstream")
    assert split.items[0].options[:2] == ("noticed", "cut")
    (found,) = notes(split)
    assert found.startswith(
        f"for_judgement.csv {note}" if note.startswith("row") else f"for_judgement.csv: {note}"
    )
    with pytest.raises(FiglangError, match="refuses the file"):
        read(root, strict=True)


@pytest.mark.parametrize("content", ["{", "[1]", '[{"s0": ""}]', "7"])
def test_a_damaged_task_file_is_one_line(tmp_path: Path, content: str) -> None:
    root = write(tmp_path, [TRIPLE])
    task(root, "word_judge", content)
    with pytest.raises(
        FiglangError, match=r"word_judge\.json is not a list of JSON objects with a dataset_index"
    ) as error:
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
    assert (
        "mine.tsv row 2: target 'climbed' is 'fell' in the sentence, row left out; tag the same release"
        in split.notes
    )
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

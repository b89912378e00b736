"""Parts of speech of MUNCH's targets: from a file, or from a tagger."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.types import Split
from tests.tasks.munch.test_reading import OTHER, SENTENCE, read, write


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

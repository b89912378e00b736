"""IMPLI: classes and types by the names of files, gold and silver, choices."""

from collections import Counter
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import registry
from figlang.tasks.impli import reading
from figlang.types import TWO_CLASSES, Split
from tests.conftest import published

SAMPLES = "package:figlang/samples"


def load(split: str, question: str, root: str = SAMPLES) -> Split:
    data = DataConfig(name="impli", dataset="impli", question=question)
    return registry.load(split, data, PathsConfig(data=root))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("stem", "gold", "kind"),
    [
        ("manual_e", "entailment", "manual"),
        ("manual_ne", "not_entailment", "manual"),
        ("manual_antonyms_ne", "not_entailment", "antonym"),
        ("adversarial_definition_ne_pie", "not_entailment", "adversarial definition"),
        ("fig_context_magpie_e", "entailment", "figurative context"),
        ("lit_context_semeval_ne", "not_entailment", "literal context"),
        ("replacement_cc_e", "entailment", "replacement"),
    ],
)
def test_the_name_of_a_file_says_class_and_type(tmp_path: Path, stem: str, gold: str, kind: str) -> None:
    path = write(tmp_path, f"{stem}.tsv", "Time ran out.\tTime ended.\n")
    (item,) = reading.read(path, "idioms").items
    assert item.options[item.gold or 0] == gold
    assert item.attributes["type"] == (kind,)
    assert item.texts == ("Time ran out.", "Time ended.")


def test_a_file_whose_name_has_no_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="must hold _e or _ne"):
        reading.read(write(tmp_path, "manual.tsv", "a\tb\n"), "idioms")


def test_a_file_has_no_header_and_its_third_cell_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path, "manual_e.tsv", "Time ran out.\tTime ended.\t0.4\nA.\tB.\t\n")
    assert [item.texts for item in reading.read(path, "idioms").items] == [
        ("Time ran out.", "Time ended."),
        ("A.", "B."),
    ]


def test_repeated_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "manual_e.tsv", "A.\tB.\nA.\tB.\nA.\tC.\n")
    split = reading.read(path, "idioms")
    assert [item.id for item in split.items] == ["idioms-manual_e-1", "idioms-manual_e-3"]
    assert any("1 row repeats an earlier row, left out" in note for note in split.notes)
    assert len(reading.read(path, "idioms", distinct=False).items) == 3


def test_a_file_of_another_encoding_is_read_if_it_is_known(tmp_path: Path) -> None:
    path = write(tmp_path, "replacement_tsvetkov_e.tsv", b"\x93Fire\x94 spread.\tIt grew.\n")
    (item,) = reading.read(path, "metaphors", encoding="cp1252").items
    assert item.context == "\u201cFire\u201d spread."
    with pytest.raises(FiglangError, match="not UTF-8"):
        reading.read(path, "metaphors")


def test_silver_is_for_training_and_gold_for_evaluation() -> None:
    types = {
        split: {kind for item in load(split, "both").items for kind in item.attributes["type"]}
        for split in ("train", "validation", "test")
    }
    assert types["validation"] == types["test"] == {"manual", "antonym"}
    assert not types["train"] & types["validation"]


@pytest.mark.parametrize(("question", "figure"), [("idioms", "idiom"), ("metaphors", "metaphor")])
def test_a_question_takes_one_figure(question: str, figure: str) -> None:
    for wanted in (question, f"{question}_choice"):
        items = load("validation", wanted).items
        assert {item.attributes["figure"] for item in items} == {(figure,)}


def test_pairs_of_one_premise_are_one_group() -> None:
    items = load("validation", "idioms").items
    groups = {item.context: item.group for item in items}
    assert len(groups) == 3
    assert all(item.group == groups[item.context] for item in items)


def test_a_choice_has_an_entailed_and_another_hypothesis_of_its_premise() -> None:
    classes = {item.texts: item.gold for item in load("validation", "idioms").items}
    choices = load("validation", "idioms_choice").items
    assert len(choices) == 3
    for item in choices:
        right = item.gold
        assert right is not None
        assert [classes[item.context, option] for option in item.options] == [right, 1 - right]


@pytest.mark.parametrize(
    ("split", "question", "classes"),
    [
        ("validation", "idioms", (528, 629)),
        ("validation", "metaphors", (377, 279)),
        ("train", "metaphors", (644, 0)),
    ],
)
def test_published_files_have_as_many_pairs(split: str, question: str, classes: tuple[int, int]) -> None:
    items = load(split, question, published("impli/idioms/manual_e.tsv")).items
    counts = Counter(item.gold for item in items)
    assert (counts[0], counts[1]) == classes
    assert {item.options for item in items} == {TWO_CLASSES}

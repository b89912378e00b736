"""Laws of figlang/tasks/miqa/reading.py: any file in MiQA's form, and the facts of the published one."""

from collections import Counter
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.miqa import reading as miqa
from figlang.tasks.registry import for_training, load
from figlang.types import Item

HEADER = "literal_premise\tmetaphorical_premise\tliteral_conclusion\tmetaphorical_conclusion\n"
ROW = "the glass is cold\tthe welcome was cold\ta hand warms it\tthe guests left early\n"
OTHER = "he lost his keys\the lost his temper\the cannot get in\the shouted\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "mine.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_row_becomes_two_questions_in_both_orders(tmp_path: Path) -> None:
    premise, conclusion = "the welcome was cold", "a hand warms it"
    assert miqa.read(write(tmp_path, HEADER + ROW)).items == (
        Item(
            "miqa-1-implies-1",
            "miqa-1",
            premise,
            ("the guests left early", conclusion),
            0,
            {"question": ("implies",), "order": ("right first",)},
        ),
        Item(
            "miqa-1-implies-2",
            "miqa-1",
            premise,
            (conclusion, "the guests left early"),
            1,
            {"question": ("implies",), "order": ("wrong first",)},
        ),
        Item(
            "miqa-1-implied-by-1",
            "miqa-1",
            conclusion,
            ("the glass is cold", premise),
            0,
            {"question": ("implied-by",), "order": ("right first",)},
        ),
        Item(
            "miqa-1-implied-by-2",
            "miqa-1",
            conclusion,
            (premise, "the glass is cold"),
            1,
            {"question": ("implied-by",), "order": ("wrong first",)},
        ),
    )


@pytest.mark.parametrize("question", ["implies", "implied-by"])
def test_one_question_type_is_half_of_both(tmp_path: Path, question: str) -> None:
    path = write(tmp_path, HEADER + ROW + OTHER)
    both, one = miqa.read(path), miqa.read(path, question)
    assert one.items == tuple(item for item in both.items if item.attributes["question"] == (question,))
    assert len(one.items) == len(both.items) // 2
    assert (both.drawn, one.drawn) == ("", f"question={question}"), "of one file, told apart in the signature"


def test_the_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    turned = "".join("\t".join(reversed(line.split("\t"))) + "\n" for line in (HEADER + ROW).splitlines())
    assert miqa.read(write(tmp_path, turned)).items == miqa.read(write(tmp_path, HEADER + ROW)).items


def test_a_quotation_mark_is_text_and_noted(tmp_path: Path) -> None:
    # With quoting, this one would swallow the next row.
    split = miqa.read(write(tmp_path, HEADER + ROW.replace("the glass", '"the glass') + OTHER))
    assert len(split.items) == 8
    assert split.items[2].options[0] == '"the glass is cold'
    (note,) = split.notes
    assert note.startswith("mine.tsv row 1: quotation mark in literal_premise, read as text; delete it")


def test_a_blank_cell_leaves_its_row_out(tmp_path: Path) -> None:
    split = miqa.read(write(tmp_path, HEADER + ROW.replace("a hand warms it", " ") + OTHER))
    assert {item.group for item in split.items} == {"miqa-2"}
    assert split.notes == (
        "mine.tsv row 1: empty literal_conclusion, row left out; fill the cell or delete the row",
    )


def test_equal_options_are_noted(tmp_path: Path) -> None:
    split = miqa.read(write(tmp_path, HEADER + ROW.replace("the guests left early", "a hand warms it")))
    assert split.notes == (
        "mine.tsv row 1: the two options of its implies question are equal; correct a statement",
    )


@pytest.mark.parametrize(
    ("row", "note"),
    [
        (
            ROW.rpartition("\t")[0] + "\n",
            "no cell under metaphorical_conclusion, row left out; separate cells by tabs",
        ),
        (
            ROW.replace("a hand", "a\thand"),
            "5 cells under 4 columns, row left out; leave no tab inside a cell",
        ),
    ],
)
def test_a_row_with_a_cell_too_few_or_too_many_is_left_out(tmp_path: Path, row: str, note: str) -> None:
    split = miqa.read(write(tmp_path, HEADER + row + OTHER))
    assert len(split.items) == 4
    assert split.notes == (f"mine.tsv row 1: {note}",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            HEADER.replace("literal_premise\t", "", 1) + ROW,
            "no column 'literal_premise'",
            id="missing column",
        ),
        pytest.param("", "no column", id="empty file"),
        pytest.param(HEADER, "no usable row; add rows", id="header only"),
        pytest.param(
            HEADER + "\t\t\t\n", "no usable row; mine.tsv row 1: empty literal_premise", id="blank row only"
        ),
        pytest.param((HEADER + ROW).replace("\t", ","), "no column", id="commas"),
        pytest.param((HEADER + ROW).encode() + b"caf\xe9\tb\tc\td\n", "line 3 is not UTF-8", id="latin-1"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(FiglangError, match=message) as error:
        miqa.read(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", [HEADER + ROW.replace("a hand warms it", "") + OTHER, HEADER + ROW.replace("the", '"the')]
)
def test_strict_refuses_a_file_with_a_problem(tmp_path: Path, content: str) -> None:
    with pytest.raises(FiglangError, match=r"row 1: .* \(data\.strict=true refuses the file"):
        miqa.read(write(tmp_path, content), strict=True)


def published(folder: Path, rows: int) -> PathsConfig:
    (folder / "miqa").mkdir()
    statements = "\t".join(f"{name} {{0}}" for name in miqa.COLUMNS) + "\n"
    (folder / "miqa" / miqa.FILE).write_text(
        HEADER + "".join(statements.format(number) for number in range(rows))
    )
    return PathsConfig(data=str(folder))


def test_a_file_of_149_rows_is_noted_and_refused_if_strict(tmp_path: Path) -> None:
    paths = published(tmp_path, 149)
    data = DataConfig("miqa", "miqa")
    assert load("validation", data, paths).notes == (
        "metaphor_inference_qa.tsv: 149 rows, the published file has 150; restore it, or compare with no "
        "published number",
    )
    with pytest.raises(FiglangError, match="149 rows"):
        load("validation", DataConfig("miqa", "miqa", strict=True), paths)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=r"no metaphor_inference_qa\.tsv in"):
        load("validation", DataConfig("miqa", "miqa"), PathsConfig(data=str(tmp_path)))


def test_there_is_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="MiQA has no training questions"):
        for_training(DataConfig("miqa", "miqa"), PathsConfig(data=str(tmp_path)))


def test_the_bundled_sample_is_clean() -> None:
    data = DataConfig("miqa_sample", "miqa", root="package:figlang/samples", strict=True)
    split = load("validation", data, PathsConfig())
    assert (split.notes, len(split.items)) == ((), 44 * 4)


# The published file


def test_counts_of_the_published_file(figqa_root: str) -> None:
    split = load("validation", DataConfig("miqa", "miqa", strict=True), PathsConfig(data=figqa_root))
    assert split.sha256 == miqa.SHA256
    assert split.notes == ()
    assert len({item.group for item in split.items}) == 150
    questions = {(item.group, item.context, frozenset(item.options)) for item in split.items}
    assert (len(questions), len(split.items), len({item.id for item in split.items})) == (300, 600, 600)
    kinds = Counter((item.attributes["question"], item.gold) for item in split.items)
    assert kinds == {((kind,), gold): 150 for kind in ("implies", "implied-by") for gold in (0, 1)}


def test_the_published_statements_are_bare_and_one_conclusion_stands_twice(figqa_root: str) -> None:
    items = load("validation", DataConfig("miqa", "miqa"), PathsConfig(data=figqa_root)).items
    statements = [text for item in items for text in (item.context, *item.options)]
    assert not any(text[-1] in ".?!" or '"' in text for text in statements)
    stems = Counter(item.context for item in items if item.id.endswith("implied-by-1"))
    assert [stem for stem, count in stems.items() if count > 1] == ["I am at high altitude"]

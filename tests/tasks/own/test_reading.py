"""Laws of `data=own`: neither the form of a file, nor of its right options, nor the order of its columns
changes an item."""

from pathlib import Path
from typing import Any

import pytest

from figlang.config import ColumnsConfig, DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import registry
from tests.tasks.own.written import EXPECTED, FORMS, FRASES, NAMED, load, rows, write


@pytest.mark.parametrize("gold", ["number", "letter", "text"])
@pytest.mark.parametrize("form", FORMS)
def test_items_are_the_same_in_every_form(form: str, gold: str, tmp_path: Path) -> None:
    assert load(write(tmp_path / f"frases.{form}", rows(gold)), columns=NAMED).items == EXPECTED


@pytest.mark.parametrize("gold", ["number", "letter", "text"])
def test_a_guess_reads_what_names_read(gold: str, tmp_path: Path) -> None:
    file = write(tmp_path / "frases.csv", rows(gold))
    guessed = load(file)
    named = load(file, columns=ColumnsConfig(context="frase", gold="respuesta", attributes=["tipo"]))
    assert [item.texts for item in guessed.items] == [item.texts for item in EXPECTED]
    assert [item.gold for item in guessed.items] == [item.gold for item in named.items]
    assert [item.gold for item in guessed.items] == [item.gold for item in EXPECTED]
    assert "guessed" in " ".join(guessed.notes)


@pytest.mark.parametrize(
    ("column", "value", "noted"), [("idiom", "modismo {}", True), ("question", "¿Qué significa?", False)]
)
def test_the_context_is_the_sentence_and_not_its_idiom_or_one_question(
    column: str, value: str, noted: bool, tmp_path: Path
) -> None:
    content = [{**row, column: value.format(number)} for number, row in enumerate(rows())]
    loaded = load(write(tmp_path / "frases.csv", content))
    assert [item.context for item in loaded.items] == [frase for frase, *_ in FRASES]
    assert (f"{column} may be the context as well, and is not read" in " ".join(loaded.notes)) == noted
    assert ("as well" in " ".join(loaded.notes)) == noted


def test_the_order_of_columns_changes_nothing(tmp_path: Path) -> None:
    turned = [dict(reversed(row.items())) for row in rows()]
    assert load(write(tmp_path / "turned.csv", turned), columns=NAMED).items == EXPECTED


def test_a_column_without_a_name_is_not_a_column(tmp_path: Path) -> None:
    """A table of pandas begins with the numbers of its rows, under a blank header."""
    (tmp_path / "named").mkdir()
    blank = write(tmp_path / "frases.csv", [{"": n // 2, **row} for n, row in enumerate(rows())])
    assert load(blank).items == load(write(tmp_path / "named" / "frases.csv", rows())).items
    with pytest.raises(FiglangError, match=r"no column 'no'; the columns are clave, frase, .*, tipo$"):
        load(blank, columns=ColumnsConfig(context="no"))


@pytest.mark.parametrize("column", ["letter", "order"])
def test_a_column_does_not_take_the_name_of_an_attribute_of_figlang(column: str, tmp_path: Path) -> None:
    file = write(tmp_path / "frases.csv", [{**row, column: "A"} for row in rows()])
    named = ColumnsConfig(context="frase", gold="respuesta", attributes=[column, "tipo"])
    loaded = load(file, columns=named)
    assert all(item.attributes[f"own {column}"] == ("A",) for item in loaded.items)
    assert all(column not in item.attributes for item in loaded.items)
    assert f"frases.csv: {column} stands in tables as own {column}" in " ".join(loaded.notes)


@pytest.mark.parametrize("cell", ['["a b", "c", "d"]', "['a b', 'c', 'd']", "a b|c| d"])
def test_a_cell_can_hold_a_list(cell: str, tmp_path: Path) -> None:
    file = write(tmp_path / "lists.csv", [{"question": "Which one is it", "options": cell, "gold": 2}])
    (item,) = load(file).items
    assert item.options == ("a b", "c", "d")
    assert item.gold == 2


def test_items_can_have_other_numbers_of_options(tmp_path: Path) -> None:
    several = [
        {"text": f"Text number {n}", "choices": [f"option {k}" for k in range(n)], "label": n - 1}
        for n in (2, 3, 26)
    ]
    items = load(write(tmp_path / "several.jsonl", several)).items
    assert [len(item.options) for item in items] == [2, 3, 26]
    assert [item.gold for item in items] == [1, 2, 25]


def test_an_object_in_an_object_has_a_column(tmp_path: Path) -> None:
    nested = [
        {
            "question": "What holds water well",
            "choices": {"text": ["a sieve", "a cup"], "label": ["A", "B"]},
            "answerKey": "B",
        }
    ]
    (item,) = load(write(tmp_path / "nested.jsonl", nested)).items
    assert (item.options, item.gold) == (("a sieve", "a cup"), 1)


def test_a_hidden_label_is_hidden_and_stays(tmp_path: Path) -> None:
    content = rows()
    content[1]["respuesta"] = -1
    items = load(write(tmp_path / "hidden.csv", content), columns=NAMED).items
    assert [item.gold for item in items] == [0, None, 2, 3, 0]


def test_repeated_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "again.csv", [*rows(), {**rows()[0], "clave": "again"}])
    assert load(file, columns=NAMED).items == EXPECTED
    assert "1 row repeats an earlier row (row 6 repeats row 1), left out" in " ".join(
        load(file, columns=NAMED).notes
    )
    kept = load(file, columns=NAMED, drop_duplicates=False)
    assert len(kept.items) == len(EXPECTED) + 1


def test_items_about_one_text_are_a_cluster_and_a_column_says_otherwise(tmp_path: Path) -> None:
    content = [
        {"text": "The sea was a mirror", "a": "It was calm", "b": "It was wild", "gold": "a", "pair": "x"},
        {"text": "The sea was a wall", "a": "It was calm", "b": "It was wild", "gold": "b", "pair": "x"},
        {"text": "The sea was a mirror", "a": "It was flat", "b": "It was deep", "gold": "a", "pair": "y"},
    ]
    file = write(tmp_path / "sea.csv", content)
    free = load(file, columns=ColumnsConfig(options=["a", "b"], cluster="a"))
    assert [item.group for item in free.items] == ["It was calm", "It was calm", "It was flat"]
    paired = load(file, columns=ColumnsConfig(options=["a", "b"], cluster="pair"))
    assert [(item.group, item.paired) for item in paired.items] == [("x", True), ("x", True), ("y", False)]
    alone = load(
        write(tmp_path / "alone.csv", [{k: v for k, v in row.items() if k != "pair"} for row in content])
    )
    assert [item.group for item in alone.items] == ["alone-1", "alone-2", "alone-1"]


def test_numbers_from_1_are_refused_or_named(tmp_path: Path) -> None:
    content = [{**row, "respuesta": row["respuesta"] + 1} for row in rows()]
    file = write(tmp_path / "base1.csv", content)
    with pytest.raises(
        FiglangError, match=r"count from 1 .*; write 0 for the first option, or give"
    ) as raised:
        load(file, columns=NAMED)
    assert "\n" not in str(raised.value)
    named = ColumnsConfig(**{**vars(NAMED), "gold_as": "number_from_1"})
    assert load(file, columns=named).items == EXPECTED


def test_a_right_option_that_can_be_two_things_is_refused(tmp_path: Path) -> None:
    content = [{"text": f"Two and {n} make", "options": ["1", "0", "2"], "gold": str(n)} for n in (0, 1)]
    file = write(tmp_path / "sums.jsonl", content)
    with pytest.raises(
        FiglangError, match=r"can be a number or a text of an option; give data\.columns\.gold_as="
    ):
        load(file)
    assert [item.gold for item in load(file, columns=ColumnsConfig(gold_as="text")).items] == [1, 0]
    assert [item.gold for item in load(file, columns=ColumnsConfig(gold_as="number")).items] == [0, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"frase": ""}, r"row 2: empty frase, row left out"),
        ({"op2": ""}, r"row 2: no options in op1, op2, op3, op4, row left out"),
        (
            {"op2": "", "op3": "", "op4": ""},
            r"row 2: 1 option\(s\), row left out; give each row 2 options or more",
        ),
        ({"respuesta": 4}, r"row 2: respuesta '4' is not one of 4 options, row left out; write the number"),
        ({"respuesta": ""}, r"row 2: respuesta '' is not one of 4 options, row left out"),
        ({"clave": "f1"}, r"row 2: id 'f1' occurs twice, row left out"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    content = rows()
    content[1] |= change
    file = write(tmp_path / "wrong.csv", content)
    loaded = load(file, columns=NAMED)
    assert loaded.items == EXPECTED[:1] + EXPECTED[2:]
    with pytest.raises(FiglangError, match=said) as raised:
        load(file, columns=NAMED, strict=True)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"context": "frases"}, "no column 'frases'; did you mean frase"),
        ({"gold": "tipo"}, "the column 'tipo' names no option"),
        ({"options": ["op1", "op9"]}, "no column 'op9'"),
    ],
)
def test_a_wrong_column_is_one_line(columns: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = write(tmp_path / "frases.csv", rows())
    with pytest.raises(FiglangError, match=said) as raised:
        load(file, columns=ColumnsConfig(**columns))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"x": "a", "y": "b"}], "no column looks like the options; name it by data.columns.options="),
        ([{"text": "A text here", "a1": "b", "a2": "c"}], "no column looks like the right option"),
        ([{"p1": "a", "p2": "b", "s1": "c", "s2": "d"}], r"may be \[p1,p2\] or \[s1,s2\]"),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(
    content: list[dict[str, str]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(FiglangError, match=said):
        load(write(tmp_path / "odd.csv", content))


def test_a_sentence_in_spanish_keeps_its_letters(tmp_path: Path) -> None:
    items = load(write(tmp_path / "frases.parquet", rows()), columns=NAMED).items
    assert [item.context for item in items] == [frase for frase, *_ in FRASES]


@pytest.mark.parametrize(
    ("name", "text"), [("x.parquet", "no"), ("x.json", "{"), ("x.json", "{}"), ("x.xml", "")]
)
def test_a_file_of_another_form_is_one_line(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FiglangError) as raised:
        load(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_split_without_a_file_says_what_to_give() -> None:
    with pytest.raises(FiglangError, match=r"give data.test=FILE, data.file=FILE or data.hub=ORG/NAME"):
        registry.load("test", DataConfig(name="own", dataset="own"), PathsConfig())


def test_a_folder_is_read_as_a_data_set_of_the_hub(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", rows("text"))
    write(tmp_path / "test.jsonl", rows("text")[:3])
    data = DataConfig(name="own", dataset="own", hub=str(tmp_path), columns=NAMED)
    assert registry.load("train", data, PathsConfig()).items == EXPECTED
    assert registry.load("validation", data, PathsConfig()).items == EXPECTED[:3]


def test_a_row_whose_text_was_damaged_is_kept_with_a_note(tmp_path: Path) -> None:
    content = [
        {"frase": "Su voz era caf\ufffd", "options": ["suave", "dura"], "gold": 0},
        {"frase": "Su voz era grava", "options": ["su\x00ave", "dura"], "gold": 1},
        {
            "frase": "\u0643\u0627\u0646\u200f \u2067\u0635\u2069",
            "options": ["\U0001f468\u200d\U0001f469", "b"],
            "gold": 1,
        },
    ]
    split = load(write(tmp_path / "voces.jsonl", content))
    assert len(split.items) == 3
    found = [note for note in split.notes if "holds the character" in note]
    assert [note.partition(", kept")[0] for note in found] == [
        "voces.jsonl row 1: holds the character U+FFFD",
        "voces.jsonl row 2: holds the character U+0000",
    ]


def test_rows_that_look_like_pairs_are_noted_unless_their_clusters_are_named(tmp_path: Path) -> None:
    content = [
        {
            "frase": f"Frase {n}",
            "a": f"Es {n // 2}",
            "b": f"No es {n // 2}",
            "right": "AB"[n % 2],
            "reihe": n // 2,
        }
        for n in range(6)
    ]
    file = write(tmp_path / "pares.csv", content)
    for cluster, noted in ((None, True), ("reihe", False)):
        named = ColumnsConfig(context="frase", options=["a", "b"], gold="right", cluster=cluster)
        notes = " ".join(load(file, columns=named).notes)
        assert ("pares.csv: 6 rows look like pairs" in notes) == noted
    labels = write(tmp_path / "labels.csv", [{**row, "a": "yes", "b": "no"} for row in content])
    named = ColumnsConfig(context="frase", options=["a", "b"], gold="right")
    assert "look like pairs" not in " ".join(load(labels, columns=named).notes)


def test_a_row_without_a_cluster_does_not_join_one_that_is_called_like_it(tmp_path: Path) -> None:
    content = [
        {"id": "a", "frase": "Su voz era seda", "options": ["suave", "dura"], "gold": 0, "par": "1"},
        {"id": "b", "frase": "Su voz era grava", "options": ["suave", "dura"], "gold": 1, "par": "1"},
        {"id": "1", "frase": "Su voz era plomo", "options": ["suave", "dura"], "gold": 1, "par": ""},
    ]
    named = ColumnsConfig(context="frase", options=["options"], gold="gold", id="id", cluster="par")
    first, second, alone = load(write(tmp_path / "pares.jsonl", content), columns=named).items
    assert first.group == second.group == "1"
    assert alone.group == "1 (alone)"
    assert [first.paired, second.paired, alone.paired] == [True, True, False]


def test_a_number_that_is_not_one_is_an_empty_cell(tmp_path: Path) -> None:
    content = [
        {"frase": f"Frase {n}", "options": ["suave", "dura", float("nan")], "gold": 0, "par": float("nan")}
        for n in range(3)
    ]
    content.append({**content[0], "frase": float("nan")})
    named = ColumnsConfig(context="frase", options=["options"], gold="gold", cluster="par")
    split = load(write(tmp_path / "nan.jsonl", content), columns=named)
    assert [item.options for item in split.items] == [("suave", "dura")] * 3
    assert len({item.group for item in split.items}) == 3
    assert "nan.jsonl row 4: empty frase, row left out" in " ".join(split.notes)


def test_words_for_a_missing_cell_are_named(tmp_path: Path) -> None:
    content = [
        {"frase": f"Frase {n}", "a": "suave", "b": "NA" if n == 1 else "dura", "gold": 0, "par": "NaN"}
        for n in range(3)
    ]
    named = ColumnsConfig(context="frase", options=["a", "b"], gold="gold", cluster="par")
    notes = " ".join(load(write(tmp_path / "na.csv", content), columns=named).notes)
    assert "na.csv row 2: a text is 'NA', kept" in notes
    assert "na.csv: 3 rows with 'NaN' in par are one cluster; empty these cells" in notes


def test_rows_whose_neighbours_could_be_pairs_are_told_by_which_file(tmp_path: Path) -> None:
    content = [
        {"startphrase": f"Frase {n}", "ending1": "Es", "ending2": "No es", "labels": n} for n in range(2)
    ]
    (note,) = [one for one in load(write(tmp_path / "a.json", content)).notes if "look like pairs" in one]
    assert note.endswith("or give a CSV file of them by data=FILE, of which neighbours are pairs")

"""Task files of BIG-bench and of lm-evaluation-harness are read as they are, and run no code."""

from pathlib import Path

import pytest

from figlang.config import ColumnsConfig
from figlang.errors import FiglangError
from tests.tasks.own.written import EXPECTED, FRASES, load, rows, write

TASK = """
task: frases
dataset_path: {form}
dataset_kwargs: {{data_files: {{test: frases.{end}, train: frases.{end}}}}}
test_split: test
training_split: train
output_type: multiple_choice
doc_to_text: "{{{{frase}}}}"
doc_to_choice: "{{{{[op1, op2, op3, op4]}}}}"
doc_to_target: {target}
"""


def task(
    folder: Path, form: str = "json", end: str = "jsonl", target: str = "respuesta", more: str = ""
) -> Path:
    (folder / "frases.yaml").write_text(TASK.format(form=form, end=end, target=target) + more)
    return folder / "frases.yaml"


@pytest.mark.parametrize(
    ("form", "end", "gold", "target"),
    [
        ("json", "jsonl", "number", "respuesta"),
        ("csv", "csv", "number", "respuesta"),
        ("parquet", "parquet", "text", "respuesta"),
        ("json", "jsonl", "text", '"{{[op1, op2, op3, op4].index(respuesta)}}"'),
        ("json", "jsonl", "letter", """"{{['A', 'B', 'C', 'D'].index(respuesta)}}\""""),
    ],
)
def test_the_harness_task_is_read(form: str, end: str, gold: str, target: str, tmp_path: Path) -> None:
    write(tmp_path / f"frases.{end}", rows(gold))
    file = task(tmp_path, form, end, target)
    loaded = load(file, columns=ColumnsConfig(attributes=["tipo"], id="clave"))
    assert [(item.id, item.texts, item.gold, item.attributes) for item in loaded.items] == [
        (item.id, item.texts, item.gold, item.attributes) for item in EXPECTED
    ]
    assert all(item.cut for item in loaded.items)  # the task words them


def test_templates_see_objects_within_rows(tmp_path: Path) -> None:
    content = [
        {
            "clave": row["clave"],
            "pregunta": {"frase": row["frase"]},
            "choices": {"text": [row[f"op{place}"] for place in range(1, 5)], "label": ["A", "B", "C", "D"]},
            "answerKey": row["respuesta"],
        }
        for row in rows("letter")
    ]
    write(tmp_path / "frases.jsonl", content)
    file = task(tmp_path, target='"{{choices.label.index(answerKey)}}"')
    file.write_text(
        file.read_text()
        .replace("{{frase}}", "{{pregunta.frase}}")
        .replace("{{[op1, op2, op3, op4]}}", "{{choices['text']}}")
    )
    loaded = load(file, columns=ColumnsConfig(id="clave"))
    assert [(item.id, item.texts, item.gold) for item in loaded.items] == [
        (item.id, item.texts, item.gold) for item in EXPECTED
    ]


def test_options_that_all_rows_share_are_a_list(tmp_path: Path) -> None:
    write(tmp_path / "frases.jsonl", rows())
    file = task(tmp_path, target='"1"')
    file.write_text(file.read_text().replace('"{{[op1, op2, op3, op4]}}"', '["no", 7]'))
    loaded = load(file, columns=ColumnsConfig(id="clave"))
    assert {(item.options, item.gold) for item in loaded.items} == {(("no", "7"), 1)}


def test_an_included_file_gives_what_the_task_leaves_out(tmp_path: Path) -> None:
    write(tmp_path / "frases.jsonl", rows())
    task(tmp_path)
    (tmp_path / "child.yaml").write_text("include: frases.yaml\ndescription: 'Nota. '\n")
    assert load(tmp_path / "child.yaml").items[0].context == f"Nota. {FRASES[0][0]}"


def test_code_of_a_metric_is_left_alone_and_code_that_a_child_replaces_too(tmp_path: Path) -> None:
    write(tmp_path / "frases.jsonl", rows())
    before = load(task(tmp_path)).items
    assert load(task(tmp_path, more="metric_list: [{metric: !function utils.own}]\n")).items == before
    task(tmp_path, more="description: !function utils.text\n")
    with pytest.raises(FiglangError, match="names Python code"):
        load(tmp_path / "frases.yaml")
    (tmp_path / "child.yaml").write_text("include: frases.yaml\ndescription: ''\n")
    assert load(tmp_path / "child.yaml").items == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("process_docs: !function utils.process\n", "line 11: !function names Python code"),
        ("include: frases.yaml\n", "includes itself"),
        ("description: '{{ cycler.__init__.__globals__.os }}'\n", "cannot be rendered"),
        ("description: '{{ nothing }}'\n", "cannot be rendered .*'nothing' is undefined"),
        ("description: '{% if %}'\n", "cannot be rendered"),
        ("description: '{{ frase * 1000000000 }}'\n", "cannot be rendered"),
        ("description: '{{ 9 ** 999999999 }}'\n", "cannot be rendered"),
        ("dataset_kwargs: 3\n", "dataset_kwargs holds no keys"),
        ("include: 3\n", "include: 3 is not the name of a file"),
        ("output_type: generate_until\n", "output_type is generate_until"),
        ("doc_to_text: 1\n", "tasks whose options are contexts"),
        ("doc_to_choice: frase\n", "row 1: no options in doc_to_choice"),
        ("test_split: other\n", "names no file of other"),
    ],
)
def test_what_is_not_read_is_one_line(more: str, said: str, tmp_path: Path) -> None:
    write(tmp_path / "frases.jsonl", rows())
    with pytest.raises(FiglangError, match=said) as raised:
        load(task(tmp_path, more=more))
    assert "\n" not in str(raised.value)


def test_columns_of_a_file_that_words_its_items_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "frases.jsonl", rows())
    with pytest.raises(FiglangError, match=r"data.columns.context has no effect"):
        load(task(tmp_path), columns=ColumnsConfig(context="frase"))

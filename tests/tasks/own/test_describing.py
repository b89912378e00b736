"""What `figlang describe FILE` writes reads the items that it showed."""

import shlex
import sys
from pathlib import Path

import pytest
import yaml

from figlang.commands.describe import main
from figlang.config import ColumnsConfig
from figlang.errors import FiglangError
from tests.running import run
from tests.tasks.own.written import FORMS, load, rows, write


def described(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["describe.py", *words, "output=out"])
    main()


@pytest.mark.parametrize("form", FORMS)
def test_the_document_reads_the_same_items(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / f"frases.{form}", rows("letter"))
    described(monkeypatch, tmp_path, file.name)
    shown = capsys.readouterr().out
    document = tmp_path / "out" / "frases.yaml"
    assert load(document).items == load(file).items
    assert "guessed" not in " ".join(load(document).notes)
    assert shown.splitlines()[-1] == "figlang evaluate model=minilm data=out/frases.yaml"
    assert "  * (B) Es muy bueno." in shown
    assert yaml.safe_load(document.read_text())["columns"]["gold_as"] == "letter"


def test_the_last_line_of_a_description_evaluates_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "mis frases.csv", rows("letter"))
    described(monkeypatch, tmp_path, file.name)
    verb, *words = shlex.split(capsys.readouterr().out.splitlines()[-1])[1:]
    ended = run(tmp_path, f"{verb}.py", *words, "model.init=tiny", "trainer.progress=false")
    assert ended.returncode == 0, ended.stderr


SHARED = [
    {"frase": "Su voz era seda", "a": "Era suave", "b": "Era dura", "right": "A", "reihe": "1"},
    {"frase": "Su voz era grava", "a": "Era suave", "b": "Era dura", "right": "B", "reihe": "1"},
    {"frase": "Juan es un zorro", "a": "Es astuto", "b": "Es torpe", "right": "A", "reihe": "2"},
]


def test_rows_that_share_their_options_without_a_column_of_clusters_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a column two metaphors of a pair are independent, and there is no pair accuracy."""
    named = ["data.columns.context=frase", "data.columns.options=[a,b]", "data.columns.gold=right"]
    third = {"frase": "Su voz era miel", "a": "Era suave", "b": "Era dura", "right": "A", "reihe": "1"}
    for content, more, shared, pairs in (
        (SHARED, [], 0, 2),
        ([*SHARED, third], [], 3, 0),
        (SHARED[1:], [], 0, 0),
        (SHARED, ["data.columns.cluster=reihe"], 0, 0),
    ):
        file = write(tmp_path / "voces.jsonl", content)
        described(monkeypatch, tmp_path, file.name, *named, *more)
        shown = capsys.readouterr().out
        assert ("No column of clusters" in shown) == (not more)
        assert (f"all others are independent. {shared} rows share their options" in shown) == bool(shared)
        assert (f"voces.jsonl: {pairs} rows look like pairs" in shown) == bool(pairs)
        assert f"| clusters |  | {2 if more else len(content)} |" in shown


def test_a_column_of_ids_that_repeat_is_named_and_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["data.columns.context=frase", "data.columns.options=[a,b]", "data.columns.gold=right"]
    for ids, said in ((("x", "x", "y"), "| id: is empty or repeats in some rows |"), ("xyz", "| id | id |")):
        file = write(
            tmp_path / "voces.jsonl", [row | {"id": one} for row, one in zip(SHARED, ids, strict=True)]
        )
        described(monkeypatch, tmp_path, file.name, *names)
        assert said in capsys.readouterr().out
    assert load(file).items[0].id == "x"


def test_more_options_than_letters_are_read_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"meaning {place}" for place in range(40)]
    content = [{"text": f"Saying {place}", "options": options, "gold": place} for place in (0, 39)]
    file = write(tmp_path / "many.jsonl", content)
    assert [(item.options, item.gold) for item in load(file).items] == [
        (tuple(options), 0),
        (tuple(options), 39),
    ]
    described(monkeypatch, tmp_path, file.name)
    assert "  * (40) meaning 39" in capsys.readouterr().out


def test_the_command_line_overrides_the_document(tmp_path: Path) -> None:
    file = write(tmp_path / "frases.csv", rows())
    document = tmp_path / "frases.yaml"
    document.write_text("file: frases.csv\ncolumns: {gold: tipo, context: frase}\n")
    with pytest.raises(FiglangError, match="'tipo' names no option"):
        load(document)
    assert load(document, columns=ColumnsConfig(gold="respuesta")).items == load(file).items


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "holds no keys"),
        ("hub: 3", "hub: 3 is not text"),
        ("file: [a]", "is not text; give one name"),
        ("a: [", "is not YAML"),
        ("fle: x.csv", "unknown key 'fle'; did you mean file"),
        ("file: x.csv\ncolumns: {contxt: a}", "there is no 'contxt'; the keys of columns"),
        ("file: !!python/object/apply:os.system [ls]", "is not YAML"),
        ("file: !function a.b", "names Python code, and figlang runs no code"),
    ],
)
def test_a_document_that_is_wrong_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(FiglangError, match=said) as raised:
        load(tmp_path / "x.yaml")
    assert "\n" not in str(raised.value)

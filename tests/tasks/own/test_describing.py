"""What `figlang describe FILE` writes reads the items that it showed."""

import sys
from pathlib import Path

import pytest
import yaml

from figlang.commands.describe import main
from figlang.config import ColumnsConfig
from figlang.errors import FiglangError
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
    assert "Use it by data=out/frases.yaml" in shown
    assert "  * (B) Es muy bueno." in shown
    assert yaml.safe_load(document.read_text())["columns"]["gold_as"] == "letter"


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

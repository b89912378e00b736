"""Names with whatever another program would read as its own: CSV, Markdown, LaTeX, SVG, YAML and terminal
have them as text."""

import csv
import io
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from rich.console import Console

from figlang import tables
from figlang.commands.compare import main as compare_command
from figlang.commands.report import main as report_command
from figlang.config import PathsConfig
from figlang.machine import printing
from figlang.machine.printing import printable
from figlang.models.manifest import Manifest
from figlang.release import card
from figlang.release.matter import front
from figlang.reports import terminal
from figlang.runs import recomputed
from figlang.tables import Code, Table, drawing, writing
from figlang.tasks import registry as data
from tests.report_runs import SAMPLE, run

pytestmark = pytest.mark.drawn

NAMES = [
    '=HYPERLINK("http://x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "  =1",
    "[2pt] bracket",
    "*star",
    "<script>alert(1)</script>",
    "![x](http://x/y.png)",
    "[x](javascript:1)",
    "`code`",
    "a | b",
    "# heading",
    "1. list",
    "> quote",
    "&lt;",
    "a_b^c~d%e$f&g#h{i}",
    "\\input{/etc/passwd}",
    "$x^{$",
    "[red]red[/red]",
    ":skull:",
    "\x1b[31mred\x1b[0m",
    "bell\x07 and null\x00",
    "two\nlines",
    "m: [x] # y",
    "- item",
    "--- ",
    "'quoted' \"twice\"",
    "café – “x”",
    "\u202egnp.exe",
]
TABLE = Table(
    "hostile",
    NAMES[11],
    ("system", NAMES[0], NAMES[5]),
    tuple((name, name, -1.5) for name in NAMES),
    tuple(NAMES),
)


def test_csv_has_no_formula_and_numbers_stay_numbers() -> None:
    rows = list(csv.reader(io.StringIO(tables.comma_separated(TABLE))))
    assert len(rows) == len(NAMES) + 1
    for name, row in zip(NAMES, rows[1:], strict=True):
        assert row[1].removeprefix("'") in (printable(name, lines=True), printable(name, lines=True)[1:])
        assert float(row[2]) == -1.5
        assert not row[0].lstrip().startswith(("=", "+", "-", "@"))
    assert rows[0][1] == f"'{NAMES[0]}"
    assert [tables.cell_of_csv(text) for text in ("-1", "+2.5e-3", "-.5", -1.5, 3)] == [
        "-1",
        "+2.5e-3",
        "-.5",
        -1.5,
        3,
    ]


def test_markdown_has_names_as_text() -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    parser = markdown_it.MarkdownIt("commonmark").enable("table").enable("strikethrough")
    tokens = parser.parse(tables.markdown(TABLE))
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children} | {token.type for token in tokens}
    assert kinds <= {
        *("text", "text_special", "strong_open", "strong_close", "inline"),
        *("paragraph_open", "paragraph_close", "table_open", "table_close", "thead_open", "thead_close"),
        *("tbody_open", "tbody_close", "tr_open", "tr_close", "th_open", "th_close", "td_open", "td_close"),
    }
    shown = ["".join(child.content for child in token.children) for token in inline]
    for name in NAMES:
        assert printable(name).strip() in [text.strip() for text in shown], name


@pytest.mark.parametrize("name", NAMES)
def test_code_in_markdown_is_one_span(name: str) -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    (_, inline, _) = markdown_it.MarkdownIt("commonmark").parse(f"x {tables.markdown_code(name)} y")
    assert [child.type for child in inline.children] == ["text", "code_inline", "text"]
    cell = tables.markdown(Table("t", "t", ("a", "b"), ((Code("x`y"), 1),)))
    assert "| ``x`y`` | 1 |" in cell


def document(metrics: dict[str, Any]) -> dict[str, Any]:
    side = {"items": 2, "sha256": "0"}
    return {
        "metrics": metrics,
        "data": {"train": side, "validation": side},
        "training": {
            "items": 2,
            "epochs": 1,
            "steps": 1,
            "precision": "32-true",
            "seconds": 1.0,
            "selection": "none",
            "exported_epoch": 1,
        },
        "health": [{"code": "x", "epoch": 1, "message": "[x](y) <b>"}],
        "signature": "a:`b`",
        "command": "python train.py",
    }


@pytest.mark.parametrize("name", NAMES)
def test_front_matter_is_yaml(name: str) -> None:
    made = Manifest(name, name, "contrastive", "pair", "clean", 80, 20.0, 2, name, "0", 0)
    released = document({}) | {"release": {"name": name, "licence": name}}
    matter = yaml.safe_load(front(made, released))
    assert [matter[key] for key in ("base_model_source", "license")] == [name, name]
    assert matter["library_name"] == "transformers"


@pytest.mark.parametrize("name", ["m: [x] # y", "- item", "a\nb: c", "<script>", "[x](y)"])
def test_a_card_has_valid_front_matter_and_no_foreign_marks(name: str) -> None:
    made = Manifest(name, name, "contrastive", "pair", "clean", 80, 20.0, 2, name, "0", 0)
    text = card.card(made, document({}))
    _, matter, body = text.split("---\n", 2)
    assert yaml.safe_load(matter)["base_model_source"] == name
    assert body.splitlines()[1].startswith("# ")
    assert "\n<script>" not in body
    assert not re.search(r"(?<!\\)\[x\]\(y\)", re.sub(r"`+[^`]*`+", "", body))


# Without booktabs, which is in a package of its own, its rules are plain ones.
PREAMBLE = r"""\documentclass{article}\usepackage[T1]{fontenc}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{\let\toprule\hline\let\midrule\hline\let\bottomrule\hline}
\begin{document}"""


def compiled(folder: Path, bodies: list[str]) -> str:
    """The text of a document that LaTeX makes of tables; skips where there is no engine."""
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("there is no pdflatex here (apt-get install texlive-latex-base)")
    whole = "\n".join([PREAMBLE, *bodies, r"\end{document}"])
    (folder / "whole.tex").write_text(whole, encoding="utf-8")
    ended = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "whole.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    log = (folder / "whole.log").read_text(encoding="utf-8", errors="replace")
    assert ended.returncode == 0, [line for line in log.splitlines() if line.startswith("!")] or log[-2000:]
    assert not re.search(r"^! ", log, flags=re.MULTILINE)
    return log


def test_latex_compiles_with_every_name(tmp_path: Path) -> None:
    log = compiled(tmp_path, [tables.latex(TABLE)])
    assert "/etc/passwd" not in re.findall(r"\(([^()\s]+)", log)
    assert "Missing number" not in log


def test_a_latex_row_gives_no_argument_to_the_row_before() -> None:
    rows = tables.latex(TABLE).splitlines()
    assert [row for row in rows if row.startswith("{}[2pt]")]
    assert [row for row in rows if row.startswith("{}*star")]
    assert not [row for row in rows if row.startswith(("[", "*"))]


def test_a_terminal_gets_no_command_and_no_markup() -> None:
    screen = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    tables.show([TABLE], NAMES, screen)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]red[/red]" in text
    assert ":skull:" in text
    assert "\x07" not in text
    assert "\x00" not in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", NAMES)
def test_svg_is_xml_whatever_the_name(tmp_path: Path, name: str) -> None:
    def paint(_: Any, axes: Any) -> None:
        axes.set_title(name)
        axes.set_xticks([0], [name])
        drawing.label_ends(axes, [(0, 0, name, "#000000")])

    figure = drawing.drawn(9, 6, paint)
    drawing.save(figure, tmp_path / "figure", ("svg",))
    ElementTree.fromstring((tmp_path / "figure.svg").read_text(encoding="utf-8"))
    ElementTree.fromstring(drawing.inline(figure, name).replace("xlink:href", "href"))


@pytest.mark.filterwarnings("ignore:Glyph")
def test_every_file_of_a_report_and_a_comparison_is_read_by_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    split = data.load("validation", SAMPLE, PathsConfig())
    folders = []
    for place, name in enumerate(
        ("=1+1 [red] :skull: <b> $x^{$", "[2pt] \x1b[31m \\input{x} & m: [x]\n# y", "*x ![i](u) `c`")
    ):
        folder = Path(run(tmp_path / f"run{place}", split, 3 + place, model=name))
        content = json.loads((folder / "metrics.json").read_text())
        (folder / "metrics.json").write_text(json.dumps(content | {"model": name}))
        folders.append(str(folder))
    monkeypatch.setattr("sys.argv", ["figlang", *folders, f"output={tmp_path / 'compare'}"])
    compare_command()
    monkeypatch.setattr("sys.argv", ["figlang", *folders, "analysis=off", f"output={tmp_path / 'page'}"])
    report_command()
    said = capsys.readouterr().out
    assert "\x1b[31m" not in said
    assert ":skull:" in said
    written = [
        path for place in ("compare", "page") for path in (tmp_path / place).rglob("*") if path.is_file()
    ]
    for path in written:
        text = path.read_text(encoding="utf-8") if path.suffix != ".pdf" else ""
        assert "\x1b" not in text, path
        if path.suffix == ".svg":
            ElementTree.fromstring(text)
        if path.suffix == ".csv":
            rows = list(csv.reader(io.StringIO(text)))
            assert len({len(row) for row in rows}) == 1, path
            assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))], path
    assert {path.suffix for path in written} >= {".md", ".csv", ".tex", ".svg", ".html"}
    compiled(tmp_path, [path.read_text(encoding="utf-8") for path in written if path.suffix == ".tex"])


def test_the_summary_of_an_evaluation_shows_names_as_they_are(tmp_path: Path) -> None:
    split = data.load("validation", SAMPLE, PathsConfig())
    content = recomputed.checked(Path(run(tmp_path / "one", split, 3)) / "metrics.json")
    cell = content["metrics"]["accuracy"]
    content["metrics"]["accuracy_by"] = {"[red]a:skull:": {"[b]\x1b[31mv:skull:": cell}}
    screen = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    terminal.summary(content, [], "[red]t:skull:\x07", screen)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert all(word in text for word in ("[red]a:skull:", "[b]␛[31mv:skull:", "[red]t:skull:␇"))


def test_printable_text_is_not_looked_at_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = [letter for letter in map(chr, range(sys.maxunicode + 1)) if letter.isprintable()]
    assert [printing._shown(letter) for letter in letters] == letters
    monkeypatch.delattr(printing, "_shown")
    assert printable("".join(letters)) == "".join(letters)


def test_cells_without_marks_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most cells are numbers. Nothing that needs a backslash is overlooked."""
    draw = random.Random(0)
    drawn = ["".join(draw.choices(" \\`*[]|~_&<#>+-=.)1a;\n", k=place % 8)) for place in range(20_000)]
    quick = [writing.markdown_text(text) for text in drawn]
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_MARKDOWN", re.compile(""))
        assert [writing.markdown_text(text) for text in drawn] == quick
    monkeypatch.setattr(writing.re, "sub", None)
    for text in ("90.4 (88.4 – 92.1)", "+1.5 (-0.2 – +3.1)", "0.123", "–", "MiniLM, by letters", "1,094"):
        assert writing.markdown_text(text) == text

"""`figlang reproduce`: which tables there are, and that they go where they went before."""

import re
import sys
from pathlib import Path

import pytest

from figlang.commands.reproduce import main
from figlang.config.given import Given
from figlang.config.placing import place_evaluation
from figlang.config.presets import CONF
from figlang.config.topics import headline
from figlang.config.usage import COLUMNS, LINES
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.runs import outputs
from figlang.tasks.registry import reproduced
from figlang.types import Split
from tests.reproducing import OPTIONS
from tests.running import ROOT

DRIVER = (
    "commands/reproduce.py",
    "evaluation/cells.py",
    "evaluation/reproducing.py",
    "runs/cells.py",
    "config/verbs/reproduce.py",
)


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", [str(ROOT / "figlang" / "commands" / "reproduce.py"), *words])
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    shown = capsys.readouterr()
    return code, shown.out + shown.err


def test_help_lists_every_table_and_every_preset_of_a_published_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(monkeypatch, capsys, "--help")
    assert code == 0
    assert re.findall(r"^  table=(\w+) ", text, flags=re.MULTILINE) == list(reproduced())
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > COLUMNS] == []
    # Below each command are the experiments that it makes, so that a preset is found with its own command.
    below = dict(
        re.findall(r"^  (figlang .*) experiment=NAME, with one of\n((?: {6}.*\n)+)", text, re.MULTILINE)
    )
    named = {name: command for command, names in below.items() for name in re.findall(r"\w+", names)}
    own = {preset.stem: headline(preset) for preset in (CONF / "experiment").glob("*.yaml")}
    assert named.keys() == own.keys()
    for name, command in named.items():
        assert f"`{command} experiment={name}`" in own[name]


def test_a_group_or_field_is_explained_without_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(monkeypatch, capsys, "--help", "experiment")
    assert (code, text.splitlines()[0]) == (0, "Options of experiment=:")
    code, text = said(monkeypatch, capsys, "--help", "shot")
    assert code == 2
    assert text.startswith("error: there is no group or field shot; ")


@pytest.mark.parametrize("table", OPTIONS)
def test_help_of_a_table_lists_its_options(
    table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(monkeypatch, capsys, f"table={table}", "--help", "fields")
    assert code == 0
    own = OPTIONS[table].__dataclass_fields__.keys() - ReproduceConfig.__dataclass_fields__.keys()
    assert own
    for name in own:
        assert re.search(rf"^  {name} ", text, flags=re.MULTILINE), name


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "error: give table=NAME, one of "),
        (["model=gpt2"], "error: give table=NAME, one of "),
        (["table=miqa_tabel3"], "error: table=miqa_tabel3 is not a table; did you mean miqa_table3? choose"),
        (["table="], "error: table= is not a table; choose one of "),
        (["table=miqa_table3", "shot=[1]"], "error: unknown key 'shot'; did you mean shots? (--help lists"),
        (["table=munch_judge", "shots=[1]"], "error: unknown key 'shots'; did you mean prompt.k? "),
    ],
)
def test_a_wrong_table_or_option_is_one_line(
    words: list[str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(monkeypatch, capsys, *words)
    assert (code, text.count("\n")) == (2, 1)
    assert text.startswith(expected)


@pytest.mark.parametrize(
    ("table", "folder"),
    [
        ("miqa_table3", "sample-table3"),
        ("munch_judge", "sample-judgements"),
        ("munch_generate", "sample-rankings"),
        ("munch_figures", "sample-figures"),
    ],
)
def test_a_folder_is_named_as_it_was_before_there_were_tables(table: str, folder: str) -> None:
    config = OPTIONS[table](table=table)
    config.data.name = "sample"
    place_evaluation(config, Given((f"table={table}", "model=gpt2", "data=sample"), {}, False))
    assert config.name == folder


@pytest.mark.parametrize("table", OPTIONS)
def test_the_name_of_a_table_decides_nothing_beside_its_own_options(table: str) -> None:
    split = Split("sample", (), "sample.csv", "0" * 64)
    decided = outputs.decided_by(OPTIONS[table](table=table), split, {})
    assert "table" not in decided["settings"]
    assert decided == outputs.decided_by(OPTIONS[table](), split, {})


@pytest.mark.parametrize("name", DRIVER)
def test_what_fills_the_cells_names_no_benchmark(name: str) -> None:
    text = (ROOT / "figlang" / name).read_text(encoding="utf-8")
    assert not re.findall(r"miqa|munch|figqa|fig-qa|mabl|winogrande", text, flags=re.IGNORECASE)


def test_a_table_belongs_to_the_room_of_its_benchmark() -> None:
    for name, table in reproduced().items():
        room = Path(sys.modules[table.__module__].__file__ or "").parent
        assert room.parent == ROOT / "figlang" / "tasks"
        assert name.startswith(room.name)
        assert OPTIONS[name].__module__.startswith(f"figlang.tasks.{room.name}.")

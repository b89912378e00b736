"""Measured rows say how they were measured, and the tables that readers see are made of them."""

import json
import re
from pathlib import Path

import pytest

from docs.making import measured, options, published, released, rows
from figlang.config.roots import ROOTS
from figlang.errors import FiglangError
from figlang.tasks.registry import TASKS

TABLES = sorted(path.stem for path in measured.RESULTS.glob("*.csv"))


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_its_command_data_and_version(name: str) -> None:
    rows = measured.read(name)
    assert rows
    for row in rows:
        assert None not in row, "a row has more cells than there are columns"
        assert all(row[column] for column in ("command", "seed", "data", "figlang", "recorded")), row
        assert re.match(r"(figlang|python|make) ", row["command"])
        # Data have the beginning of their sha256; what is not a data set has none.
        assert re.search(r"@[0-9a-f]{8}|^made predictions$", row["data"])


@pytest.mark.parametrize("name", TABLES)
def test_a_value_lies_in_its_interval(name: str) -> None:
    for row in measured.read(name):
        for low in (column for column in row if column.endswith(" low") and row[column]):
            column = low.removesuffix(" low")
            assert float(row[low]) - 0.5 <= float(row[column]) <= float(row[f"{column} high"]) + 0.5, row


@pytest.mark.parametrize("name", TABLES)
def test_a_table_shows_every_row_and_its_file(name: str) -> None:
    text = measured.measured(name)
    first = text.split("\n\n")[0]
    assert len(first.splitlines()) == 2 + len(measured.read(name))
    assert f"/results/{name}.csv" in text


def test_what_stands_between_backticks_in_a_file_is_code_on_the_site() -> None:
    assert rows.text("all weights as `pair_x`, *a* | b") == "all weights as `pair_x`, \\*a\\* \\| b"
    assert rows.text("`model.bos=<|a|>`") == "<code>model.bos=&lt;&#124;a&#124;&gt;</code>"
    assert rows.text("one ` alone") == "one \\` alone"
    cells = [cell for name in TABLES for row in measured.read(name) for cell in row.values()]
    assert [cell for cell in cells if cell.count("`") % 2] == []
    made = [*map(measured.measured, TABLES), options.groups(), *map(options.options, ROOTS)]
    assert [line for text in made for line in text.splitlines() if "\\`" in line] == []


def test_every_data_set_has_a_licence_in_the_list() -> None:
    listed = (measured.ROOT / "docs" / "tasks" / "index.md").read_text().partition("## Licences")[2]
    own = ("own", "figqa_csv", "snli_dev_test", "nli_mix", "mix")  # the user's files, and parts of the others
    assert [name for name, task in TASKS.items() if name not in own and f"| {task.title}" not in listed] == []


@pytest.mark.parametrize("name", ["scoring.masking", "prompt.answer", "chrf=", "parsed=", "data.root"])
def test_a_page_explains_what_the_list_of_options_names(name: str) -> None:
    pages = (path for place in ("guides", "start") for path in (measured.ROOT / "docs" / place).glob("*.md"))
    assert any(name in path.read_text() for path in pages)


def test_every_table_is_on_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (measured.ROOT / "docs").rglob("*.md"))
    assert {name for name in TABLES if f"{{{{ measured {name} }}}}" not in pages} == set()


def test_a_table_stands_on_one_page_of_tasks_and_results() -> None:
    pages = [path for name in ("tasks", "results") for path in (measured.ROOT / "docs" / name).glob("*.md")]
    lines = [line for path in pages for line in re.findall(r"^\{\{ .+ \}\}$", path.read_text(), re.MULTILINE)]
    assert {line for line in lines if lines.count(line) > 1} == set()


def test_every_page_is_in_the_navigation_and_every_result_in_its_list() -> None:
    docs = measured.ROOT / "docs"
    navigation = (measured.ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert set(re.findall(r"- (\S+\.md)$", navigation, re.MULTILINE)) == pages
    listed = set(
        re.findall(r"^\| \[.+?\]\((\w+\.md)\)", (docs / "results" / "index.md").read_text(), re.MULTILINE)
    )
    assert listed == {path.name for path in (docs / "results").glob("*.md")} - {"index.md"}


def test_no_measured_table_is_typed() -> None:
    for path in sorted((measured.ROOT / "docs" / "results").glob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("|") and re.search(r"\d\.\d", line)] == [], path


def test_released_rows_are_those_of_their_files() -> None:
    content = json.loads(
        (released.CHECKPOINTS / "minilm-figqa-large" / "metrics.json").read_text(encoding="utf-8")
    )
    found = content["metrics"]["accuracy"]
    text = f"{100 * found['value']:.1f} ({100 * found['low']:.1f} – {100 * found['high']:.1f})"
    row = next(line for line in released.released().splitlines() if "minilm-figqa-large" in line)
    assert text in row
    assert len(released.headline().splitlines()) == 10


def test_an_evaluation_becomes_a_row(tmp_path: Path) -> None:
    estimate = {"value": 0.5, "low": 0.25, "high": 0.75}
    content = {
        "metrics": {"accuracy": estimate, "accuracy_by": {"language": {"Hindi": {**estimate, "low": 0.125}}}},
        "blind": {"accuracy": estimate},
        "gain": {"value": -0.01, "low": -0.02, "high": 0.0},
        "signature": "data:miqa@0b0a4c2a|split:validation",
        "command": "figlang evaluate",
        "seed": 3,
        "versions": {"figlang": "9.9"},
    }
    (tmp_path / "metrics.json").write_text(json.dumps(content))
    known = list(measured.read("gemma")[0])
    row = measured.row_of(tmp_path, {"data set": "MiQA"}, known)
    assert row["accuracy low"] == "25.0"
    assert row["gain"] == "-1.0"
    assert row["blind high"] == "75.0"
    assert row["pairs"] == ""
    row_by_language = measured.row_of(tmp_path, {}, list(measured.read("mabl")[0]))
    assert [row_by_language[name] for name in ("Hindi low", "all items", "Swahili")] == ["12.5", "50.0", ""]
    assert [row[column] for column in ("data", "figlang", "seed")] == ["miqa@0b0a4c2a", "9.9", "3"]
    assert measured.cell(row, "gain") == "−1.0 (−2.0 – 0.0)"
    with pytest.raises(FiglangError, match="colour= is not a column"):
        measured.row_of(tmp_path, {"colour": "red"}, known)


def test_published_rows_are_those_of_the_file() -> None:
    text = published.published("figqa", "Table 11")
    assert "| RoBERTa-large | split test, finetuned | pair accuracy | 80.4 |" in text
    assert "Source: Liu et al. 2022, Table 11." in text
    several = published.published("figqa", "Table 4", "Table 11")
    assert several.startswith('??? quote "')
    assert "| Liu et al. 2022, Table 11 | 80.4 |" in several


def test_options_are_those_of_the_schema() -> None:
    text = options.options("train")
    assert "| `method.lr` |" in text
    (weight,) = [line for line in text.splitlines() if "`method.teacher_weight`" in line]
    assert "| at least 0, at most 1 |" in weight
    page = options.verbs()
    assert [verb for verb in ROOTS if f"### `figlang {verb}`" not in page] == []
    assert "`table=munch_judge`" in options.options("reproduce")
    assert "| `model=minilm` |" in options.groups()

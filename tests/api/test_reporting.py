"""Reports from Python: of predictions in memory and of folders."""

from pathlib import Path
from typing import Any

import pytest

import figlang
from figlang.errors import FiglangError
from tests.api.rows import predictions


def test_a_report_from_memory_and_from_folders(tmp_path: Path) -> None:
    items = figlang.load("figqa_sample", limit=12)
    base = figlang.open_model("minilm", init="tiny", name="base").predict(items)
    other = figlang.open_model("bert", init="tiny").predict(items, scoring="pll")
    paper = tmp_path / "paper"
    page = figlang.report([base, other.save(tmp_path / "other")], paper)
    assert page == paper / "report.html"
    text = page.read_text()
    assert "base" in text
    assert items[0].context in text
    assert (paper / "tables" / "comparison.tex").is_file()
    # Predictions from memory stay beside the page, so that its numbers can be computed again.
    assert list(figlang.Predictions.read(paper / "predictions" / "base")) == list(base)
    assert "figlang evaluate model=minilm model.init=tiny model.name=base" in text
    assert figlang.report([base, other], paper) == page
    assert figlang.report(base, tmp_path / "one").is_file()


def test_own_items_are_kept_with_their_predictions_and_shown_in_a_report(tmp_path: Path) -> None:
    options = ["It was soft.", "It was rough."]
    rows = [
        {"context": "Her voice was velvet", "options": options, "gold": 0, "group": "voice", "kind": "touch"},
        {"context": "Her voice was gravel", "options": options, "gold": 1, "group": "voice"},
    ]
    items = figlang.items(rows, name="voices")
    found = figlang.open_model("minilm", init="tiny").predict(items, name="random")
    folder = found.save(tmp_path / "saved")
    again = figlang.Predictions.read(folder)
    assert again.items == tuple(items)
    assert again.save(tmp_path / "copy") == tmp_path / "copy"
    for source in (found, folder, tmp_path / "copy"):
        text = figlang.report(source, tmp_path / "paper").read_text()
        assert "Her voice was gravel" in text
    kept = folder / "items.jsonl"
    kept.write_text(kept.read_text().replace("gravel", "sand"))
    with pytest.raises(FiglangError, match=r"items\.jsonl"):
        figlang.Predictions.read(folder)
    assert figlang.load("figqa_sample", limit=2).words
    assert not figlang.open_model("minilm", init="tiny").predict(figlang.load("figqa_sample", limit=2)).items


def test_nothing_published_stands_beside_rows_that_name_no_benchmark(tmp_path: Path) -> None:
    """Fig-QA's people and their errors stood in the table of errors in common of any own rows."""
    figlang.report([predictions(3, "one"), predictions(2, "two")], tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Errors in common" in page
    assert "GPT-3" not in page
    written = list((tmp_path / "out" / "tables").glob("*.md"))
    assert written
    assert not [path.name for path in written if "published" in path.read_text(encoding="utf-8")]


def test_items_that_nothing_names_are_not_called_by_the_name_of_one_of_several_systems(
    tmp_path: Path,
) -> None:
    systems = [predictions(wrong, name) for wrong, name in ((3, "one"), (2, "two"), (4, "three"))]
    for count, title in ((2, "data of one and two, 6 items"), (3, "data of one and 2 others, 6 items")):
        figlang.report(systems[:count], tmp_path / str(count))
        summary = (tmp_path / str(count) / "tables" / "summary.md").read_text(encoding="utf-8")
        assert summary.startswith(f"**Results on {title}**")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"titel": "x"}, "unknown key 'titel'"),
        ({"analysis": "x"}, "analysis=x is not a choice"),
        ({"output": "x"}, "output= is said by the first two arguments"),
    ],
)
def test_wrong_options_are_refused_in_one_line(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError, match=said) as raised:
        figlang.report(predictions(2, "one"), tmp_path / "new", **options)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "new" / "report.html").exists()
    with pytest.raises(FiglangError, match="the path of a run are wanted, not int"):
        figlang.report(3, tmp_path / "new")  # type: ignore[arg-type]


def test_paths_titles_and_names_may_hold_signs_of_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "it's, {a}=b"
    page = figlang.report(predictions(2, "one"), folder, title="A, b={c}", rename={"one": "a, (b)"})
    text = page.read_text(encoding="utf-8")
    assert "A, b={c}" in text
    assert "a, (b)" in text

"""Reports from Python: of predictions in memory and of folders."""

from pathlib import Path

import pytest

import figlang
from figlang.errors import FiglangError


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

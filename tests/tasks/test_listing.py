"""`figlang tasks`: its counts are those of the files, and its lines fit 80 columns."""

from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import PathsConfig
from figlang.config.composing import data_presets
from figlang.config.presets import CONF
from figlang.errors import FiglangError
from figlang.tasks import counting, listing
from tests.conftest import published

PRESETS = listing.presets(CONF / "data")
BUNDLED = ["figqa_sample", "miqa_sample", "munch_sample", "own_sample"]


def test_the_bundled_samples_have_the_numbers_that_are_shown(tmp_path: Path) -> None:
    paths = PathsConfig(cache=str(tmp_path), data=str(tmp_path))
    counts = counting.counted(data_presets(BUNDLED), paths)
    assert set(counts) == set(BUNDLED)
    assert counts == {name: listing.carried()[name] for name in BUNDLED}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("figqa_small", "figqa/filtered/train.csv"),
        ("miqa_implies", "miqa/metaphor_inference_qa.tsv"),
        ("munch_word", "munch/tasks/word_judge.json"),
        ("winogrande_xs", "winogrande/train_l.jsonl"),
    ],
)
def test_the_numbers_are_those_of_the_published_files(name: str, file: str, tmp_path: Path) -> None:
    paths = PathsConfig(cache=str(tmp_path), data=published(file))
    assert counting.counted(data_presets([name]), paths)[name] == listing.carried()[name]


def test_a_data_set_that_is_not_here_is_not_counted(tmp_path: Path) -> None:
    paths = PathsConfig(cache=str(tmp_path), data=str(tmp_path))
    assert counting.counted(data_presets(["miqa"]), paths) == {}


def test_counts_read_what_they_wrote() -> None:
    counts = listing.carried()
    assert listing.document(counts) == listing.COUNTS.read_text(encoding="utf-8")
    assert set(counts) <= {preset.name for preset in PRESETS}


def test_the_list_has_every_preset_with_its_numbers() -> None:
    counts = listing.carried()
    shown = listing.text(PRESETS, counts).splitlines()
    assert [line for line in shown if len(line) > 80] == []
    assert len([line for line in shown if line.startswith("  data=")]) == len(PRESETS)
    assert "  data=miqa_sample            – / 176 / 176 items, 2 options" in shown
    changed = counts | {"miqa_sample": replace(counts["miqa_sample"], test="")}
    assert "  data=miqa_sample            – / 176 / – items, 2 options" in listing.text(PRESETS, changed)


def test_presets_of_a_task() -> None:
    assert {preset.task for preset in listing.presets(CONF / "data", "winogrande")} == {"winogrande"}
    with pytest.raises(FiglangError, match="task=winogrand is not a task of this list; did you mean winogr"):
        listing.presets(CONF / "data", "winogrand")

"""MABL: its files by language, rows in any order of columns, and the table by language."""

from pathlib import Path

import numpy as np
import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate
from figlang.tables import Mean
from figlang.tasks import registry
from figlang.tasks.mabl import languages, reading
from figlang.types import Prediction
from tests.conftest import published

# Sentences of our own, in the columns' order of one of the upstream files.
ROWS = [
    ("Waktu iku larang.", "Waktu iku murah.", "0", "Waktu iku emas"),
    ("Waktu iku larang.", "Waktu iku murah.", "1", "Waktu iku wedhi"),
    ("Kutha iku rame", "Kutha iku sepi", "0", "Kutha iku omah tawon."),
    ("Waktu iku larang.", "Waktu  iku murah.", "0", "Waktu iku emas"),
]


def folder(tmp_path: Path, *stems: str) -> Path:
    (tmp_path / "mabl").mkdir()
    lines = ["ending1,ending2,labels,startphrase", *map(",".join, ROWS)]
    for stem in stems:
        (tmp_path / "mabl" / f"{stem}.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def load(split: str, question: str, root: Path, **options: bool) -> registry.Split:
    data = DataConfig(name="mabl", dataset="mabl", question=question, **options)  # type: ignore[arg-type]
    return registry.load(split, data, PathsConfig(data=str(root)))


def test_items_have_their_language_and_pairs(tmp_path: Path) -> None:
    split = load("validation", "jv", folder(tmp_path, "jv"))
    assert [(item.id, item.group, item.gold) for item in split.items] == [
        ("jv-1", "jv-1", 0),
        ("jv-2", "jv-1", 1),
        ("jv-3", "jv-3", 0),
    ]
    assert {item.attributes["language"] for item in split.items} == {("Javanese",)}
    assert any("row 4 repeats row 1" in note and "left out" in note for note in split.notes)


def test_repeated_rows_are_kept_if_asked_for(tmp_path: Path) -> None:
    split = load("validation", "jv", folder(tmp_path, "jv"), drop_duplicates=False)
    assert len(split.items) == len(ROWS)


def test_training_items_are_english_whatever_is_evaluated(tmp_path: Path) -> None:
    root = folder(tmp_path, "en_train", "sw")
    assert {item.id.partition("-")[0] for item in load("train", "sw", root).items} == {"en_train"}


def test_all_languages_are_one_split_in_which_ids_differ(tmp_path: Path) -> None:
    root = folder(tmp_path, "en_dev", *reading.LANGUAGES)
    seven, eight = load("validation", "all", root), load("validation", "with_english", root)
    assert len({item.id for item in seven.items}) == len(seven.items) == 7 * 3
    assert len(eight.items) == 8 * 3
    assert seven.sha256 != eight.sha256


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(FiglangError, match=r"data\.question=fr is not a question .* hi, id"):
        load("validation", "fr", Path("nowhere"))


def answered(answers: dict[str, tuple[bool, ...]]) -> tuple[list[Prediction], dict[str, tuple[str]]]:
    """Predictions of a system that is right where `answers` says so, and the language of each item."""
    rows, language = [], {}
    for name, each in answers.items():
        for number, right in enumerate(each):
            row = f"{name}-{number}"
            rows.append(Prediction(row, row, 0, (1.0, 0.0) if right else (0.0, 1.0)))
            language[row] = (name,)
    return rows, language


def test_the_table_has_the_mean_of_languages_and_their_distance_to_english() -> None:
    answers = {
        "English": (True,) * 9 + (False,),
        "Hindi": (True, False) * 20,
        "Yoruba": (False, False, True, True, True) * 4,
    }
    rows, language = answered(answers)
    made = languages.table([("system", [rows])], language)
    assert made.columns == (
        "system",
        "English",
        "Hindi",
        "Yoruba",
        "mean of the other 2",
        "distance to English",
    )
    _, english, hindi, yoruba, mean, distance = made.rows[0]
    assert isinstance(english, Estimate)
    assert isinstance(hindi, Estimate)
    assert isinstance(yoruba, Estimate)
    assert isinstance(mean, Estimate)
    assert isinstance(distance, Difference)
    # By hand: Hindi 1/2 and Yoruba 3/5 have the mean 55 per cent; English has 90.
    assert (mean.value, mean.n) == (pytest.approx(0.55), 60)
    assert mean.low == pytest.approx(0.55 - np.hypot(0.5 - hindi.low, 0.6 - yoruba.low) / 2)
    assert mean.chance == 0.5
    assert mean.p is not None
    assert mean.p > 0.3
    assert (distance.value, distance.n) == (pytest.approx(-0.35), 70)
    assert distance.high == pytest.approx(-0.35 + np.hypot(mean.high - 0.55, 0.9 - english.low))
    assert "without English" in made.notes[0]


def test_the_mean_of_several_seeds_has_their_deviation() -> None:
    one, language = answered({"Hindi": (True, False), "Yoruba": (True, True)})
    other, _ = answered({"Hindi": (False, False), "Yoruba": (True, False)})
    made = languages.table([("system", [one, other])], language)
    assert made.columns[-1] == "mean of 2"
    # By hand: the means of the seeds are 3/4 and 1/4.
    assert made.rows[0][-1] == Mean(0.5, pytest.approx(np.sqrt(0.125)))
    assert languages.SEEDS in made.notes


COUNTS = {"en": 1094, "hi": 998, "id": 1140, "jv": 600, "kn": 942, "su": 600, "sw": 1098, "yo": 730}


@pytest.mark.parametrize("language", COUNTS)
def test_published_files_have_as_many_items(language: str) -> None:
    split = load("validation", language, Path(published("mabl/hi.csv")))
    assert len(split.items) == COUNTS[language]
    assert all(item.gold is not None for item in split.items)


def test_a_limit_takes_items_of_every_language(tmp_path: Path) -> None:
    root = folder(tmp_path, *reading.LANGUAGES)
    data = DataConfig(name="mabl", dataset="mabl", question="all", limit=14)
    limited = registry.load("validation", data, PathsConfig(data=str(root)))
    found = [item.attributes["language"][0] for item in limited.items]
    assert found == [name for name in reading.LANGUAGES.values() for _ in range(2)]

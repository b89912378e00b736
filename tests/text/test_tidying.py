"""Sentences of any script begin and end by Unicode's rules; English ones as they always did."""

import csv
from pathlib import Path

import pytest
import regex

from figlang.config import PromptConfig, ScoringConfig
from figlang.evaluation.generation import first_sentence
from figlang.scoring.encode import word
from figlang.scoring.wording import Wording
from figlang.tasks.figqa.free_text import that_is_to_say
from figlang.text import tidying
from figlang.text.tidying import TERMINAL, full_stop, titled
from figlang.types import Item
from tests.conftest import published

DOUBLE = regex.compile(rf"{TERMINAL}\s*[\"'\p{{Pe}}\p{{Pf}}]*\s*{TERMINAL}$")


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("कमरा भट्ठी था।", "कमरा भट्ठी था।"),
        ("कमरा भट्ठी था", "कमरा भट्ठी था।"),
        ("部屋は炉だった。", "部屋は炉だった。"),
        ("部屋は炉だった", "部屋は炉だった。"),
        ("هل الغرفة فرن؟", "هل الغرفة فرن."),
        ("Սենյակը վառարան էր։", "Սենյակը վառարան էր։"),
        ("ಕೋಣೆ ಒಲೆ", "ಕೋಣೆ ಒಲೆ."),
        ("ოთახი ღუმელი იყო", "ოთახი ღუმელი იყო."),
        ("the room was…", "The room was."),
        ('she said "no."', 'She said "no."'),
        ('she said "no".', 'She said "no".'),
        ('she said "no.".', 'She said "no."'),
        ("she left (at last!)", "She left (at last!)"),
        ("«да.»", "«да.»"),
        ("ﬁne weather", "Fine weather."),
        ("ǆungla", "ǅungla."),
        ("?", "."),
    ],
)
def test_a_tidy_sentence(raw: str, tidy: str) -> None:
    assert word(raw, "clean") == tidy
    assert word(tidy, "clean") == tidy  # once tidy, it stays


@pytest.mark.parametrize(
    "text",
    ["it was hot", "it was hot.", "It was hot!?", "I know, ", "so he said 'no'", "in 1999.", "well..."],
)
def test_english_is_as_it_was(text: str) -> None:
    bare = text.strip().rstrip(".!?, ")
    assert word(text, "clean") == f"{bare[:1].upper()}{bare[1:]}."


def test_the_published_wording_knows_other_full_stops() -> None:
    wording = Wording(ScoringConfig(text="gpt3"), PromptConfig())
    texts = {
        "it was hot": "It was hot.",
        "it was hot!": "It was hot!.",
        "था।": "था।",
        "था": "था।",
        "炉だ！": "炉だ！",
    }
    assert {text: wording.alone("", text).continuation for text in texts} == texts


def test_prompts_and_answers_know_them_too() -> None:
    item = Item("a", "a", "कमरा भट्ठी था।", ("x", "y"), 0)
    assert that_is_to_say(item) == "कमरा भट्ठी था। That is to say,"
    assert first_sentence("गरम था। और फिर") == "गरम था।"
    assert first_sentence("「熱い。」寒い。") == "「熱い。」"
    assert first_sentence("It was 3.5 metres. Yes.") == "It was 3.5 metres."


@pytest.mark.parametrize("language", ["en_dev", "en_train", "hi", "id", "jv", "kn", "su", "sw", "yo"])
def test_all_of_mabl(language: str) -> None:
    path = Path(published(f"mabl/{language}.csv")) / "mabl" / f"{language}.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 600
    for row in rows:
        for name in ("startphrase", "ending1", "ending2"):
            worded = word(row[name], "clean")
            assert not DOUBLE.search(worded), (language, name)
            unmarked = regex.sub(rf"{TERMINAL}+\s*$", "", row[name])
            assert word(unmarked, "clean") == worded, (language, name)
            assert full_stop(worded) == full_stop(unmarked)
            assert titled(titled(worded)) == worded


@pytest.mark.parametrize("inner", [" ", ".", ", "])
def test_a_long_run_within_a_text_is_not_tried_from_each_of_its_characters(inner: str) -> None:
    """Tried so, 100,000 characters take a minute, and a million hours."""
    text = f"x{inner * 100_000}y"
    assert tidying._TAIL.sub("", f"{text}. ", timeout=10) == text

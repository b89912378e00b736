"""Laws of figlang/text/damaged.py: signs of a wrong encoding and words for a missing text are
found, and no script is one."""

import pytest

from figlang.text.damaged import absent, found


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("A\x00 b", "U+0000"),
        ("caf\ufffd", "U+FFFD"),
        ("a\ufeffb", "U+FEFF"),
        ("a\x1bb", "U+001B"),
        ("a\x85", "U+0085"),
    ],
)
def test_a_character_that_no_text_should_hold_is_named(text: str, sign: str) -> None:
    assert found(["a good text", text]) == sign


@pytest.mark.parametrize(
    "text",
    [
        *("two\nlines\tand a tab", "\u0643\u0627\u0646\u200f", "\u0ca8\u0ccd\u200c\u0ca8", "e\u0301"),
        *("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u5979\u7684\u3000\u58f0", "a\u00a0b", ""),
    ],
)
def test_marks_joiners_spaces_and_directions_belong_to_texts(text: str) -> None:
    assert found([text]) is None


@pytest.mark.parametrize("word", ["NaN", "nan", " NA ", "<NA>", "NULL"])
def test_a_word_for_a_missing_text_is_named(word: str) -> None:
    assert absent(["a good text", word]) == word.strip()


def test_an_answer_is_not_a_missing_text() -> None:
    assert absent(["None", "none", "N/A", "Na", "", "a NaN"]) is None

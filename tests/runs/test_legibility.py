"""Laws of figlang/runs/legibility.py: sentences name the languages that a tokenizer reads badly."""

from figlang.runs.legibility import sentences


def told(**counts: tuple[int, int, int, int]) -> list[str]:
    names = ("tokens", "unknown", "characters", "dropped")
    return sentences(
        {"tokens_by_language": {name: dict(zip(names, each, strict=True)) for name, each in counts.items()}}
    )


def test_texts_that_are_read_well_are_not_mentioned() -> None:
    assert told(English=(30, 0, 100, 0), Spanish=(60, 1, 100, 3), Chinese=(100, 0, 100, 0)) == []
    assert sentences({}) == []


def test_a_language_of_many_unknown_tokens_is_named_beside_others() -> None:
    (line,) = told(English=(900, 0, 1000, 0), Kannada=(100, 98, 1000, 0))
    assert line.startswith("The share of unknown tokens is large in Kannada (98 %).")
    assert told(Kannada=(100, 98, 1000, 0)) == [], "the sentence about all tokens says it"


def test_languages_with_more_tokens_than_characters_are_spelled_in_bytes() -> None:
    (line,) = told(English=(30, 0, 100, 0), Hindi=(147, 0, 100, 0), Kannada=(311, 0, 100, 0))
    assert line.startswith("The tokenizer spells Kannada (3.1) and Hindi (1.5) in bytes:")


def test_words_that_are_read_letter_by_letter_are_named() -> None:
    """MiniLM and SmolLM2 read Russian by 0.95 and 0.84 tokens a character, and nothing said it."""

    def one(tokens: int, **more: int) -> list[str]:
        return sentences({"tokens_by_language": {"Cyrillic": {"tokens": tokens, "characters": 1210, **more}}})

    (line,) = one(1155, syllabic=0)
    assert line.startswith("The tokenizer spells Cyrillic (0.95) nearly letter by letter:")
    assert one(400, syllabic=0) == []
    assert one(1155, syllabic=1100) == [], "a token for each Chinese character is how it is read"
    assert one(1155) == [], "an older file does not count syllables"
    (line,) = one(3000, syllabic=0)
    assert "in bytes" in line


def test_numbers_are_not_spelled_in_bytes() -> None:
    assert told(Latin=(30, 0, 100, 0), **{"no letters": (150, 0, 100, 0)}) == []


def test_dropped_marks_are_told_as_a_share_of_characters() -> None:
    (line,) = told(Hindi=(80, 0, 100, 30))
    assert line == "The tokenizer drops accents and vowel signs of Hindi (30 marks for 100 characters)."


def test_a_long_list_is_cut() -> None:
    (line,) = told(**{f"Language{number}": (200, 0, 100, 0) for number in range(8)})
    assert "Language4 (2.0) and 3 more in bytes" in line

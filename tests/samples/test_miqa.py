"""The bundled sample of MiQA: small, and yet a data set in the exact form of the published one."""

import re
from collections import Counter
from functools import cache

from tests.samples.places import SAMPLES


@cache
def miqa() -> list[dict[str, str]]:
    lines = (SAMPLES / "miqa" / "metaphor_inference_qa.tsv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split("\t") for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_miqa_has_at_least_40_rows() -> None:
    assert len(miqa()) >= 40


def test_miqa_columns_are_upstreams() -> None:
    columns = ["literal_premise", "metaphorical_premise", "literal_conclusion", "metaphorical_conclusion"]
    assert all(list(row) == columns for row in miqa())


def test_miqa_statements_are_unique() -> None:
    counts = Counter(statement for row in miqa() for statement in row.values())
    assert [statement for statement, count in counts.items() if count > 1] == []


def test_miqa_statements_are_bare() -> None:
    # As upstream: no quoting, no final punctuation, no spaces around.
    odd = [
        text
        for row in miqa()
        for text in row.values()
        if not text or text != text.strip() or text[-1] in ".!?," or '"' in text
    ]
    assert odd == []


def test_miqa_statements_begin_lower_case_unless_with_i_or_a_name() -> None:
    # A name is a first word that occurs in no statement in lower case.
    words = {word for row in miqa() for text in row.values() for word in re.findall(r"\w+", text)}
    upper = [re.findall(r"\w+", text)[0] for row in miqa() for text in row.values() if text[0].isupper()]
    assert [word for word in upper if word != "I" and word.lower() in words] == []


def test_miqa_premises_share_a_word() -> None:
    # What makes an item hard: the literal and the metaphorical premise hold the same expression.
    def words(text: str) -> set[str]:
        return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}

    apart = [row for row in miqa() if not words(row["literal_premise"]) & words(row["metaphorical_premise"])]
    assert apart == []

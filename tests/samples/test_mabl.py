"""The bundled sample of MABL: small, and yet a data set in the exact form of the published one."""

from collections import Counter

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.registry import load
from tests.samples.places import SOURCE
from tests.samples.test_figqa import pairs


@pytest.mark.parametrize("question", ["all", "with_english"])
def test_mabl_has_two_pairs_or_more_in_every_language(question: str) -> None:
    data = DataConfig(name="mabl", dataset="mabl", question=question)
    split = load("validation", data, PathsConfig(data=SOURCE))
    assert set(pairs(split).values()) == {2}
    counts = Counter(language for item in split.items for language in item.attributes["language"])
    assert len(counts) == (7 if question == "all" else 8)
    assert min(counts.values()) >= 4

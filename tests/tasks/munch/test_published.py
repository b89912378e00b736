"""Facts of the published files of MUNCH, as figlang/tasks/munch/reading.py reads them."""

from collections import Counter
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.munch import reading as munch
from figlang.tasks.registry import for_training
from figlang.types import Marked
from tests.conftest import published
from tests.tasks.munch.test_reading import read


@pytest.fixture(scope="module")
def munch_root() -> Path:
    return Path(published("munch/correct_answers/for_judgement.csv"))


def test_counts_of_the_published_sentences(munch_root: Path) -> None:
    split = read(munch_root, question="generation", strict=True)
    assert split.sha256 == munch.FILES["generation"][1]
    assert (len(split.items), sum(len(item.options) for item in split.items)) == (2953, 10261)
    assert Counter(item.attributes["genre"][0] for item in split.items) == dict(
        zip(munch.GENRES, (1061, 922, 593, 377), strict=True)
    )
    novelties = [float(item.attributes["novelty"][0]) for item in split.items]
    assert (min(novelties), max(novelties), round(sum(novelties) / 2953, 3)) == (-0.3, 0.71, 0.057)
    beside = [
        item.context[: item.target[0]][-1:] + item.context[item.target[1] :][:1]
        for item in split.items
        if isinstance(item, Marked)
    ]
    assert sum(any(map(str.isalnum, letters)) for letters in beside) == 15
    assert sum(">" in item.context for item in split.items) == 13


def test_counts_of_the_published_triples(munch_root: Path) -> None:
    split = read(munch_root, question="sentence", strict=True)
    assert split.sha256 == munch.FILES["judgement"][1]
    gold = Counter(item.gold for item in split.items)
    assert (len(split.items), gold[0] + gold[1], gold[2], gold[3]) == (1492, 1072, 45, 375)
    assert len({(item.context, item.target) for item in split.items if isinstance(item, Marked)}) == 728
    assert Counter(item.attributes["genre"][0] for item in split.items) == {
        "NEWS": 631,
        "ACPROSE": 618,
        "FICTION": 243,
    }
    assert not any("&gt;" in text for item in split.items for text in (item.context, *item.options))
    # Near 36, 36, 3 and 25 % once they are shuffled, 71.8 % A if they are not.
    assert [gold[letter] / 1492 for letter in range(4)] == pytest.approx([0.36, 0.36, 0.03, 0.25], abs=0.02)
    upstream = read(munch_root, question="word", order="upstream")
    assert any("always A scores 71.8 %" in note for note in upstream.notes)


def test_the_parts_of_the_published_triples(munch_root: Path) -> None:
    paths = PathsConfig(data=str(munch_root))
    train, validation = for_training(DataConfig("munch", "munch", question="paraphrase"), paths)
    assert len(train.items) + len(validation.items) == 1072
    assert not {item.group for item in train.items} & {item.group for item in validation.items}
    assert not {item.context for item in train.items} & {item.context for item in validation.items}
    assert len(read(munch_root, question="paraphrase", held_out=1.0).items) == 1072


def test_adverbs_of_the_published_triples_are_ten(munch_root: Path) -> None:
    published("munch/derived/pos_from_vua_seq.tsv")
    found = Counter(item.attributes.get("pos", ("",))[0] for item in read(munch_root, question="word").items)
    assert found["ADV"] == 10

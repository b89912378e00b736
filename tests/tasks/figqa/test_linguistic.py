"""Linguistic analyses: segments of metaphors, hypernyms, where a metaphor's own words point. Needs the extra
`analysis`."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks import registry as data
from figlang.tasks.figqa import cut, linguistic, segments, wordnet
from figlang.types import Item
from tests.conftest import published
from tests.needing import needs
from tests.published import results

needs("spacy", "needs figlang[analysis]")
needs("nltk", "needs figlang[analysis]")

CACHE = Path(os.environ.get("FIGLANG_CACHE", "~/.cache/figlang")).expanduser() / "nltk"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    try:
        segments.parser()
    except FiglangError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("metaphor", "expected"),
    [
        ("Her word had the strength of titanium.", ("her word", "had strength of", "titanium")),
        ("The dog was as grumpy as an old man", ("dog", "was as grumpy as", "old man")),
        ("The lake was a mirror.", ("lake", "was", "mirror")),
    ],
)
def test_a_metaphor_has_subject_relation_and_object(metaphor: str, expected: tuple[str, str, str]) -> None:
    found = segments.segment(segments.parse([metaphor])[0])
    assert found is not None
    assert (
        tuple(" ".join(word.text for word in getattr(found, part)) for part in linguistic.PARTS) == expected
    )


@pytest.mark.parametrize("text", ["", "Run!", "He."])
def test_what_has_no_two_parts_is_not_segmented(text: str) -> None:
    assert segments.segment(segments.parse([text])[0]) is None


def test_nouns_are_lemmatised_and_tagged_in_their_sentence() -> None:
    found = segments.segment(segments.parse(["The walls were as thin as leaves."])[0])
    assert found is not None
    assert [(word.text, word.tag) for word in found.subject] == [("wall", "NNS")]


@pytest.mark.parametrize(
    ("metaphor", "answers", "gold", "expected"),
    [
        (
            "The girl was as bubbly as still water",
            ("The girl was bubbly", "The girl was bland"),
            1,
            "to a wrong answer",
        ),
        (
            "The girl was as bubbly as a fountain",
            ("The girl was bubbly", "The girl was bland"),
            0,
            "to the right answer",
        ),
        (
            "The girl was as bubbly as a fountain",
            ("The girl was bubbly", "The girl was not bubbly"),
            0,
            "to the right answer",
        ),
        ("The girl was a fountain", ("The girl was happy", "The girl was bland"), 0, "nowhere"),
        (
            "The girl was as bubbly as still water",
            ("The girl was bubbly", "The girl was bland"),
            None,
            "nowhere",
        ),
    ],
)
def test_where_a_metaphors_own_words_point(
    metaphor: str, answers: tuple[str, str], gold: int | None, expected: str
) -> None:
    context, *options = segments.parse([metaphor, *answers])
    assert linguistic.association(context, options, gold) == expected


def items(*metaphors: str) -> list[Item]:
    return [
        Item(f"i{n}", f"g{n // 2}", text, ("It was long", "It was short"), n % 2)
        for n, text in enumerate(metaphors)
    ]


def test_twins_that_share_a_part_count_it_once() -> None:
    rows = items(
        "The voyage was as long as a lifetime",
        "The voyage was as long as a blink",
        "The voyage was a lifetime",
        "The book was a brick",
    )
    found = linguistic.frequencies(rows)
    assert found["subject"] == {"voyage": 2, "book": 1}
    assert found["object"]["lifetime"] == 2


def known() -> None:
    try:
        wordnet.reader(CACHE)
    except FiglangError as error:
        pytest.skip(str(error))


def test_hypernyms_are_the_direct_ones_of_the_first_synset() -> None:
    known()
    found = wordnet.reader(CACHE)
    assert wordnet.hypernyms(found, "girl", "NN") == ("woman.n.01",)
    assert wordnet.hypernyms(found, "qqq", "NN") == ()


def test_words_that_are_looked_up_in_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pronouns have none but those that stand for a person; fragments and single letters have none but I."""
    monkeypatch.setattr(wordnet, "hypernyms", lambda _, text, tag: (f"{text}/{tag}", "thing"))
    tagged = {
        "he": "PRP",
        "it": "PRP",
        "i": "PRP",
        "s": "POS",
        "x": "NN",
        "ox": "NN",
        "at": "IN",
        "red": "JJ",
    }
    words = [segments.Word(text, tag) for text, tag in tagged.items()]
    found = linguistic._hypernyms(words, None)
    assert found == ("man/N", "thing", "me/N", "ox/NN", "red/JJ")


def test_a_part_of_which_cutting_leaves_nothing_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "tagger", lambda: by_hand)
    monkeypatch.setattr(cut, "patterns", lambda *_: ("NN", "", "JJ NN"))
    assert linguistic._of_cut(None) == {
        "subject tags": ("NN",),
        "relation tags": ("empty",),
        "object tags": ("JJ NN",),
    }
    monkeypatch.setattr(cut, "patterns", lambda *_: None)
    assert linguistic._of_cut(None) == {}


def test_every_item_gets_its_attributes_by_id() -> None:
    known()
    found = linguistic.attributes(items("He was a shark", "Run!"), CACHE)
    assert found["i0"]["subject hypernyms"] == (
        "adult.n.01",
        "male.n.02",
    )  # he is read as man, as in the paper
    assert found["i0"]["object tags"] == ("NN",)  # cut out or not
    assert found["i1"]["subject tags"] == ("not segmented",)
    assert "subject hypernyms" not in found["i1"]


def test_texts_in_another_language_are_not_analysed_by_an_english_parser_unless_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(wordnet, "reader", lambda cache: None)
    monkeypatch.setattr(wordnet, "hypernyms", lambda *_: ())
    monkeypatch.setattr(cut, "tagger", lambda: None)
    spanish = items("Su voz era terciopelo", "El examen fue un paseo", "Mi jefe es una hoguera")
    found, reason = data.task("figqa").analyse(spanish, tmp_path, "auto")
    assert not found
    assert "of 3 texts, so they seem to be in another language" in reason
    assert data.task("figqa").analyse(spanish, tmp_path, "on")[0]
    assert data.task("figqa").analyse(items("He was a shark"), tmp_path, "auto")[0]


def by_hand(words: Sequence[str]) -> list[tuple[str, str]]:
    """A tagger that takes a word it does not know for a noun, as NLTK's does with the "s" of a possessive."""
    known = {"wa": "NN", "was": "VBD", "as": "RB", "cold": "JJ", "her": "PRP$"}
    return [(word, known.get(word, "NN")) for word in words]


def test_segments_are_tagged_as_they_are_cut_out() -> None:
    known()
    (document,) = segments.parse(["The girl's rooms were as cold as a stone."])
    found = segments.segment(document)
    assert found is not None
    assert [word.tag for word in found.subject] == ["NN", "POS", "NNS"]
    assert cut.patterns(document, by_hand) == ("NN NN NN", "NN RB JJ RB", "NN")
    assert cut.patterns(segments.parse(["Run!"])[0], by_hand) is None


def test_cut_segments_are_cleaned_as_the_authors_did() -> None:
    known()
    assert cut.cleaned("The mother 's soups") == ["mother", "s", "soup"]
    assert cut.repaired(cut.cleaned("was as cold as")) == ["was", "as", "cold", "as"]
    assert cut.repaired(["idea", "is"]) == ["ideas", "is"]


def test_reports_have_the_tags_of_cut_segments_where_the_tagger_is(monkeypatch: pytest.MonkeyPatch) -> None:
    known()
    metaphor = items("The girl's room was a shark")
    monkeypatch.setattr(cut, "tagger", lambda: by_hand)
    assert linguistic.attributes(metaphor, CACHE)["i0"]["subject tags"] == ("NN NN NN",)
    monkeypatch.setattr(cut, "tagger", lambda: None)
    assert linguistic.attributes(metaphor, CACHE)["i0"]["subject tags"] == ("NN POS NN",)


def test_the_tagger_is_found_in_a_package_that_carries_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nltk

    folder = tmp_path / "carries_a_tagger" / "nltk_data" / "taggers" / "averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True)
    data_of = {"weights": {"bias": {"NN": 1.0}}, "tagdict": {"the": "DT"}, "classes": ["DT", "NN"]}
    for name, value in data_of.items():
        (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(value))
    (tmp_path / "carries_a_tagger" / "__init__.py").write_text("raise ImportError('libraries')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(cut, "CARRIER", "carries_no_tagger")
    cut.tagger.cache_clear()
    assert cut.tagger() is None
    monkeypatch.setattr(cut, "CARRIER", "carries_a_tagger")
    cut.tagger.cache_clear()
    tag = cut.tagger()
    cut.tagger.cache_clear()
    assert tag is not None
    assert tag(["the", "shark"]) == [("the", "DT"), ("shark", "NN")]


@pytest.mark.slow
def test_the_papers_most_frequent_patterns_come_out() -> None:
    known()
    tag = cut.tagger()
    if tag is None:
        pytest.skip(f"NLTK's tagger is not installed: {cut.INSTALL}")
    split = data.load("test", DataConfig(), PathsConfig(data=published("figqa/filtered/test.csv")))
    found = [
        cut.patterns(document, tag) for document in segments.parse([item.context for item in split.items])
    ]
    for place, part in enumerate(linguistic.PARTS):
        counted = Counter(one[place] for one in found if one is not None)
        for row in results():
            if (
                row.metric == "frequency"
                and "pos" in row.setting
                and row.setting["segment"] == part
                and row.value is not None
            ):
                # Other versions of spaCy's model segment a few sentences otherwise.
                assert counted[row.setting["pos"]] == pytest.approx(row.value, rel=0.12, abs=5), row.setting
    assert Counter(one[0] for one in found if one is not None)["NN NN NN"] == 32

"""Static vectors from files and embeddings, cosines of triples, words that have none."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from figlang.errors import FiglangError
from figlang.tasks.munch import similarity, vectors
from figlang.types import Marked

LINES = "the 1 0 0\nway 1 1 0\nroute 1 2 0\nstreet 0 0 1\nnothing 0 0 0\n"


def triple(number: int, target: str, options: tuple[str, str], gold: int) -> Marked:
    context = f"The {target} is clear."
    return Marked(
        f"t{number}",
        f"g{number % 2}",
        context,
        (*options, "both", "neither"),
        gold,
        {},
        target=(4, 4 + len(target)),
    )


TRIPLES = [
    triple(0, "Way", ("route", "street"), 0),
    triple(1, "way", ("street", "route"), 1),
    triple(2, "way", ("path", "street"), 0),
    triple(3, "way", ("nothing", "street"), 0),
    triple(4, "way", ("route", "street"), 3),  # two inapt ones: no part of Figure 3
]


@pytest.mark.parametrize("name", ["plain.txt", "counted.txt", "packed.gz"])
def test_text_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = ("5 3\n" if name == "counted.txt" else "") + LINES
    if name == "packed.gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    found = vectors.load(path, ["way", "street", "absent"])
    assert {word: list(vector) for word, vector in found.items()} == {"way": [1, 1, 0], "street": [0, 0, 1]}


def test_files_of_gensim(tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed.add_vectors(["way", "street"], np.array([[1, 1, 0], [0, 0, 1]], np.float32))
    keyed.save(str(tmp_path / "vectors.kv"))
    keyed.save_word2vec_format(str(tmp_path / "vectors.bin"), binary=True)
    for name in ("vectors.kv", "vectors.bin"):
        found = vectors.load(tmp_path / name, ["way", "absent"], allow_pickle=name.endswith("kv"))
        assert {word: list(vector) for word, vector in found.items()} == {"way": [1, 1, 0]}


def test_embeddings_are_means_over_tokens() -> None:
    matrix = np.array([[1.0, 0], [0, 1], [4, 4]])
    found = vectors.embedded(
        ["one", "two", "none"], matrix, lambda word: {"one": [2], "two": [0, 1]}.get(word, [])
    )
    assert {word: list(vector) for word, vector in found.items()} == {"one": [4, 4], "two": [0.5, 0.5]}
    with pytest.raises(
        FiglangError, match="vectors=model: the vector of 'one' has a number that is not finite"
    ):
        vectors.embedded(["one"], np.full((1, 2), np.inf), lambda word: [0])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.txt", None, "is not a file; give a GloVe text file"),
        ("other.txt", "und 1 2\n", "has none of the 1 words"),
        ("short.txt", "the 1 2 3\nway 1 2\n", "line 2 has 2 numbers, but the first line has 3"),
        ("nan.txt", "way nan 2\n", "the vector of 'way' has a number that is not finite"),
        ("words.txt", "way is clear\n", "is not a text file of words with numbers"),
        ("not.gz", "way 1 2\n", "is not a text file of words with numbers"),
        ("not.kv", "way 1 2\n", "cannot be read by gensim"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if name.endswith("kv"):
        pytest.importorskip("gensim")
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(FiglangError, match=message):
        vectors.load(tmp_path / name, ["way"], allow_pickle=True)


def test_a_pickle_is_read_only_if_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "vectors.kv").write_text("way 1 2\n")
    with pytest.raises(FiglangError, match=r"vectors\.kv is neither text .* set allow_pickle=true"):
        vectors.load(tmp_path / "vectors.kv", ["way"])


def test_cosines_worked_by_hand(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(LINES)
    known = vectors.load(tmp_path / "glove.txt", ["way", "route", "street", "nothing", "path"])
    rows = similarity.triples(TRIPLES, known)
    assert [row.missing for row in rows] == [(), (), ("path",), ("nothing",)]
    assert (
        rows[0].cosines
        == rows[1].cosines
        == {"target-apt": pytest.approx(3 / 10**0.5), "target-inapt": 0, "apt-inapt": 0}
    )
    assert (rows[1].target, rows[1].apt, rows[1].inapt) == ("way", "route", "street")
    found = similarity.measure(rows)
    assert (found["triples"], found["used"], found["left_out"]) == (4, 2, 2)
    assert (
        found["apt_minus_inapt"]["mean"] == found["pairs"]["target-apt"]["mean"] == pytest.approx(3 / 10**0.5)
    )
    assert found["pairs"]["target-inapt"]["sd"] == 0


def test_words_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text(LINES)
    known = vectors.load(tmp_path / "glove.txt", ["way", "route", "street"])
    assert similarity.triples(TRIPLES[:1], known, lower=False)[0].missing == ("Way",)
    assert similarity.measure(similarity.triples(TRIPLES[:1], known, lower=False)) == {
        "triples": 1,
        "used": 0,
        "left_out": 1,
    }
    with pytest.raises(FiglangError, match="no triple with one apt and one inapt word"):
        similarity.triples(TRIPLES[4:], known)


def test_a_line_without_end_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"cat 1 2\nthe " + b"1 " * 50_000_000))
    tracemalloc.start()
    with pytest.raises(FiglangError, match="a line has more than 1,048,576 characters"):
        vectors.load(path, ["cat"])
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()


def test_a_binary_file_that_promises_more_than_it_has_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("gensim", reason="needs the extra `vectors`")
    path = tmp_path / "x.bin"
    path.write_bytes(b"1000000000 300\ncat " + b"\0" * 1200)
    with pytest.raises(FiglangError, match=r"more than its [0-9,]+ bytes hold"):
        vectors.load(path, ["cat"])

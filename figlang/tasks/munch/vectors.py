"""Static word vectors from a text file such as GloVe's, from a gensim file, or from a language model's input
embeddings."""

import gzip
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from figlang.errors import FiglangError, one_line
from figlang.statistics.clustered import Array

LONGEST = 1 << 20  # characters of a line; a word with 10,000 numbers has a fifth of that
TEXT, BINARY = (".txt", ".vec", ".gz"), ".bin"


def load(path: Path, words: Collection[str], allow_pickle: bool = False) -> dict[str, Array]:
    """Read the vectors of `words` from a file. Words without a vector are left out.

    `.txt`, `.vec` and `.gz` are text: each line has a word and its numbers. A first line with two counts is
    skipped (GloVe, word2vec and fastText text formats). `.bin` is word2vec's binary format. Any other file
    must have been saved by gensim. Such a file is a pickle, which can run code, so it is read only with
    `allow_pickle`.

    Raises FiglangError if the file cannot be read, if it has none of the words, or if a number is not finite.
    """
    if not path.is_file():
        raise FiglangError(
            f"vectors={path} is not a file; give a GloVe text file, a file of gensim, or vectors=model"
        )
    if path.suffix not in (*TEXT, BINARY) and not allow_pickle:
        raise FiglangError(
            f"vectors={path} is neither text ({', '.join(TEXT)}) nor word2vec's {BINARY}; a file that "
            "gensim saved is a pickle, which can run code: if you trust its author, set allow_pickle=true"
        )
    found = _text(path, words) if path.suffix in TEXT else _gensim(path, words)
    if not found:
        raise FiglangError(
            f"vectors={path} has none of the {len(words)} words; check that each line begins with a word, "
            "in the language of the data"
        )
    return _finite(found, f"vectors={path}")


def _finite(vectors: dict[str, Array], source: str) -> dict[str, Array]:
    if odd := next((word for word, values in vectors.items() if not np.isfinite(values).all()), None):
        raise FiglangError(
            f"{source}: the vector of {odd!r} has a number that is not finite; restore the file, or use "
            "another one"
        )
    return vectors


def _text(path: Path, words: Collection[str]) -> dict[str, Array]:
    wanted = set(words)
    found: dict[str, Array] = {}
    size = 0
    try:
        for number, line in enumerate(_lines(path), start=1):
            word, _, numbers = line.partition(" ")
            if number == 1 and len(line.split()) == 2:  # how many words and numbers there are
                continue
            # Most of the 400,000 lines are of no interest: their numbers are not read.
            size = size or len(numbers.split())
            if word in wanted and word not in found:
                values = np.array(numbers.split(), float)
                if len(values) != size or not size:
                    raise FiglangError(
                        f"vectors={path}: line {number} has {len(values)} numbers, but the first line has "
                        f"{size}; restore the file"
                    )
                found[word] = values
    except (OSError, EOFError, ValueError) as error:
        raise FiglangError(
            f"vectors={path} is not a text file of words with numbers ({one_line(error)}); give another file"
        ) from error
    return found


def _lines(path: Path) -> Iterator[str]:
    opened: Any = gzip.open if path.suffix == ".gz" else Path.open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        while line := file.readline(LONGEST):
            if len(line) == LONGEST:
                raise ValueError(f"a line has more than {LONGEST:,} characters")
            yield line.rstrip("\n ")


def _gensim(path: Path, words: Collection[str]) -> dict[str, Array]:
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise FiglangError(
            f"vectors={path} needs gensim, which is not installed; pip install 'figlang[vectors]', or give a "
            "text file"
        ) from None
    try:
        binary = path.suffix == BINARY
        if binary:
            _check_size(path)
        held = (
            KeyedVectors.load_word2vec_format(str(path), binary=True)
            if binary
            else KeyedVectors.load(str(path), mmap="r")
        )
        held = getattr(held, "wv", held)  # of a whole model, its vectors
        return {word: np.array(held[word], float) for word in words if word in held}
    except Exception as error:  # unpickling fails with any type
        raise FiglangError(
            f"vectors={path} cannot be read by gensim ({type(error).__name__}: {one_line(error)})"
        ) from error


def _check_size(path: Path) -> None:
    """Check the header of a word2vec file.

    Raises ValueError if the file is too small for the numbers that its header promises.
    """
    with path.open("rb") as file:
        words, size = map(int, file.readline(100).split())
    if words * size * 4 > path.stat().st_size:  # float32
        raise ValueError(
            f"{words:,} words with {size:,} numbers are more than its {path.stat().st_size:,} bytes hold"
        )


def embedded(words: Collection[str], matrix: Array, pieces: Callable[[str], list[int]]) -> dict[str, Array]:
    """Vectors of words from input embeddings (vocabulary, size): the mean over a word's tokens. A word
    without tokens is left out.

    Raises FiglangError for embeddings that are not finite.
    """
    tokens = {word: pieces(word) for word in words}
    return _finite({word: matrix[ids].mean(0) for word, ids in tokens.items() if ids}, "vectors=model")


def cosine(one: str, other: str, vectors: Mapping[str, Array]) -> float | None:
    """Cosine similarity of two words; None if a word has no vector, or a vector of zeros."""
    if one not in vectors or other not in vectors:
        return None
    lengths = float(np.linalg.norm(vectors[one]) * np.linalg.norm(vectors[other]))
    return float(vectors[one] @ vectors[other]) / lengths if lengths else None

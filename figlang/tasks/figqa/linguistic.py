"""Linguistic attributes of Fig-QA's metaphors, for accuracy by attribute (Liu et al. 2022, §6.2, appendices E
and F)."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError
from figlang.machine import bars
from figlang.tasks.figqa import cut, segments, wordnet
from figlang.tasks.figqa.segments import Segments, Word
from figlang.text.amounts import counted
from figlang.types import Item

PARTS = ("subject", "relation", "object")
UNSEGMENTED = ("not segmented",)
# Words that WordNet knows as something else, and fragments that tokenising leaves, as the authors' code has
# them.
READ_AS = {"he": "man", "she": "woman", "i": "me"}
FRAGMENTS = {"s", "at", "m", "in"}
NEGATIONS = {
    "not",
    "n't",
    "never",
    "no",
    "none",
    "nothing",
    "hardly",
    "barely",
    "without",
    "nobody",
    "neither",
    "nor",
    "cannot",
}
CONTENT = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")
# The English parser segments at least 99 % of Fig-QA's metaphors, and at most 54 % of those of MABL in Latin
# script. Below this share, texts are taken for texts in another language.
LEAST_SEGMENTED = 0.75


def attributes(items: Sequence[Item], cache: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Find the linguistic attributes of each item.

    They are, by item id: the tags of subject, relation and object, the hypernyms in subject and object, and
    the word association.

    If NLTK's tagger is installed, it tags the segments by themselves, as in the paper. Otherwise the tags are
    those of the words in their sentence. `cache` is a folder for WordNet's files. Raises FiglangError that
    says what to install.
    """
    known = wordnet.reader(cache)
    contexts = dict(
        zip((item.id for item in items), segments.parse([item.context for item in items]), strict=True)
    )
    answers = {text: None for item in items for text in item.options}
    parsed = dict(zip(answers, segments.parse(answers), strict=True))
    return {
        item.id: _of_segments(segments.segment(contexts[item.id]), known)
        | _of_cut(contexts[item.id])
        | {
            "word association": (
                association(contexts[item.id], [parsed[text] for text in item.options], item.gold),
            )
        }
        for item in items
    }


def _of_segments(found: Segments | None, known: Any) -> dict[str, tuple[str, ...]]:
    if found is None:
        return {f"{part} tags": UNSEGMENTED for part in PARTS}
    tags = {
        f"{part} tags": (" ".join(word.tag for word in getattr(found, part)) or "empty",) for part in PARTS
    }
    above = {f"{part} hypernyms": _hypernyms(getattr(found, part), known) for part in ("subject", "object")}
    return tags | above


def _of_cut(context: Any) -> dict[str, tuple[str, ...]]:
    tag = cut.tagger()
    found = None if tag is None else cut.patterns(context, tag)
    return (
        {}
        if found is None
        else {f"{part} tags": (tags or "empty",) for part, tags in zip(PARTS, found, strict=True)}
    )


def _hypernyms(words: Sequence[Word], known: Any) -> tuple[str, ...]:
    # Other pronouns are left out: WordNet reads "it" as information technology.
    named = [word for word in words if word.text in READ_AS or not word.tag.startswith("PRP")]
    looked_up = [
        word for word in named if word.text not in FRAGMENTS and (len(word.text) > 1 or word.text == "i")
    ]
    tags = {word.text: "N" if word.text in READ_AS else word.tag for word in looked_up}
    found = (
        name for text, tag in tags.items() for name in wordnet.hypernyms(known, READ_AS.get(text, text), tag)
    )
    return tuple(dict.fromkeys(found))


def association(context: Any, options: Sequence[Any], gold: int | None) -> str:
    """Say which answer repeats the metaphor's content words: the right one, a wrong one, or none.

    An answer is pointed to if it repeats a content word of the metaphor without negating it and no other
    answer does. "The girl was as bubbly as still water" points to "The girl was bubbly", which is wrong. The
    paper (§6.3) calls such metaphors sarcastic; this rule finds them without a prediction. Most metaphors
    point "nowhere": no answer repeats a word, or all do.
    """
    said = _content(context)
    subject = {token.lemma_.lower() for token in context if token.dep_ in ("nsubj", "nsubjpass")}
    repeated = [bool((_content(option) & said) - subject) and not _negated(option) for option in options]
    if gold is None or sum(repeated) != 1:
        return "nowhere"
    return "to the right answer" if repeated[gold] else "to a wrong answer"


def _content(document: Any) -> set[str]:
    return {token.lemma_.lower() for token in document if token.pos_ in CONTENT and not token.is_stop}


def _negated(document: Any) -> bool:
    return any(token.lower_ in NEGATIONS or token.dep_ == "neg" for token in document)


def frequencies(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """How often every subject, relation and object occurs, the most frequent first (Figure 1).

    The two metaphors of a pair that share a part count once, as in the paper. Raises FiglangError if the
    texts do not seem to be English.
    """
    segmented = 0
    counts: dict[str, dict[str, int]] = {part: {} for part in PARTS}
    last: dict[str, tuple[str, str]] = {}
    documents = segments.stream(item.context for item in items)
    for item, document in bars.track(zip(items, documents, strict=True), "parsing", len(items)):
        found = segments.segment(document)
        if found is None:
            continue
        segmented += 1
        for part, text in _texts(found):
            if text and last.get(part) != (item.group, text):
                counts[part][text] = counts[part].get(text, 0) + 1
            last[part] = (item.group, text)
    _check_english(segmented, len(items))
    return {part: dict(sorted(found.items(), key=lambda one: -one[1])) for part, found in counts.items()}


def check_english(attributes: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Raise FiglangError if `attributes` (by item id) found segments in too few texts for English ones."""
    segmented = sum(found["relation tags"] != UNSEGMENTED for found in attributes.values())
    _check_english(segmented, len(attributes))


def _check_english(segmented: int, total: int) -> None:
    if segmented < LEAST_SEGMENTED * total:
        raise FiglangError(
            f"the parser is English, and it finds subject, relation and object in only {segmented:,} of "
            f"{counted(total, 'text')}, so they seem to be in another language"
        )


def every(items: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Take at most `most` items, as whole groups at equal distances."""
    groups = {group: place for place, group in enumerate(dict.fromkeys(item.group for item in items))}
    step = -(-len(items) // most)
    while len(kept := tuple(item for item in items if groups[item.group] % step == 0)) > most:
        step += 1
    return kept


def latin(texts: Iterable[str]) -> bool:
    """Whether at least half of the letters are Latin. The first thousand texts are looked at."""
    letters = [letter for text in islice(texts, 1000) for letter in text if letter.isalpha()]
    return 2 * sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters) >= len(letters)


def _texts(found: Segments) -> Iterator[tuple[str, str]]:
    for part in PARTS:
        yield part, " ".join(word.text for word in getattr(found, part))

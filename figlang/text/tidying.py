"""How a sentence begins and ends in any script, by Unicode's properties; and one way to write a text."""

from unicodedata import normalize

import regex

# Unicode's sentence terminals lack the ellipsis and the Tibetan shad.
TERMINAL = r"[\p{Sentence_Terminal}…‥།༎]"
CLOSER = r"[\"'\p{Pe}\p{Pf}\p{Pi}]"
# From the end on: forwards, a run of spaces within a text would be tried from each of them to its end.
_TAIL = regex.compile(rf"(?:{TERMINAL}|[\s,،、，])+$", regex.REVERSE)
_CLOSED = regex.compile(rf"{TERMINAL}\s*{CLOSER}+$")
_LETTER = regex.compile(r"\p{L}", regex.REVERSE)
# The full stop of scripts that have one of their own; all others write a period.
_STOPS = (
    (regex.compile(r"[\p{Deva}\p{Beng}\p{Guru}\p{Orya}]"), "।"),
    (regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Bopo}]"), "。"),
    (regex.compile(r"\p{Armn}"), "։"),
    (regex.compile(r"\p{Ethi}"), "።"),
    (regex.compile(r"\p{Khmr}"), "។"),
    (regex.compile(r"\p{Mymr}"), "။"),
    (regex.compile(r"\p{Tibt}"), "།"),
)


def titled(text: str) -> str:
    """The text with its first letter in title case, if its script has one.

    For example, `ﬁne` becomes `Fine`, and Georgian stays as it is.
    """
    return text[:1].title() + text[1:]


def without_end(text: str) -> str:
    """The text without terminals, commas and spaces at its end. Those before a closing quote stay."""
    return _TAIL.sub("", text)


def is_closed(text: str) -> bool:
    """Whether the text ends with a closing quote or bracket after a terminal."""
    return _CLOSED.search(text) is not None


def is_ended(text: str) -> bool:
    """Whether the text ends with a terminal. Closing quotes and brackets may follow it."""
    return regex.search(rf"{TERMINAL}\s*{CLOSER}*$", text) is not None


def full_stop(text: str) -> str:
    """The mark that ends a statement in the script of the text's last letter."""
    letter = _LETTER.search(text)
    return next((stop for script, stop in _STOPS if letter and script.match(letter[0])), ".")


def tidy(text: str) -> str:
    """The text as one sentence: first letter in title case, one full stop of its script at the end.

    Other terminals at the end (question marks, ellipses) are replaced by the full stop. A closing quote after
    a terminal ends the sentence as it is. An empty text stays empty.
    """
    if not text.strip():
        return ""
    bare = without_end(text.strip())
    return titled(bare) + ("" if is_closed(bare) else full_stop(bare))


def plain(text: str) -> str:
    """The text with composed letters (NFC) and single spaces, so that equal texts are written alike."""
    return " ".join(normalize("NFC", text).split())


def same(first: str, second: str) -> bool:
    """Whether a reader sees no difference between two texts."""
    return plain(first) == plain(second)


def fold(text: str) -> str:
    """A form by which a text is recognised: plain, in lower case, without final periods."""
    return plain(text).lower().rstrip(" .")

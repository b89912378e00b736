"""What is in a text by mistake: control characters, the signs of a wrong encoding, words for no text."""

import unicodedata
from collections.abc import Iterable

REMEDY = "correct the text; such characters come from a wrong encoding or a damaged file"
# How pandas, R and SQL write a missing cell. None is not here, since it can be an answer.
ABSENT = frozenset({"NaN", "nan", "NA", "<NA>", "NULL", "null"})
FILL = "empty the cell or delete the row if this stands for a missing text"
# The replacement character, and a byte-order mark within a text.
SIGNS = "\ufffd\ufeff"
# Control characters that may be in a text. U+0085, also a line break to Python, is the ellipsis of cp1252.
KEPT = "\t\n\v\f\r"


def found(texts: Iterable[str]) -> str | None:
    """The first character that no text should hold.

    Args:
        texts: Texts, which may hold tabs and line breaks.

    Returns:
        Its code point, for example U+FFFD, or None.
    """
    for text in texts:
        if text.isprintable() and SIGNS[0] not in text:
            continue
        for character in text:
            control = unicodedata.category(character) == "Cc" and character not in KEPT
            if control or character in SIGNS:
                return f"U+{ord(character):04X}"
    return None


def absent(texts: Iterable[str]) -> str | None:
    """The first text that is only a word for a missing one, for example NaN; None without such a text.

    Args:
        texts: Texts, with or without spaces around them.
    """
    return next((text.strip() for text in texts if text.strip() in ABSENT), None)

"""Sentences in which one word is marked, as MUNCH's tables have them: `<b>word</b>`."""

from typing import NamedTuple
from xml.sax.saxutils import unescape

OPEN, CLOSE = "<b>", "</b>"


class Mark(NamedTuple):
    """A sentence with its marked word, or part of a word."""

    before: str
    word: str
    after: str

    @property
    def plain(self) -> str:
        return "".join(self)

    @property
    def starred(self) -> str:
        return f"{self.before}*{self.word}*{self.after}"

    @property
    def target(self) -> tuple[int, int]:
        """The place of the word in the plain sentence: the offsets of its first character and of the one
        after its last."""
        return len(self.before), len(self.before) + len(self.word)

    def repaired(self) -> "Mark":
        """Replace `&gt;`, `&lt;` and `&amp;` by the characters that they stand for."""
        return Mark(*map(unescape, self))


def mark(text: str) -> Mark | None:
    """The parts of a sentence with one marked word; None if there is no such mark, or more than one."""
    before, opened, rest = text.strip().partition(OPEN)
    word, closed, after = rest.partition(CLOSE)
    again = any(tag in part for part in (before, word, after) for tag in (OPEN, CLOSE))
    return Mark(before, word, after) if opened and closed and word.strip() and not again else None

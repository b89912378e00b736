"""Readings of replies by strict rules: a last line with a letter, a rating, and why a reply cannot be read.

A reply that does not have the wanted form is not guessed at: it is unread, with a reason.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from figlang.scoring.replies import CLOSED, MARKS, OPENED, THOUGHT, final, letter, unthought
from figlang.types import Reply

LOWEST, HIGHEST = 1, 7  # of a rating
FILTERED = "a content filter refused it"
UNTHOUGHT = "its reasoning has no end"


@dataclass(frozen=True)
class Reading:
    """The reading of a reply: the name of a letter, the number of a rating, or why it has neither."""

    letter: str | None = None
    rating: int | None = None
    reason: str = ""


def of_letter(reply: Reply, options: int) -> Reading:
    """Read the option that a reply names (`replies.letter`)."""
    named = letter(reply.text, options)
    return Reading(named) if named is not None else Reading(reason=_why(reply, options))


def of_last_line(reply: Reply, options: int, word: str) -> Reading:
    """Read the last line of a reply: the word, a colon and a letter, and nothing else.

    Args:
        reply: The reply.
        options: How many options there are.
        word: The word that begins the line, for example `Answer`.
    """
    if reason := _unreadable(reply):
        return Reading(reason=reason)
    lines = [line.strip() for line in MARKS.sub("", final(reply.text)).splitlines() if line.strip()]
    form = rf"(?i:{word})\s*:\s*(?:\(([A-Z])\)|([A-Z]))\.?"
    # A reply of quotation marks or emphasis alone has no line.
    found = re.fullmatch(form, lines[-1]) if lines else None
    if found is None:
        return Reading(reason=_cut(reply, f"its last line is not of the form “{word}: X”"))
    if reply.cut:
        # The next token might have gone on with the line.
        return Reading(reason=f"it {CUT}, so that its last line may not be whole")
    named = found[1] or found[2]
    if named not in ascii_uppercase[:options]:
        return Reading(reason=f"it names {named}, which is not an option")
    # Only whole lines: "Answer: Because" and "Answer: I think" begin with capital letters too.
    every = {other[1] or other[2] for line in lines if (other := re.fullmatch(form, line))}
    if len(every) > 1:
        return Reading(reason=f"it has several answer lines: {', '.join(sorted(every))}")
    return Reading(named)


def of_rating(reply: Reply) -> Reading:
    """Read a reply that is one whole number from 1 to 7, perhaps with a word such as `Rating:` before it."""
    if reason := _unreadable(reply):
        return Reading(reason=reason)
    text = MARKS.sub("", final(reply.text)).strip()
    found = re.fullmatch(r"(?:[^\W\d_]+\s*:\s*)?([0-9]+)(?:\s*/\s*7)?\.?", text)
    if found is None:
        several = len(re.findall(r"\d+", text)) > 1
        return Reading(reason=_cut(reply, "it has several numbers" if several else "it is not one number"))
    number = int(found[1]) if len(found[1]) < 4 else 0
    if not LOWEST <= number <= HIGHEST:
        return Reading(reason=f"its number is not from {LOWEST} to {HIGHEST}")
    return Reading(rating=number)


def majority(readings: Sequence[Reading]) -> Reading:
    """The letter that most readings have. A tie is named, and is not a choice.

    Replies that cannot be read do not vote.
    """
    if len(readings) == 1:
        return readings[0]
    votes = Counter(one.letter for one in readings if one.letter is not None)
    if not votes:
        return Reading(reason=f"none of {len(readings)} replies can be read; the first: {readings[0].reason}")
    most = max(votes.values())
    ahead = sorted(name for name, count in votes.items() if count == most)
    if len(ahead) > 1:
        return Reading(reason=f"a tie: {', '.join(f'{name} {most}' for name in ahead)} of {len(readings)}")
    return Reading(ahead[0])


def reasoning(reply: Reply) -> str:
    """The reasoning of a reply: what a server sent apart, or the text within tags of thought."""
    if reply.reasoning:
        return reply.reasoning
    rest = unthought(reply.text)
    thoughts = [] if rest == reply.text else [found[0] for found in THOUGHT.finditer(reply.text)]
    if CLOSED.search(rest):  # the template had begun the reasoning
        thoughts.append(CLOSED.split(rest)[0])
    elif opened := OPENED.search(rest):
        thoughts.append(rest[opened.start() :])
    return "\n".join(thoughts)


CUT = "reached the limit of tokens"


def _cut(reply: Reply, reason: str) -> str:
    return f"it {CUT}: {reason}" if reply.cut else reason


def _unreadable(reply: Reply) -> str:
    """Why there is no text to read; empty if there is some."""
    if reply.refused:
        return FILTERED
    if final(reply.text).strip():
        return ""
    if OPENED.search(CLOSED.split(unthought(reply.text))[-1]):
        return _cut(reply, UNTHOUGHT)
    return _cut(reply, "it is empty")


def _why(reply: Reply, options: int) -> str:
    """Why a reply names no option."""
    if reason := _unreadable(reply):
        return reason
    text = final(reply.text)
    found = set(re.findall(rf"(?<![\w'’])[{ascii_uppercase[:options]}](?![\w'’])", text))
    if not found:
        return _cut(reply, "it names no option")
    if len(found) > 1:
        return _cut(reply, f"it names several options: {', '.join(sorted(found))}")
    return _cut(reply, f"it names {found.pop()}, but not as the answer")

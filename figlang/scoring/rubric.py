"""Ratings by a model: how an answer is shown with its rubric, and the word in a reply, which is read
strictly."""

import re
from collections.abc import Sequence

from figlang.errors import FiglangError
from figlang.scoring.replies import MARKS, final
from figlang.tasks.scales import Rubric, Scale
from figlang.types import Generation, Reply

LABEL = "Rating:"


def rubric_of(scale: Scale) -> Rubric:
    """The rubric of a scale.

    Raises:
        FiglangError: It has none.
    """
    if scale.rubric is None:
        raise FiglangError(f"scale={scale.name} has no rubric for a model; let people rate, figlang rate")
    return scale.rubric


def orders(words: Sequence[str], both: bool) -> list[tuple[str, ...]]:
    """The orders in which a judge is shown the words of a scale: as they are and, with `both`, backwards."""
    return [tuple(words), tuple(reversed(words))] if both else [tuple(words)]


def shown(rubric: Rubric, generation: Generation, words: Sequence[str], replies: bool) -> str:
    """The message or prompt about an answer.

    Args:
        rubric: What is rated.
        generation: The answer.
        words: The words of the scale, in the order in which they are listed.
        replies: Whether the judge writes a reply. If not, the prompt ends where the word belongs.
    """
    listed = "\n".join(f"- {word}: {rubric.meanings[word]}" for word in words)
    about = f"{rubric.question}: {rubric.asked(generation)}\n{rubric.answer}: {generation.answer.strip(' ,')}"
    text = f"{rubric.task}\n\nRatings:\n{listed}\n\n{about}\n"
    if not replies:
        return f"{text}{LABEL}"
    return f'{text}\nEnd with a line of its own: "{LABEL} " and one of the words {", ".join(words)}.'


def read(reply: Reply, words: Sequence[str]) -> tuple[str | None, str]:
    """The word of the scale that a reply gives.

    It is the word of a line `Rating: WORD`, or a reply that is a word alone. Lines with different words give
    none. Reasoning is left out.

    Args:
        reply: The reply.
        words: The words of the scale.

    Returns:
        The word, or None; and the reason if there is none.
    """
    if reply.refused:
        return None, "refused by a content filter"
    lines = [MARKS.sub("", line).strip().casefold() for line in final(reply.text).splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return None, "cut at the limit of tokens" if reply.cut else "empty"
    one = "|".join(re.escape(word.casefold()) for word in words)
    lead = r"(?:(?:the |my |final |overall )*(?:rating|verdict)(?: is)? *[:=]? *(?:is )?)"
    line = re.compile(rf"{lead}[\[(<]?({one})[\])>]?[.!]?")
    given = [found[1] for each in lines if (found := line.fullmatch(each))]
    if len(lines) == 1 and (alone := re.fullmatch(rf"[\[(<]?({one})[\])>]?[.!]?", lines[0])):
        given.append(alone[1])
    if not given:
        named = {word for word in words if re.search(rf"\b{re.escape(word.casefold())}\b", " ".join(lines))}
        cut = "cut at the limit of tokens before its rating" if reply.cut else ""
        return None, cut or ("no line with a rating" if named else "no word of the scale")
    if len(set(given)) > 1:
        return None, "several ratings"
    return next(word for word in words if word.casefold() == given[0]), ""

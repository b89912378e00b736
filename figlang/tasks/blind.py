"""Items with their context hidden: what a model chooses that cannot see what the choice is about.

A data set whose options give the right one away is solved without its context, and an accuracy on it says
little. So every evaluation also asks the same model about the same options without the context. "Hidden"
means, by the way of asking:

- encoders: the context is the empty text. `pair` and `joint` read the options behind it, `dual` compares the
  options with the embedding of the empty text.
- NLI: the context is the empty text, wherever it stands: the premise, or the hypothesis where the options are
  premises.
- log-probabilities of causal and masked models: the answer alone, by the norm of the scoring. A template with
  words of its own keeps them (see `without`). The likelihood of the answer alone is never subtracted: the
  difference would be the same for all.
- questions: the question without the quoted sentence, see `without`.
- judgements about a marked word: the prompt without the line of the sentence.
- examples before a question or string stay: they are not what the choice is about.
"""

import re
from collections.abc import Sequence

from figlang.types import Item

OPENING, CLOSING, ENDING = "\"'“‘«„「", "\"'”’»」", ".!?。,;:"


def without(template: str, place: str) -> str:
    """A template without a place such as `{stem}`, the quotation marks around it, the mark that ends it and
    the space behind."""
    ended = f"[{ENDING}]?[{CLOSING}]?[{ENDING}]?"
    return re.sub(rf"[{OPENING}]?{re.escape(place)}{ended}\s*", "", template)


def distinct(items: Sequence[Item]) -> tuple[list[Item], list[int]]:
    """The items that differ in what a model reads of them, and for every item the number of its like.

    The two items of a Winograd pair have the same options, so that without their context they are one.
    """
    numbers: dict[tuple[object, ...], int] = {}
    kept: list[Item] = []
    places = []
    for item in items:
        key = (item.options, item.texts[1:], item.cut, item.attributes.get("question"))
        if key not in numbers:
            numbers[key] = len(kept)
            kept.append(item)
        places.append(numbers[key])
    return kept, places

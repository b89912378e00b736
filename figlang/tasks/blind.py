"""Items with their context hidden: a model chooses without seeing what the choice is about.

If the options alone show which one is right, a data set can be solved without its contexts. Accuracy on it
then says little. So every evaluation also asks the same model about the same options without the context.
What "hidden" means depends on how the model is asked:

- encoders: the context is the empty text. `pair` and `joint` read the options behind it, `dual` compares the
  options with the embedding of the empty text.
- NLI: the context is the empty text, wherever it stands: the premise, or the hypothesis where the options are
  premises.
- log-probabilities of causal and masked models: the answer alone, by the norm of the scoring. A template with
  words of its own keeps them (see `without`). The likelihood of the answer alone is never subtracted: the
  difference would be the same for all.
- questions: the question without the quoted sentence, see `without`.
- judgements about a marked word: the prompt without the line of the sentence.
- examples before a question or string stay, since the choice is not about them.
"""

import re
from collections.abc import Sequence

from figlang.types import Item

OPENING, CLOSING, ENDING = "\"'“‘«„「", "\"'”’»」", ".!?。,;:"


def without(template: str, place: str) -> str:
    """Remove a place such as `{stem}` from a template, with its quotation marks, the punctuation mark and the
    space after it."""
    ended = f"[{ENDING}]?[{CLOSING}]?[{ENDING}]?"
    return re.sub(rf"[{OPENING}]?{re.escape(place)}{ended}\s*", "", template)


def distinct(items: Sequence[Item]) -> tuple[list[Item], list[int]]:
    """Remove items that read the same as an earlier one. Returns the rest, and for every item its position
    there.

    The two items of a Winograd pair have the same options, so without their context they are the same.
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

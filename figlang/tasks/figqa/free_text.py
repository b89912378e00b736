"""Fig-QA's open questions, and how people rate the answers (Liu et al. 2022, §5.2)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from figlang.statistics.agreement import majority
from figlang.tasks.scales import Codes, Rated, Rubric, Scale
from figlang.text.tidying import full_stop, is_ended
from figlang.types import Item, Open

KIND = "interpretation"


def ask(items: Sequence[Item]) -> list[Open]:
    """An open question about each metaphor: what does it mean? Each metaphor is asked once."""
    first = {item.context: item for item in reversed(items)}
    return [
        Open(item.id, item.group, KIND, that_is_to_say(item)) for item in items if first[item.context] is item
    ]


def that_is_to_say(item: Item) -> str:
    """A metaphor followed by the paper's suffix prompt, with one period between them and no space at the
    end."""
    bare = item.context.rstrip(" .")
    return f"{bare}{'' if is_ended(bare) else full_stop(bare)} That is to say,"


def shares(rated: Sequence[Rated], codes: Codes) -> dict[str, Any]:
    """Summarise the majority code of every answer.

    For metaphors with several answers, all of them rated, it also says whether they contradict each other
    (one correct, one incorrect), whether any is correct, and whether all are.
    """
    by_item: dict[str, list[float]] = defaultdict(list)
    for answer in rated:
        unrated = np.isnan(answer.codes).all()
        by_item[answer.generation.item].append(np.nan if unrated else majority(answer.codes))
    given = [code for several in by_item.values() for code in several]
    counts = {word: given.count(code) for word, code in codes.items()}
    judged = counts["correct"] + counts["incorrect"]
    several = [set(codes_of_item) for codes_of_item in by_item.values() if len(codes_of_item) > 1]
    # An unrated answer may be correct or not, so a metaphor with one counts neither as all correct nor as
    # none correct.
    complete = [each for each in several if not any(map(np.isnan, each))]
    return {
        "majority": counts,
        "correct_of_unambiguous": _share(counts["correct"], judged + counts["literal"]),
        "correct_of_figurative": _share(counts["correct"], judged),
        "contradictory": sum({codes["correct"], codes["incorrect"]} <= each for each in complete),
        "any_correct": sum(codes["correct"] in each for each in complete),
        "all_correct": sum(each == {codes["correct"]} for each in complete),
        "metaphors": len(complete),
        "incomplete": len(several) - len(complete),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


RUBRIC = Rubric(
    "A writer used a figure of speech, and somebody said what it means. Rate whether the interpretation is "
    "right.",
    "Figure of speech",
    "Interpretation",
    {
        "correct": "it says what the figure of speech means",
        "incorrect": "it says something else, or the opposite",
        "literal": "it takes the words literally, or only repeats them",
        "ambiguous": "the sentence can itself be meant literally, so that nothing can be decided",
    },
    suffix="That is to say,",
)
# The codes are those of the released annotations. Equally frequent codes count as the smallest, as there.
SCALE = Scale(
    "figqa",
    {"correct": 1, "incorrect": 0, "literal": 2, "ambiguous": -1},
    shares,
    kinds={KIND: ""},
    rubric=RUBRIC,
    pick=majority,
)

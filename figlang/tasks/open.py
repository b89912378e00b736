"""Open questions: prompts that a model answers in its own words, which people then rate."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from figlang.errors import FiglangError
from figlang.types import Generation, Open

SUBSTITUTION = "substitution"  # the kind of question: which word could stand in place of a marked one?
POOL = 32  # at most so many rated answers of each kind serve as examples


def with_examples(asked: Sequence[Open], pool: Sequence[Generation], shots: int, seed: int = 0) -> list[Open]:
    """Put `shots` answered questions of other rows before each question (Comșa et al. 2022, §5.2). The seed
    and the question's name determine the draw.

    Raises FiglangError if the pool is too small.

    Args:
        asked: The questions.
        pool: Rated answers.
        shots: Number of answered questions.
        seed: Seed of the draw.
    """
    shown = []
    for one in asked:
        usable = [answered for answered in pool if answered.group != one.group]
        if len(usable) < shots:
            raise FiglangError(
                f"{shots} rated answers are wanted before a question, but only {len(usable)} are from other "
                "rows; lower shots="
            )
        drawn = random.Random(f"{seed} {one.item} {one.kind}").sample(usable, shots)
        before = "".join(f"{answered.question} {answered.answer}\n\n" for answered in drawn)
        shown.append(replace(one, prompt=before + one.prompt))
    return shown


def pool(rated: Mapping[str, Sequence[Generation]], seed: int = 0) -> list[Generation]:
    """Take up to 32 of each kind from the answers that all their raters found correct."""
    chosen = []
    for kind, several in sorted(rated.items()):
        chosen += random.Random(f"{seed} {kind}").sample(list(several), min(POOL, len(several)))
    return chosen

"""Open questions: prompts that a model answers in its own words, which people then rate."""

import random
from collections.abc import Mapping, Sequence

from figlang.errors import FiglangError
from figlang.tasks.miqa import prompts as miqa
from figlang.text.tidying import full_stop, is_ended, titled
from figlang.types import Generation, Item, Open

# Kinds of question of MiQA by the registers of premise and conclusion, and what the answer should begin with
# (Comșa et al. 2022, §5.2). The first is the paper's; the others make its examples before the question.
MIQA = {"metaphorical-literal": "no", "metaphorical-metaphorical": "yes", "literal-literal": "yes"}
FIGQA = "interpretation"
SUBSTITUTION = (
    "substitution"  # of MUNCH: a word in place of the metaphorical one, which figlang reproduce asks for
)
POOL = 32  # rated answers of a kind that examples are drawn from


def ask(items: Sequence[Item], kinds: Sequence[str]) -> list[Open]:
    """The open questions about items: of MiQA, those of `kinds`, once for a row; of Fig-QA, what each
    metaphor is to say, once.

    Raises FiglangError for an unknown kind, and if nothing is asked.
    """
    if not miqa.are_questions(items):
        first = {item.context: item for item in reversed(items)}
        return [
            Open(item.id, item.group, FIGQA, that_is_to_say(item))
            for item in items
            if first[item.context] is item
        ]
    if unknown := [kind for kind in kinds if kind not in MIQA]:
        raise FiglangError(
            f"kinds=[{','.join(unknown)}] is no kind of MiQA's open questions; choose of {', '.join(MIQA)}"
        )
    found: dict[tuple[str, str], Open] = {}
    for kind in kinds:
        for item in items:
            if (text := could_imply(item, kind)) is not None:
                found.setdefault((item.group, kind), Open(item.group, item.group, kind, text))
    if not found:
        raise FiglangError(
            f"kinds=[{','.join(kinds)}] asks nothing about these items; metaphorical-literal and "
            "metaphorical-metaphorical need "
            "data=miqa or miqa_implies, literal-literal data=miqa or miqa_implied_by"
        )
    return list(found.values())


def could_imply(item: Item, kind: str) -> str | None:
    """Whether one statement could imply another, by their registers; None for a question type that does not
    hold both."""
    right, wrong = item.options[item.gold or 0], item.options[1 - (item.gold or 0)]
    implies = "implies" in item.attributes["question"]
    if kind == "literal-literal":
        premise, conclusion = right, item.context
    else:
        premise, conclusion = item.context, wrong if kind == "metaphorical-literal" else right
    if implies == (kind == "literal-literal"):
        return None
    return f'"{titled(premise)}". Could that imply that "{conclusion}"?'


def that_is_to_say(item: Item) -> str:
    """A metaphor with the suffix prompt of Liu et al. 2022 (§5.2), one period between, no space at the
    end."""
    bare = item.context.rstrip(" .")
    return f"{bare}{'' if is_ended(bare) else full_stop(bare)} That is to say,"


def with_examples(asked: Sequence[Open], pool: Sequence[Generation], shots: int, seed: int = 0) -> list[Open]:
    """Questions after `shots` answered ones of other rows, drawn anew for each by the seed and its name
    (Comșa et al. 2022, §5.2).

    Raises FiglangError if the pool is too small.
    """
    shown = []
    for one in asked:
        usable = [answered for answered in pool if answered.group != one.group]
        if len(usable) < shots:
            raise FiglangError(
                f"{shots} rated answers are wanted before a question, and {len(usable)} of other rows are "
                "there"
            )
        drawn = random.Random(f"{seed} {one.item} {one.kind}").sample(usable, shots)
        before = "".join(f"{answered.question} {answered.answer}\n\n" for answered in drawn)
        shown.append(Open(one.item, one.group, one.kind, before + one.prompt))
    return shown


def pool(rated: Mapping[str, Sequence[Generation]], seed: int = 0) -> list[Generation]:
    """Up to 32 of each kind from the answers that all their raters found correct, by kind."""
    chosen = []
    for kind, several in sorted(rated.items()):
        chosen += random.Random(f"{seed} {kind}").sample(list(several), min(POOL, len(several)))
    return chosen

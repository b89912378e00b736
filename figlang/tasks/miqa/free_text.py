"""MiQA's open questions, and how people rate the answers (Comșa et al. 2022, §5.2)."""

from collections.abc import Sequence

from figlang.errors import FiglangError
from figlang.tasks.scales import Rubric, Scale, scores
from figlang.text.tidying import titled
from figlang.types import Item, Open

# Kinds of question by the registers of premise and conclusion, and what the answer should begin with. The
# first is the paper's; the others make its examples before the question.
KINDS = {"metaphorical-literal": "no", "metaphorical-metaphorical": "yes", "literal-literal": "yes"}
RUBRIC = Rubric(
    "Somebody was asked whether one statement could imply another, and why. Statements can be metaphors. "
    "Rate the answer, with its reason.",
    "Question",
    "Answer",
    {
        "correct": "yes or no is right, and the reason holds",
        "wrong": "yes or no is wrong, or the reason does not hold",
        "ambiguous": "it says neither yes nor no, or can be read both ways",
    },
)
SCALE = Scale(
    "miqa",
    {"correct": 1, "wrong": 0, "ambiguous": 0.5},
    scores,
    kinds=KINDS,
    scored=True,
    paragraph=True,
    rubric=RUBRIC,
)


def ask(items: Sequence[Item], kinds: Sequence[str]) -> list[Open]:
    """Ask the open questions of `kinds` about items, once for each row.

    Raises:
        FiglangError: A kind is unknown, or nothing is asked.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise FiglangError(
            f"kinds=[{','.join(unknown)}] is not a kind of MiQA's open questions; choose some of "
            f"{', '.join(KINDS)}"
        )
    asked: dict[tuple[str, str], Open] = {}
    for kind in kinds:
        for item in items:
            if (text := _could_imply(item, kind)) is not None:
                asked.setdefault((item.group, kind), Open(item.group, item.group, kind, text))
    if not asked:
        raise FiglangError(
            f"kinds=[{','.join(kinds)}] has no questions about these items; metaphorical-literal and "
            "metaphorical-metaphorical need data=miqa or miqa_implies, literal-literal needs data=miqa or "
            "miqa_implied_by"
        )
    return list(asked.values())


def _could_imply(item: Item, kind: str) -> str | None:
    """Ask whether one statement could imply another. None if the item's question type does not have both."""
    right, wrong = item.options[item.gold or 0], item.options[1 - (item.gold or 0)]
    implies = "implies" in item.attributes["question"]
    if kind == "literal-literal":
        premise, conclusion = right, item.context
    else:
        premise, conclusion = item.context, wrong if kind == "metaphorical-literal" else right
    if implies == (kind == "literal-literal"):
        return None
    return f'"{titled(premise)}". Could that imply that "{conclusion}"?'

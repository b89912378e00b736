"""The order in which one rater sees the questions, with attention items between them."""

import random
from collections import defaultdict
from dataclasses import dataclass

from figlang.rating.serving.study import CHOICE, CODES, Question, Study

CHECK = "attention check "  # begins the name of an attention item
# Words of attention items, which have nothing in common.
PLAIN = ("river", "window", "bread", "garden", "letter", "winter", "button", "market", "ladder", "candle")


@dataclass(frozen=True)
class Shown:
    """A question as one rater sees it.

    Attributes:
        question: The question.
        options: Places of its options (from 0) in the order in which they are shown.
        expected: The right answer of an attention item, as it is stored; None for other questions.
    """

    question: Question
    options: tuple[int, ...] = ()
    expected: str | None = None


def of(study: Study, rater: str) -> list[Shown]:
    """The order of a rater. The seed of the study and the rater's name decide it."""
    draw = random.Random(f"{study.seed} {rater}")
    shown = [_shown(study, question, rater) for question in _apart(study.questions, draw)]
    # Each attention item lies in a stretch of its own, and none is the first of all.
    count, questions = study.checks, len(shown)
    for number in reversed(range(count)):
        first, last = number * questions // count, (number + 1) * questions // count
        place = draw.randint(min(first + 1, last), last)
        shown.insert(place, _check(study, number + 1, draw))
    return shown


def _apart(questions: tuple[Question, ...], draw: random.Random) -> list[Question]:
    """Shuffle questions in rounds: the first of every group, then the second of every group, and so on.

    So the two metaphors of a pair, or the answers of several systems to one question, are far apart.
    """
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        groups[question.group].append(question)
    for members in groups.values():
        draw.shuffle(members)
    found: list[Question] = []
    for depth in range(max(map(len, groups.values()), default=0)):
        several = [members[depth] for members in groups.values() if len(members) > depth]
        draw.shuffle(several)
        if found and len(several) > 1 and several[0].group == found[-1].group:
            other = draw.randrange(1, len(several))
            several[0], several[other] = several[other], several[0]
        found += several
    return found


def _shown(study: Study, question: Question, rater: str) -> Shown:
    if study.ask != CHOICE:
        return Shown(question)
    places = list(range(len(question.options)))
    if not question.fixed:
        random.Random(f"{study.seed} {rater} {question.id}").shuffle(places)
    return Shown(question, tuple(places))


def _check(study: Study, number: int, draw: random.Random) -> Shown:
    name = f"{CHECK}{number}"
    if study.ask == CODES:
        code = draw.choice(study.codes)
        text = f"This item tests your attention. Please give it the rating “{code}”."
        return Shown(Question(name, name, text, answer=f"Please press “{code}”."), expected=code)
    words = tuple(draw.sample(PLAIN, 2))
    if study.ask == CHOICE:
        wanted = draw.randrange(2)
        text = f"This item tests your attention. Please choose “{words[wanted]}”."
        return Shown(Question(name, name, text, options=words), (0, 1), str(wanted))
    text = f"This item tests your attention. Please write the word “{words[0]}”."
    return Shown(Question(name, name, text), expected=words[0])


def passed(one: Shown, value: str) -> bool:
    """Whether an attention item was answered as it asks."""
    return one.expected is not None and value.strip().strip(".“”\"'").casefold() == one.expected.casefold()

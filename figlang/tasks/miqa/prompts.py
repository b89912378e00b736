"""MiQA's questions in words: the published prompts, baselines and a user's own, with examples before them.

The *implies* prompts and the baselines are those of Comșa et al. 2022 (appendix A). The paper does not print
its *implied-by* prompts. Here they are the stem of its Table 1 in the same four forms.

A template has the places `{stem}`, `{a}` and `{b}`. `layout=inline` turns its line breaks into spaces, as the
prompts are printed.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter

from figlang.config import PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.blind import without
from figlang.text.tidying import titled
from figlang.types import Item, Prompted

IMPLIES = '"{stem}". Which of the following two statements could that imply?'
IMPLIED_BY = '"{stem}" is implied by which of the following two statements?'
NUMBERED = "\n(1) {a}\n(2) {b}"

# name: {question type: template}
PROMPTS = {
    "or": {"implies": IMPLIES + "\n{a} or {b}?", "implied-by": IMPLIED_BY + "\n{a} or {b}?"},
    "numbered": {"implies": IMPLIES + NUMBERED, "implied-by": IMPLIED_BY + NUMBERED},
    "qa": {"implies": f"Q: {IMPLIES}{NUMBERED}\nA:", "implied-by": f"Q: {IMPLIED_BY}{NUMBERED}\nA:"},
    "question_answer": {
        "implies": f"Question: {IMPLIES}{NUMBERED}\nAnswer: It could imply",
        "implied-by": f"Question: {IMPLIED_BY}{NUMBERED}\nAnswer: It is implied by",
    },
    "no_choices": {"implies": "", "implied-by": ""},
    "no_questions": dict.fromkeys(
        ("implies", "implied-by"), f"Pick between the following statements:{NUMBERED}"
    ),
}
# Wordings of figlang's own, for the sensitivity of chat models.
OWN_PROMPTS = {
    "follows": {
        "implies": f'"{{stem}}". Which statement follows from that?{NUMBERED}',
        "implied-by": f'"{{stem}}". From which statement does that follow?{NUMBERED}',
    },
    "choose": {
        "implies": f'Choose the statement that "{{stem}}" could imply.{NUMBERED}',
        "implied-by": f'Choose the statement that could imply "{{stem}}".{NUMBERED}',
    },
}
WORDINGS = ("numbered", "qa", "question_answer", *OWN_PROMPTS)  # of a question that shows its options
# They ask nothing, so that their accuracy is what a preference for some statements gives.
BASELINES = ("no_choices", "no_questions")

# What follows the prompt and is scored: the statement, or how the prompt labels it.
LABELS = {"number": ("(1)", "(2)"), "letter": ("(A)", "(B)")}


def templates(name: str, own: str | None = None) -> Mapping[str, str]:
    """The templates of a named prompt, or a user's `own` for both question types.

    Raises FiglangError for an unknown name and for an own template that cannot be filled in.
    """
    if own is None:
        if name in OWN_PROMPTS:
            return OWN_PROMPTS[name]
        if name not in PROMPTS:
            raise FiglangError(
                f"no prompt {name!r} for MiQA; choose one of {', '.join(PROMPTS)}, or give "
                "prompt.template=TEXT"
            )
        return PROMPTS[name]
    try:
        fields = [
            (place, spec, conversion)
            for _, place, spec, conversion in Formatter().parse(own)
            if place is not None
        ]
    except ValueError as error:
        raise FiglangError(
            f"the template {own!r} cannot be read ({error}); write a brace that is text twice"
        ) from error
    places = {place for place, _, _ in fields}
    if unknown := sorted(places - {"stem", "a", "b"}):
        raise FiglangError(
            f"the template {own!r} has {{{unknown[0]}}}, which is unknown; a template can have {{stem}}, "
            f"{{a}} and {{b}}"
        )
    if formatted := [place for place, spec, conversion in fields if spec or conversion]:
        raise FiglangError(
            f"the template {own!r} formats {{{formatted[0]}}}, but statements are shown as they are; remove "
            "the : or ! within braces"
        )
    if len(places & {"a", "b"}) == 1:
        raise FiglangError(
            f"the template {own!r} shows one of the two options; show both {{a}} and {{b}}, or neither"
        )
    return {"implies": own, "implied-by": own}


@dataclass(frozen=True)
class Wording:
    """How a question becomes a prompt and its options become answers.

    `case` says which statements get an upper-case first letter: `first` the stem, `all` the options too,
    `raw` none. `answer` is the scored text after the prompt: the option's `statement`, or the `number` or
    `letter` of its label.
    """

    templates: Mapping[str, str]
    case: str = "first"
    layout: str = "inline"
    answer: str = "statement"

    def prompt(self, item: Item) -> str:
        """The question with its options in the item's order."""
        template = self._template(item)
        stem = titled(item.context) if self.case in ("first", "all") else item.context
        return template.format(stem=stem, **dict(zip("ab", self._options(item), strict=True)))

    def blind(self) -> "Wording":
        """The same question without the statement that it is about."""
        return replace(
            self, templates={kind: without(text, "{stem}") for kind, text in self.templates.items()}
        )

    @property
    def has_answers(self) -> bool:
        """Whether the prompt can be answered: answers by number or letter need templates that label the
        options."""
        return all(self._labelled(text) for text in self.templates.values())

    def answers(self, item: Item) -> tuple[str, ...]:
        """The text of each option as it continues the prompt, with the space before it.

        Raises FiglangError if the prompt does not label the options.
        """
        template = self._template(item)
        labels = LABELS.get(self.answer)
        if not self._labelled(template):
            raise FiglangError(
                f"the prompt {template!r} does not label its options in order; write (1) {{a}} (2) {{b}}, "
                "or use prompt.reply=statement"
            )
        gap = "" if not template or template[-1].isspace() else " "
        return tuple(gap + text for text in labels or self._options(item))

    def _labelled(self, template: str) -> bool:
        if self.answer not in LABELS:
            return True
        return any(_label_in_order(template, labels) for labels in (LABELS["number"], LABELS[self.answer]))

    def _template(self, item: Item) -> str:
        text = self.templates[_kind(item)]
        if self.layout == "inline":
            text = text.replace("\n", " ")
        if self.answer == "letter":
            text = text.replace("(1)", "(A)").replace("(2)", "(B)")
        return text

    def _options(self, item: Item) -> tuple[str, ...]:
        return tuple(map(titled, item.options)) if self.case == "all" else item.options


def wording_of(prompt: PromptConfig) -> Wording:
    """Make the wording of a prompt's settings. The layout of a user's own template is not changed.

    Raises FiglangError as `templates` does, and if no question is named.
    """
    if prompt.question is None:
        raise FiglangError(
            f"prompt={prompt.name} asks no question; MiQA needs one of "
            f"prompt={', '.join(map('miqa_{}'.format, PROMPTS))}"
        )
    if prompt.reply == "greedy" or prompt.chat != "none":
        idle = "prompt.reply=greedy" if prompt.reply == "greedy" else f"prompt.chat={prompt.chat}"
        raise FiglangError(
            f"{idle} is for published prompts with letters, which MiQA does not have; figlang generate lets "
            "a model answer in its own words"
        )
    layout = prompt.layout if prompt.template is None else "lines"
    return Wording(templates(prompt.question, prompt.template), prompt.case, layout, prompt.reply)


def are_questions(items: Sequence[Item]) -> bool:
    """Whether items are MiQA's."""
    return any("question" in item.attributes for item in items)


@dataclass(frozen=True)
class Shots:
    """Examples before a question: `count` of them, drawn with `seed` for every `item`, `pair` (row) or the
    whole `split`.

    The paper drew for every item, since one of its accuracies is possible only so. If they are drawn for the
    split, nearly all items have the same examples, which are read once.
    """

    count: int = 0
    seed: int = 0
    per: str = "item"
    separator: str = "\n\n"


def ask(
    items: Sequence[Item], wording: Wording, shots: Shots, pool: Sequence[Item] = (), blind: bool = False
) -> list[Prompted]:
    """Word every item, after examples with their right answers (§5.1). The separator ends each example.

    Examples come from `pool` (by default the items), see `examples`. With `blind`, the item's own statement
    is hidden.

    Args:
        items: The items.
        wording: How a question is worded.
        shots: Number and draw of the examples.
        pool: Items to draw examples from.
        blind: Whether the statement is hidden.
    """
    own = wording.blind() if blind else wording
    asked = []
    for item, several in zip(items, shown(items, wording, shots, pool), strict=True):
        before = "".join(f"{question}{answer}{shots.separator}" for question, answer in several)
        asked.append(Prompted(item, before + own.prompt(item), own.answers(item)))
    return asked


def shown(
    items: Sequence[Item], wording: Wording, shots: Shots, pool: Sequence[Item] = ()
) -> list[list[tuple[str, str]]]:
    """The examples of every item as questions and answers. Arguments and errors are those of `ask`."""
    candidates: dict[str, list[Item]] = {}
    for item in pool or items:
        candidates.setdefault(_kind(item), []).append(item)
    drawn = (examples(item, candidates[_kind(item)], shots) if shots.count else [] for item in items)
    return [
        [(wording.prompt(one), wording.answers(one)[one.gold or 0]) for one in several] for several in drawn
    ]


def examples(item: Item, candidates: Sequence[Item], shots: Shots) -> list[Item]:
    """Draw examples for an item: items of the same question type, with their options in a random order.

    Each is from another row, and none has the item's row or stem. A draw depends only on the seed and the
    item's id (or row). So all prompts have the same examples, and five examples begin with the same one as
    one example. Raises FiglangError if there are too few rows.
    """
    rows: dict[str, list[Item]] = {}
    for other in candidates:
        rows.setdefault(other.group, []).append(other)
    key = {"item": item.id, "pair": item.group, "split": ""}[shots.per]
    draw = random.Random(f"{shots.seed} {key}")
    drawn = (draw.choice(rows[group]) for group in draw.sample(sorted(rows), len(rows)))
    usable = [other for other in drawn if other.group != item.group and other.context != item.context]
    if len(usable) < shots.count:
        raise FiglangError(
            f"{item.id} needs {shots.count} examples, but there are only {len(usable)} other rows; ask for "
            "fewer"
        )
    return usable[: shots.count]


def _label_in_order(template: str, labels: tuple[str, str]) -> bool:
    # A template with the labels the other way round would have every answer count for the other option.
    marks = ""
    for text, place, _, _ in Formatter().parse(template):
        marks += "".join(
            str(labels.index(label)) for label in re.findall("|".join(map(re.escape, labels)), text)
        )
        marks += place if place in ("a", "b") else ""
    return "0a1b" in marks or "a0b1" in marks


def _kind(item: Item) -> str:
    (kind,) = item.attributes["question"]
    return kind

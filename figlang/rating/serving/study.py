"""The questions for people: the answers of a sheet, the options of items, or paraphrases.

A study is written once, as `study.json` in its folder. Later starts read it from there.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from figlang.config import RateServeConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files.whole import write_text
from figlang.rating import making, sheets
from figlang.rating.serving import store
from figlang.tasks import registry, unread
from figlang.tasks.open import SUBSTITUTION
from figlang.types import Inference, Item, Marked

STUDY = "study.json"
CODES, CHOICE, PARAPHRASE = "codes", "choice", "paraphrase"
# The default of `kinds` of `figlang generate`.
KINDS = ("metaphorical-literal",)


@dataclass(frozen=True)
class Question:
    """One question to people.

    Attributes:
        id: The name of an answer on the sheet, or of the item.
        group: Questions of one group are kept apart in the order of a rater.
        text: What is shown above.
        mark: The place of the marked word in the text, if there is one.
        answer: The answer that is rated, or the hypothesis of the text; empty if there is none.
        options: What is chosen from. For paraphrases, the words that people wrote before, which raters do not
            see.
        gold: The place of the right option, if it is known.
        kind: The kind of an open question.
        attributes: The attributes of the item.
        paired: Whether the group is a pair.
        fixed: Whether the options keep their order.
    """

    id: str
    group: str
    text: str
    mark: tuple[int, int] | None = None
    answer: str = ""
    options: tuple[str, ...] = ()
    gold: int | None = None
    kind: str = ""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    paired: bool = True
    fixed: bool = False


@dataclass(frozen=True)
class Study:
    """All questions, and what is done with them: `codes` are the words of the scale if answers are rated,
    `checks` the number of attention items of a rater, `source` where the items come from."""

    ask: Literal["codes", "choice", "paraphrase"]
    questions: tuple[Question, ...]
    codes: tuple[str, ...] = ()
    scale: str = ""
    seed: int = 0
    checks: int = 0
    source: str = ""

    @property
    def signature(self) -> str:
        """Twelve hex digits that differ from those of any other study."""
        return digest(asdict(self))


def of(config: RateServeConfig, folder: Path) -> Study:
    """The study of a command: a new one, or the one that its folder has.

    Raises:
        FiglangError: The folder has another study, or there is nothing to ask.
    """
    registry.find(config.paths)
    before = read(folder) if (folder / STUDY).is_file() else None
    if before is not None and not (config.runs or config.texts or config.data):
        return before
    wanted = _of_items(config) if config.data is not None else _of_sheet(config, folder)
    if before is not None and before != wanted and store.renew(folder, wanted.signature):
        before = None  # nobody has answered yet
    if before is not None and before != wanted:
        raise FiglangError(
            f"{folder} has a study with other questions, checks or seed, which people have answered; "
            "choose another folder, or give folder= alone to go on"
        )
    if before is None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / STUDY, json.dumps(asdict(wanted), indent=1, ensure_ascii=False) + "\n")
    return wanted


def read(folder: Path) -> Study:
    """Read the study of a folder.

    Raises:
        FiglangError: It cannot be read.
    """
    try:
        return TypeAdapter(Study).validate_json((folder / STUDY).read_bytes())
    except (OSError, ValidationError) as error:
        raise FiglangError(
            f"{folder / STUDY} is missing or damaged; give the folder of a study, or restore the file"
        ) from error


def _of_sheet(config: RateServeConfig, folder: Path) -> Study:
    if config.runs or config.texts:
        making.make(config, folder)
    elif not (folder / sheets.KEY).is_file():
        raise FiglangError(
            f"{folder} has no sheet and no study; give answers by runs=[FOLDER] or texts=[FILE], or items by "
            "data=PRESET"
        )
    scale, _, answers = sheets.keyed(folder)
    questions = tuple(
        Question(name, one.group, one.question, answer=one.answer, kind=one.kind)
        for name, one in answers.items()
    )
    codes = tuple(registry.scales()[scale].codes)
    return Study("codes", questions, codes, scale, config.seed, _checks(config, len(questions)))


def _of_items(config: RateServeConfig) -> Study:
    assert config.data is not None
    unread.check([config.data], config.paths)
    split = registry.load(config.split, config.data, config.paths)
    ask = config.ask or CHOICE
    choosing = ask == CHOICE
    made = [_choice(item) for item in split.items] if choosing else _open(split.task, split.items)
    made = [one for one in made if len(one.options) > 1] if choosing else made
    if not made:
        other = PARAPHRASE if choosing else CHOICE
        raise FiglangError(
            f"data={config.data.name} has nothing for ask={ask}; try ask={other}, or another data="
        )
    questions = _drawn(made, config.limit, config.seed)
    source = f"{config.data.name}, {config.split}, sha256 {split.sha256[:12]}"
    checks = _checks(config, len(questions))
    if choosing:
        return Study("choice", questions, seed=config.seed, checks=checks, source=source)
    return Study("paraphrase", questions, seed=config.seed, checks=checks, source=source)


def _checks(config: RateServeConfig, questions: int) -> int:
    if config.checks > questions:
        raise FiglangError(
            f"checks={config.checks} is more than the {questions} questions; give fewer attention items"
        )
    return config.checks


def _choice(item: Item) -> Question:
    blank = isinstance(item, Marked) and item.blank  # all options are right: there is nothing to choose
    classes = isinstance(item, Inference)
    return Question(
        item.id,
        item.group,
        item.context,
        item.target if isinstance(item, Marked) and item.target != (0, 0) else None,
        item.hypothesis if isinstance(item, Inference) else "",
        () if blank else item.options,
        item.gold,
        attributes={name: tuple(values) for name, values in item.attributes.items()},
        paired=item.paired,
        fixed=classes,
    )


def _open(task: str, items: Sequence[Item]) -> list[Question]:
    """Blanks for a word in place of the marked one, or else the open questions of the task."""
    blanks = [
        Question(item.id, item.group, item.context, item.target, options=item.options, kind=SUBSTITUTION)
        for item in items
        if isinstance(item, Marked)
    ]
    if blanks:
        return blanks
    asked = registry.task(task).open_questions(items, KINDS)
    return [Question(f"{one.item}/{one.kind}", one.group, one.prompt, kind=one.kind) for one in asked]


def _drawn(questions: Sequence[Question], limit: int | None, seed: int) -> tuple[Question, ...]:
    """So many of the questions, in their order; whole groups as long as they fit."""
    if limit is None or limit >= len(questions):
        return tuple(questions)
    groups = sorted({one.group for one in questions})
    random.Random(seed).shuffle(groups)
    rank = {group: place for place, group in enumerate(groups)}
    chosen = {one.id for one in sorted(questions, key=lambda one: rank[one.group])[:limit]}
    return tuple(one for one in questions if one.id in chosen)

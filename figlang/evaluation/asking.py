"""The letter protocol: items as questions with lettered options, replies of a chat model, predictions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from figlang.config import PromptConfig, SamplingConfig, ScoringConfig
from figlang.errors import FiglangError, owned
from figlang.evaluation import generation
from figlang.models.checkpoint import Loaded, Served
from figlang.scoring.replies import choose
from figlang.tasks import lettered, prompting
from figlang.tasks.blind import hidden
from figlang.tasks.miqa import prompts as miqa
from figlang.tasks.munch import prompts as munch
from figlang.tasks.prompting import Pool
from figlang.types import Item, Judgement, Prediction

log = logging.getLogger("figlang")

CUE = "\nCorrect answer: Option"  # the end of MUNCH's prompts


@dataclass(frozen=True)
class Asked:
    """Predictions, the replies they were read from, and what can change them; `blind` ones with the context
    hidden, if wanted."""

    predictions: list[Prediction]
    replies: list[dict[str, Any]]
    facts: dict[str, Any]
    blind: list[Prediction] | None = None


def ask(
    model: Loaded | Served,
    items: Sequence[Item],
    share: Sequence[Item],
    scoring: ScoringConfig,
    prompt: PromptConfig,
    pool: Pool,
    progress: bool = False,
    blind: bool = False,
) -> Asked:
    """Ask about the items of `share`, a part of `items`, and read the letters of the replies; for `blind` ask
    about each once more, with its context hidden.

    Raises FiglangError for a prompt that shows no letters, and for a model that has no chat.
    """
    given, (prompt, asked) = prompt, question(items, share, scoring, prompt, pool)
    unseen = question(items, share, scoring, given, pool, blind=True)[1] if blind else []
    if unseen:
        log.info(
            "every question is also asked with its context hidden, up to twice as many in all; blind=false "
            "leaves that out"
        )
    # In one go, so that an endpoint's estimate counts all of them. The items of a pair are one question
    # without their contexts.
    owners: dict[str, str] = {}
    for one in (*asked, *unseen):
        owners.setdefault(one.message, one.item.id)
    messages = list(owners)
    with owned(list(owners.values())):
        found, _ = generation.converse(
            model, messages, SamplingConfig(max_tokens=scoring.max_tokens), progress
        )
    said = {message: several[0] for message, several in zip(messages, found, strict=True)}
    replies = [said[one.message] for one in (*asked, *unseen)]
    predictions, answered = choose(asked, replies[: len(asked)])
    without, answered_unseen = choose(unseen, replies[len(asked) :])
    for rows, what in ((answered, ""), (answered_unseen, " to questions with a hidden context")):
        if invalid := [one for one in rows if one.letter is None]:
            log.warning(
                "%d of %d replies%s name no option and count as wrong (%d of them refused by a content "
                "filter, %d cut at "
                "scoring.max_tokens=%d)",
                *(
                    len(invalid),
                    len(rows),
                    what,
                    sum(one.refused for one in invalid),
                    sum(one.cut for one in invalid),
                ),
                scoring.max_tokens,
            )
    asks, judges = miqa.are_questions(items), isinstance(items[0], Judgement)
    orders = "all" if asks else "as read" if judges else scoring.orders
    about = facts(model, scoring, orders, prompt, pool)
    if asks:
        about["shots"] = prompt.k
    if judges:
        about["question"] = "/".join(map(str, munch.PROMPTS[str(prompt.question)][:3]))
    return Asked(predictions, [one.record() for one in answered], about, without if blind else None)


def facts(
    model: Loaded | Served, scoring: ScoringConfig, orders: str, prompt: PromptConfig, pool: Pool
) -> dict[str, Any]:
    """What of asking can change a reply, for the signature."""
    manner = generation.manner(model, SamplingConfig(max_tokens=scoring.max_tokens))
    source = f",source={pool.source}" if prompt.k else ""
    return {
        "scoring": f"{scoring.name}({manner},orders={orders},max_tokens={scoring.max_tokens})",
        "norm": "none",
        "prompt": f"{miqa.describe(settled(prompt)).removesuffix(')')}{source},seed={prompt.seed})",
    }


def question(
    items: Sequence[Item],
    share: Sequence[Item],
    scoring: ScoringConfig,
    prompt: PromptConfig,
    pool: Pool,
    blind: bool = False,
) -> tuple[PromptConfig, list[lettered.Lettered]]:
    """The messages about the items of `share`, and the prompt with what stands in for what it leaves open.

    A `blind` message hides the context of its item, see figlang/tasks/blind.py.
    """
    prompt = settled(prompt)
    if miqa.are_questions(items):
        prompt = replace(prompt, question=prompt.question or "numbered")
        wording = miqa.wording_of(prompt)
        if not wording.has_answers:
            raise FiglangError(
                f"prompt={prompt.name} shows its options without letters; use prompt=miqa_numbered"
            )
        shots = miqa.Shots(prompt.k, prompt.seed, prompt.per, prompt.separator)
        examples = [one for one in pool.examples if isinstance(one, Item)]
        return prompt, lettered.as_asked(miqa.ask(share, wording, shots, examples, blind))
    if isinstance(items[0], Judgement):
        if prompt.question is None or prompt.k:
            raise FiglangError(
                f"prompt={prompt.name} asks no question of MUNCH; use prompt=munch, with prompt.question of "
                "an id"
            )
        asked = munch.ask(share, prompt.question, blind=blind)
        # What a text would be continued from is no part of a message.
        return prompt, lettered.as_asked([replace(one, prompt=one.prompt.removesuffix(CUE)) for one in asked])
    prompt = replace(prompt, question=prompt.question or "meaning")
    # Of all items, not of the share: a draw for the whole split leaves out all its metaphors.
    shown = prompting.draw(items, pool.examples, lambda item: lettered.example(item, prompt), prompt)
    shares = [hidden(item) for item in share] if blind else share
    return prompt, lettered.about_pairs(shares, prompt, scoring.orders, shown)


def settled(prompt: PromptConfig) -> PromptConfig:
    """A prompt with what every question with letters has."""
    separator = "\n\n" if prompt.separator == "\n" else prompt.separator  # a question has several lines
    return replace(prompt, separator=separator, reply="letter", layout="lines")

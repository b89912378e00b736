"""A model rates answers by a rubric. It replies with a word of the scale, or gives its probabilities of the
words."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from figlang.config import SamplingConfig
from figlang.errors import FiglangError, owned
from figlang.evaluation import generation
from figlang.models.checkpoint import Loaded, Served
from figlang.models.served.scorer import ServedScorer
from figlang.scoring import choices, rubric
from figlang.scoring.likelihood import Scorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.tasks.scales import Scale, Verdict
from figlang.types import Generation, Item, Prompted

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Asking:
    """How a judge is asked.

    Attributes:
        replies: Whether it writes a reply. If not, its probabilities of the words are compared.
        chat: Whether the prompt is in its chat template. Messages always are.
        both: Whether it is asked twice, with the words of the scale in both orders.
        max_tokens: The longest reply in tokens.
    """

    replies: bool
    chat: bool
    both: bool = True
    max_tokens: int = 256


def asking(model: Loaded | Served, ask: str, chat: str, both: bool, max_tokens: int) -> Asking | None:
    """How a model is asked.

    Args:
        model: The model.
        ask: `words`, `reply`, or `auto`: words of a network that is here, a reply of a served model.
        chat: `template`, `none`, or `auto`: the template if the tokenizer has one.
        both: As in Asking.
        max_tokens: As in Asking.

    Returns:
        None for an encoder, which does not rate.

    Raises:
        FiglangError: The model cannot be asked in this way.
    """
    name = model.manifest.name
    if isinstance(model, Served):
        if chat == "template" and ask == "words":
            raise FiglangError("the template of a served model is not here; use ask=reply, or chat=none")
        return Asking(ask != "words", False, both, max_tokens)
    if not model.manifest.input_format.causal:
        return None
    has = bool(model.tokenizer.chat_template)
    if not has and (chat == "template" or ask == "reply"):
        raise FiglangError(f"{name} has no chat template; use ask=words chat=none")
    return Asking(ask == "reply", has and chat != "none", both, max_tokens)


def judge(
    model: Loaded | Served,
    answers: Mapping[str, Generation],
    scale: Scale,
    how: Asking,
    progress: bool = False,
) -> list[Verdict]:
    """Rate answers, each with nothing but its own question. Equal answers to equal questions are asked once.

    Args:
        model: A causal model, here or served.
        answers: Answers by their names on the sheet.
        scale: The scale.
        how: How the model is asked.
        progress: Show a bar.

    Returns:
        A verdict for each answer, in their order.

    Raises:
        FiglangError: The scale has no rubric, or the model cannot read a text.
    """
    own, lists = rubric.rubric_of(scale), rubric.orders(list(scale.codes), how.both)
    texts = {
        (name, place): rubric.shown(own, one, words, how.replies)
        for name, one in answers.items()
        for place, words in enumerate(lists)
    }
    owners: dict[str, str] = {}
    for (name, _), text in texts.items():
        owners.setdefault(text, name)
    found = (_replied if how.replies else _weighed)(model, owners, list(scale.codes), how, progress)
    verdicts = []
    for name in answers:
        asked = [found[texts[name, place]] for place in range(len(lists))]
        verdicts.append(_verdict(name, list(scale.codes), asked))
    _warn(verdicts)
    return verdicts


Found = dict[str, dict[str, Any]]


def _replied(
    model: Loaded | Served, owners: Mapping[str, str], words: Sequence[str], how: Asking, progress: bool
) -> Found:
    """The word in the reply to each message."""
    with owned(list(owners.values())):
        replies = generation.converse(
            model, list(owners), SamplingConfig(max_tokens=how.max_tokens), progress
        )
    found: Found = {}
    for message, (reply, *_) in zip(owners, replies, strict=True):
        word, reason = rubric.read(reply, words)
        values = {each: float(each == word) for each in words} if word else {}
        found[message] = {"reply": reply.text, "reason": reason, "values": values} | (reply.usage or {})
    return found


def _weighed(
    model: Loaded | Served, owners: Mapping[str, str], words: Sequence[str], how: Asking, progress: bool
) -> Found:
    """The probabilities of the words after each prompt, which add up to 1."""
    prompts = list(owners)
    scorer: Scorer
    if isinstance(model, Served):
        scorer, said = ServedScorer(model.endpoint, model.bos()), prompts
    elif how.chat:
        chats = [[{"role": "user", "content": prompt.removesuffix(rubric.LABEL)}] for prompt in prompts]
        name = model.manifest.name
        said = [generation.templated(model.tokenizer, chat, name) + rubric.LABEL for chat in chats]
        # A template begins with the token that its model expects.
        scorer = CausalScorer(model.network, model.tokenizer, "none")
    else:
        scorer, said = CausalScorer(model.network, model.tokenizer, model.bos()), prompts
    asked = [
        Prompted(Item(owner, owner, prompt, tuple(words), None), text, tuple(f" {word}" for word in words))
        for (prompt, owner), text in zip(owners.items(), said, strict=True)
    ]
    found: Found = {}
    for prompt, row in zip(
        prompts, choices.measure(scorer, asked, False, progress).predictions(), strict=True
    ):
        most = max(row.scores)
        weights = [exp(score - most) for score in row.scores]
        found[prompt] = {
            "values": dict(zip(words, (weight / sum(weights) for weight in weights), strict=True)),
            "log_probabilities": dict(zip(words, row.scores, strict=True)),
        }
    return found


def _verdict(name: str, words: Sequence[str], asked: Sequence[Mapping[str, Any]]) -> Verdict:
    """The mean over both orders. A word must be ahead of all others: orders that contradict each other give
    none."""
    read = [one["values"] for one in asked if one["values"]]
    if not read:
        return Verdict(name, None, {}, asked)
    values = {word: sum(one[word] for one in read) / len(read) for word in words}
    best = max(values.values())
    ahead = [word for word, value in values.items() if value == best]
    return Verdict(name, ahead[0] if len(ahead) == 1 else None, values, asked)


def _warn(verdicts: Sequence[Verdict]) -> None:
    if unread := sum(one.word is None for one in verdicts):
        log.warning(
            "%d of %d answers got no rating; the reasons are in the judge's ratings.jsonl",
            unread,
            len(verdicts),
        )
    read = [sum(bool(one["values"]) for one in each.asked) for each in verdicts]
    if partly := sum(0 < count < len(each.asked) for count, each in zip(read, verdicts, strict=True)):
        log.warning(
            "%d of %d answers are rated by one order of the words alone, since the reply to the other cannot "
            "be read; the reasons are in the judge's ratings.jsonl",
            partly,
            len(verdicts),
        )

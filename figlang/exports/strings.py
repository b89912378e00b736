"""The texts that a causal model scores: what a scoring and a prompt make of items, without a model."""

from figlang.config import DataConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.scoring.wording import Wording
from figlang.tasks import examples, prompting, registry
from figlang.tasks.questions import Questions
from figlang.types import Prompted, Split


def prompted(
    split: Split, data: DataConfig, paths: PathsConfig, prompt: PromptConfig, scoring: ScoringConfig
) -> list[Prompted]:
    """The items of a split as prompts with the answers that are scored after them.

    Args:
        split: The items.
        data: Which data set they are of, for the examples of the prompt.
        paths: Where its files are.
        prompt: The settings of the prompt.
        scoring: The wording. Only answers are scored, by a sum or a mean per byte.

    Returns:
        A prompt for each item with a known answer, in their order.

    Raises:
        FiglangError: The items are not a choice between texts, or the scoring is not of answers.
    """
    _check(scoring)
    items = [item for item in split.items if item.gold is not None]
    if not items:
        raise FiglangError(
            f"every label of {split.name} is hidden, so other tools could not measure an accuracy; use "
            "another split="
        )
    questions = choices(split, data)
    pool = prompting.pool(prompt, data, paths)
    questions.check(prompt, split.source)
    if questions.continued:
        return questions.ask(items, prompt, pool)
    wording = Wording(scoring, prompt, items[0].cut)
    shown = examples.draw(split.items, pool.examples, wording.example, prompt)
    made = []
    for item in items:
        worded = wording.of(item)
        requests = [worded.span(shown[item.id], item.context, option) for option in item.options]
        made.append(Prompted(item, requests[0].context, tuple(request.continuation for request in requests)))
    return made


def choices(split: Split, data: DataConfig) -> Questions:
    """How the items of a split are asked, if they are a choice between texts.

    Raises:
        FiglangError: They are premises with hypotheses, or texts with a blank.
    """
    task = registry.task(split.task)
    asked = task.asked(split.question)
    if asked.classes or asked.fills:
        others = [name for name in task.questions if not (task.asked(name).classes or task.asked(name).fills)]
        use = f"use data.question={' or '.join(others[:3])}" if others else "use another data="
        raise FiglangError(f"the items of data={data.name} are not a choice between texts; {use}")
    return asked


def _check(scoring: ScoringConfig) -> None:
    if not scoring.causal or scoring.minus_alone or scoring.norm == "mean":
        raise FiglangError(
            f"scoring={scoring.name} has no equal in other tools, which add up the log-probabilities of an "
            "answer; use scoring=answer, with scoring.norm=byte for their mean per byte"
        )

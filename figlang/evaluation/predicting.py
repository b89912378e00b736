"""The predictions of an opened model for a split, and the settings that they depend on."""

from collections.abc import Callable, Sequence
from itertools import islice
from operator import itemgetter, le
from pathlib import Path
from typing import Any

from figlang.config import NliConfig, PromptConfig
from figlang.errors import FiglangError
from figlang.evaluation import soundness
from figlang.evaluation.choosing import Choice
from figlang.evaluation.entailing import Entailment
from figlang.evaluation.how import Answering, How, Placed, Row, Rows, Share, origin
from figlang.evaluation.likelihood import LogProbabilities
from figlang.evaluation.ranking import Ranks
from figlang.evaluation.replying import Replies
from figlang.models.formats import Ability
from figlang.models.hosted.opened import Opened
from figlang.runs.answered import Answered, refused
from figlang.tasks.questions import Questions
from figlang.types import Split

__all__ = ["How", "answer", "answering", "origin", "predict"]

# How a model answers, by its ability.
ANSWERING: dict[Ability, Callable[[Any], Answering]] = {
    Ability.CHOOSE: Choice,
    Ability.ENTAIL: Entailment,
    Ability.LOG_PROBABILITIES: LogProbabilities,
    Ability.REPLY: Replies,
    Ability.RANK: Ranks,
}


def predict(loaded: Opened, split: Split, folder: Path, how: How) -> dict[str, Any]:
    """Predict a split, and write predictions.jsonl and the other files of the model's ability.

    Args:
        loaded: The model.
        split: The items.
        folder: Where the files are written.
        how: The settings.

    Returns:
        The settings that can change a score, by name.

    Raises:
        FiglangError: A scoring, prompt or split is not for this model.
    """
    with soundness.explained(loaded):
        answers, facts = answer(loaded, split, how)
        if answers is not None:
            answers.write(folder)
    return facts


def answer(loaded: Opened, split: Split, how: How) -> tuple[Answered | None, dict[str, Any]]:
    """Predict a split, and write nothing.

    Args:
        loaded: The model.
        split: The items.
        how: The settings.

    Returns:
        The rows, in the order of the split (None in all processes but the first), and the settings that can
        change a score, by name.

    Raises:
        FiglangError: A scoring, prompt or split is not for this model.
    """
    origin(loaded)  # before scoring, which may lay the weights out anew
    share = Share(split, how.processes.positions(split.items))
    _check(loaded, share, how)
    with soundness.explained(loaded):
        rows, facts = answering(loaded, share.questions).answer(share, how)
        whole = _whole(how.processes.gather(rows))
        if whole is not None:
            whole.check()
        return whole, facts


def answering(loaded: Opened, questions: Questions) -> Answering:
    """Make the object that answers questions by one of a model's abilities.

    Args:
        loaded: The model.
        questions: How the items are put in words. For questions with a blank, words are ranked. For all
            others, the format of the model's inputs decides the ability.
    """
    ability = Ability.RANK if questions.fills else loaded.manifest.input_format.ability
    return ANSWERING[ability](loaded)


def _check(loaded: Opened, share: Share, how: How) -> None:
    manifest, split, questions = loaded.manifest, share.split, share.questions
    if idle := _idle(loaded, how):
        raise FiglangError(
            f"{idle} is for other models: {manifest.name} reads its inputs as {manifest.format}; leave it out"
        )
    ability = manifest.input_format.ability
    if questions.classes and ability is not Ability.ENTAIL:
        raise FiglangError(
            f"{split.name} has premises with hypotheses, which only NLI networks read, but "
            f"{manifest.name} reads its inputs as "
            f"{manifest.format}; use a run of method=nli or model=nli_roberta, or a preset "
            "of choices (data=…_choice)"
        )
    if questions.fills:
        raise FiglangError(
            f"{split.source} asks for words and has no options to choose from; {questions.instead}"
        )
    if questions.instead and ability in (Ability.CHOOSE, Ability.ENTAIL):
        raise FiglangError(
            f"{split.source} asks for letters, but {manifest.name} chooses between texts; {questions.instead}"
        )


def _idle(loaded: Opened, how: How) -> str | None:
    """The first setting that has no effect on this model."""
    takes = loaded.manifest.input_format
    # A protocol brings scoring=letter, which nobody typed.
    if how.protocol is not None and takes.ability is not Ability.REPLY:
        return f"protocol={how.protocol.name}"
    if how.scoring is not None and how.scoring.kind != takes.scoring:
        return f"scoring={how.scoring.name}"
    if not takes.takes_prompt and how.prompt != PromptConfig():
        return f"prompt={how.prompt.name}"
    if not takes.takes_length and how.max_length is not None:
        return f"max_length={how.max_length}"
    if takes.ability is Ability.ENTAIL:
        return None
    unset = vars(NliConfig())
    return next((f"nli.{name}" for name, value in unset.items() if getattr(how.nli, name) != value), None)


def _whole(parts: Sequence[Rows]) -> Answered | None:
    """The rows of all processes, in the order of the split; None without parts."""
    if not parts:
        return None
    forward = _joined([part.forward for part in parts])
    assert forward is not None, "every model predicts"
    measured = _joined([part.measured for part in parts])
    return Answered(
        forward,
        blind=_joined([part.blind for part in parts]),
        backward=_joined([part.backward for part in parts]),
        judged=_joined([part.judged for part in parts]),
        measured=measured,
        replies=_joined([part.replies for part in parts]),
        replies_blind=_joined([part.replies_blind for part in parts]),
        refused=refused(measured, "refused"),
        refused_blind=refused(measured, "refused_blind"),
    )


def _joined(parts: Sequence[Placed[Row] | None]) -> Sequence[Row] | None:
    """Rows by the positions of their items. The rows of one item stay in their order."""
    several = [part for part in parts if part is not None]
    if not several:
        return None
    if len(several) == 1 and all(map(le, several[0].positions, islice(several[0].positions, 1, None))):
        return several[0].rows
    placed = (row for part in several for row in zip(part.positions, part.rows, strict=True))
    return [row for _, row in sorted(placed, key=itemgetter(0))]

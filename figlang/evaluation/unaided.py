"""Models that choose an option of items without their context: by several norms, or of several trainings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from figlang.config import CreateConfig, EvaluateConfig, ScoringConfig
from figlang.config.groups.scoring import NORMS
from figlang.errors import FiglangError
from figlang.evaluation import assessment, opening, predicting, runtime
from figlang.tasks.examples import Pool
from figlang.types import Prediction, Split


class Unaided(NamedTuple):
    """One way to ask a model: the name of the model, the name of the way, and the choices without the context
    and with it."""

    model: str
    name: str
    blind: Sequence[Prediction]
    seeing: Sequence[Prediction]


def look(config: CreateConfig, split: Split) -> Iterator[Unaided]:
    """Let the model and the checkpoints of a command choose.

    Args:
        config: The options of the command.
        split: The items.

    Yields:
        A look of the model by each norm, if it gives log-probabilities. All checkpoints together are one
        model, with a look each.

    Raises:
        FiglangError: A model cannot be opened, or hides no context.
    """
    if config.checkpoints or (config.model is not None and not config.model.served):
        runtime.device(config.trainer)  # refuses one that is not here before anything is read
    runtime.start(config.seed, config.trainer)
    common = EvaluateConfig(
        method=config.method,
        trainer=config.trainer,
        paths=config.paths,
        seed=config.seed,
        batch_size=config.batch_size,
    )
    if config.model is not None:
        asked = replace(common, model=config.model)
        for norm in NORMS if config.model.causal else (None,):
            scoring = None if norm is None else ScoringConfig(name=norm, span="answer", norm=norm)
            yield _answered(replace(asked, scoring=scoring), split, None, norm or "own scoring")
    for checkpoint in config.checkpoints:
        yield _answered(replace(common, checkpoint=checkpoint), split, "checkpoints", called(checkpoint))


def called(checkpoint: str) -> str:
    """The name of a look: the last two parts of a folder, since a card shows no path of a machine."""
    return "/".join(Path(checkpoint).parts[-2:])


def _answered(config: EvaluateConfig, split: Split, model: str | None, name: str) -> Unaided:
    loaded = opening.model(config)
    answers, _ = predicting.answer(loaded, split, assessment.how(config, Pool()))
    assert answers is not None, "one process alone asks"
    if answers.blind is None:
        raise FiglangError(f"{loaded.manifest.name} cannot choose without the context; give another model")
    return Unaided(model or loaded.manifest.name, name, answers.blind, answers.forward)

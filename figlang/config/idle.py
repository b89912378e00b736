"""Refuse options that have no effect, and multiruns that would run several times."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config.given import Given
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError

# Options of model= that may also be given with a checkpoint. A checkpoint never sets the first two by
# itself, and the others say how it is evaluated.
ALLOWING = (
    *("model.allow_bin", "model.trust_remote_code", "model.adapters", "model.base"),
    *("model.engine", "model.tensor_parallel", "model.window"),
)
# Options of trainer= that only the Trainer reads: an evaluation runs in the network's own precision, and
# torchrun splits it.
TRAINING = ("trainer.precision", "trainer.devices", "trainer.nodes", "trainer.strategy")


@dataclass(frozen=True)
class Needed:
    """Options that change nothing without others.

    Attributes:
        names: The options.
        switches: The other ones.
        has_effect: Whether their values give them an effect.
        remedy: What gives them one.
    """

    names: tuple[str, ...]
    switches: tuple[str, ...]
    has_effect: Callable[[Any], bool]
    remedy: str


OF_TRAINING = (
    Needed(
        ("method.teacher_weight", "method.temperature"),
        ("method.teacher", "method.teacher_model"),
        lambda config: bool(config.method.teacher or config.method.teacher_model),
        "method.teacher=FOLDER or method.teacher_model=CHECKPOINT",
    ),
    Needed(
        ("method.similarity_weight", "method.teacher_base"),
        ("method.teacher_model",),
        lambda config: bool(config.method.teacher_model),
        "method.teacher_model=CHECKPOINT",
    ),
    Needed(
        ("method.negatives_weight",),
        ("method.negatives",),
        lambda config: config.method.negatives == "batch",
        "method.negatives=batch",
    ),
    Needed(
        ("method.anchor_weight",),
        ("method.anchor",),
        lambda config: config.method.anchor != "none",
        "method.anchor=lm, positive, kl or vectors",
    ),
    Needed(
        ("method.anchor_data", "method.anchor_texts"),
        ("method.anchor",),
        lambda config: config.method.reads_texts,
        "method.anchor=kl or vectors",
    ),
    Needed(
        ("method.held_out",),
        ("method.selection",),
        lambda config: config.method.selection == "heldout",
        "method.selection=heldout",
    ),
    Needed(
        ("method.patience",),
        ("method.selection",),
        lambda config: config.method.selection != "none",
        "method.selection=heldout or validation",
    ),
    Needed(
        ("method.scale", "method.share_texts"),
        ("method.format",),
        lambda config: config.method.format == "dual",
        "method.format=dual",
    ),
    Needed(
        ("method.decay",),
        ("method.schedule",),
        lambda config: config.method.schedule == "wsd",
        "method.schedule=wsd",
    ),
    Needed(
        ("nli.score", "nli.on", "nli.labels"),
        ("method",),
        lambda config: config.method.name == "nli",
        "method=nli",
    ),
)
# Without an effect, two equal evaluations would have two signatures.
OF_EVALUATION = (
    Needed(
        ("protocol.top_p", "protocol.seed"),
        ("protocol.temperature",),
        lambda config: config.protocol.temperature > 0,
        "protocol.temperature=0.7 or another above 0",
    ),
    Needed(
        ("protocol.turns",), ("prompt", "prompt.k"), lambda config: config.prompt.k > 0, "prompt.k=3 or more"
    ),
    Needed(
        ("protocol.max_tokens",),
        ("protocol", "protocol.rating"),
        lambda config: config.protocol.kind != "logprobs" and config.protocol.rating != "expected",
        "a protocol that reads replies",
    ),
)
# `figlang generate` draws examples by the seed too.
OF_WRITING = (
    Needed(
        ("sampling.top_p",),
        ("sampling", "sampling.temperature"),
        lambda config: config.sampling.temperature > 0,
        "sampling.temperature=0.7 or another above 0",
    ),
    Needed(
        ("sampling.seed",),
        ("sampling", "sampling.temperature", "shots"),
        lambda config: config.sampling.temperature > 0 or config.shots > 0,
        "sampling.temperature=0.7 or another above 0, or shots=5 or more",
    ),
)


# Settings of data that only a training reads.
OF_TRAINING_ITEMS = ("data.train_limit", "data.recombined", "data.drop_near_duplicates")


def check_training(config: TrainConfig, given: Given) -> None:
    """Check that a multirun starts each run once, and that every option of its method has an effect.

    Raises:
        FiglangError: There are several devices, so that each process that Lightning starts would run the
            whole multirun, or a typed option changes nothing without another one.
    """
    _check_effect(config, given, OF_TRAINING)
    slurm = given.choices.get("hydra/launcher") == "submitit_slurm"
    if given.multirun and config.trainer.devices not in ("auto", "1") and not slurm:
        raise FiglangError("a sweep (-m) needs trainer.devices=1; start the runs one by one, or by torchrun")


def _check_effect(config: TrainConfig | EvaluateConfig, given: Given, options: Sequence[Needed]) -> None:
    """Check that typed options change something.

    Options of presets may wait for others. In a search over both options, some runs have both.
    """
    searched = given.multirun or "WANDB_SWEEP_ID" in os.environ
    for needed in options:
        for name in needed.names:
            if name not in given.names:
                continue
            group, _, field = name.partition(".")
            section = getattr(config, group)
            if getattr(section, field) == getattr(type(section), field) or needed.has_effect(config):
                continue
            if not (searched and any(switch in given.names for switch in needed.switches)):
                raise FiglangError(
                    f"{name} changes nothing without {needed.remedy}; add that, or leave it out"
                )


def check_evaluation(config: EvaluateConfig, given: Given) -> None:
    """Check that every option of an evaluation has an effect.

    Raises:
        FiglangError: An option is the checkpoint's own, is for training, or is about other items.
    """
    own = next(
        (name for name in given.names if name.split(".")[0] in ("model", "method") and name not in ALLOWING),
        None,
    )
    if config.checkpoint is not None and own is not None:
        raise FiglangError(
            f"checkpoint={config.checkpoint} brings its own model and method; leave {own}= out"
        )
    if "data.fold" in given.names and config.split != "train":
        raise FiglangError(
            f"data.fold= is a part of the training items and this is split={config.split}; add split=train"
        )
    _check_effect(config, given, OF_EVALUATION + OF_WRITING)
    for name in given.names:
        if name.startswith("method") or name in TRAINING or name in OF_TRAINING_ITEMS:
            raise FiglangError(f"{name}= is for training and changes no evaluation; leave it out")
    # Weights below adapters that stay apart may have another precision, also in an encoder.
    vectors = config.model.family == "encoder" and config.model.adapters != "apart"
    vectors = vectors and (config.scoring is None or config.scoring.kind != "pll")
    if vectors and "model.dtype" in given.names:
        raise FiglangError(
            "model.dtype changes nothing for an encoder that compares vectors; leave it out, or take "
            "scoring=pll"
        )

"""Refuse options that have no effect, and multiruns that would run several times."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from figlang.config.given import Given
from figlang.config.groups.method import MethodConfig
from figlang.config.groups.prompt import PromptConfig
from figlang.config.groups.protocol import ProtocolConfig
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
    """Options of method= that change nothing without another one.

    Attributes:
        names: The options.
        switch: The other one.
        has_effect: Whether its value gives them an effect.
        remedy: What gives them one.
    """

    names: tuple[str, ...]
    switch: str
    has_effect: Callable[[MethodConfig], bool]
    remedy: str


NEEDED = (
    Needed(
        ("teacher_weight", "temperature"),
        "teacher",
        lambda method: bool(method.teacher or method.teacher_model),
        "method.teacher=FOLDER or method.teacher_model=CHECKPOINT",
    ),
    Needed(
        ("similarity_weight", "teacher_base"),
        "teacher_model",
        lambda method: bool(method.teacher_model),
        "method.teacher_model=CHECKPOINT",
    ),
    Needed(
        ("negatives_weight",),
        "negatives",
        lambda method: method.negatives == "batch",
        "method.negatives=batch",
    ),
    Needed(
        ("anchor_weight",),
        "anchor",
        lambda method: method.anchor != "none",
        "method.anchor=lm, positive or kl",
    ),
    Needed(
        ("anchor_data", "anchor_texts"), "anchor", lambda method: method.anchor == "kl", "method.anchor=kl"
    ),
    Needed(
        ("held_out",),
        "selection",
        lambda method: method.selection == "heldout",
        "method.selection=heldout",
    ),
    Needed(
        ("patience",),
        "selection",
        lambda method: method.selection != "none",
        "method.selection=heldout or validation",
    ),
    Needed(("scale", "share_texts"), "format", lambda method: method.format == "dual", "method.format=dual"),
    Needed(("decay",), "schedule", lambda method: method.schedule == "wsd", "method.schedule=wsd"),
)


@dataclass(frozen=True)
class Asking:
    """An option of protocol= that changes nothing without another one.

    Attributes:
        name: The option.
        switches: The other options.
        has_effect: Whether their values give it an effect.
        remedy: What gives it one.
    """

    name: str
    switches: tuple[str, ...]
    has_effect: Callable[[ProtocolConfig, PromptConfig], bool]
    remedy: str


ASKING = (
    *(
        Asking(
            name,
            ("protocol.temperature",),
            lambda protocol, prompt: protocol.temperature > 0,
            "protocol.temperature=0.7 or another above 0",
        )
        for name in ("top_p", "seed")
    ),
    Asking("turns", ("prompt", "prompt.k"), lambda protocol, prompt: prompt.k > 0, "prompt.k=3 or more"),
    Asking(
        "max_tokens",
        ("protocol", "protocol.rating"),
        lambda protocol, prompt: protocol.kind != "logprobs" and protocol.rating != "expected",
        "a protocol that reads replies",
    ),
)


def check_training(config: TrainConfig, given: Given) -> None:
    """Check that a multirun starts each run once, and that every option of its method has an effect.

    Raises:
        FiglangError: There are several devices, so that each process that Lightning starts would run the
            whole multirun, or a typed option changes nothing without another one.
    """
    _check_effect(config.method, given)
    slurm = given.choices.get("hydra/launcher") == "submitit_slurm"
    if given.multirun and config.trainer.devices not in ("auto", "1") and not slurm:
        raise FiglangError(
            "a multirun (-m) needs trainer.devices=1; start the runs one by one, or by torchrun"
        )


def _check_effect(method: MethodConfig, given: Given) -> None:
    """Check that typed options change something.

    Options of presets may wait for others. In a search over both options, some runs have both.
    """
    searched = given.multirun or "WANDB_SWEEP_ID" in os.environ
    for needed in NEEDED:
        if needed.has_effect(method) or (searched and f"method.{needed.switch}" in given.names):
            continue
        for name in needed.names:
            if f"method.{name}" in given.names and getattr(method, name) != getattr(MethodConfig, name):
                raise FiglangError(
                    f"method.{name} changes nothing without {needed.remedy}; add that, or leave it out"
                )


def _check_asking(config: EvaluateConfig, given: Given) -> None:
    """Check that typed options of a protocol change something: two equal evaluations would have two
    signatures.

    In a multirun over the other option, some evaluations have both.
    """
    protocol, usual = config.protocol or ProtocolConfig(), ProtocolConfig()
    for option in ASKING:
        typed = f"protocol.{option.name}"
        searched = given.multirun and any(name in given.names for name in option.switches)
        if typed not in given.names or getattr(protocol, option.name) == getattr(usual, option.name):
            continue
        if not searched and not option.has_effect(protocol, config.prompt):
            raise FiglangError(f"{typed} changes nothing without {option.remedy}; add that, or leave it out")


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
    _check_asking(config, given)
    for name in given.names:
        if name.startswith("method") or name in TRAINING:
            raise FiglangError(f"{name}= is for training and changes no evaluation; leave it out")
    # Weights below adapters that stay apart may have another precision, also in an encoder.
    vectors = config.model.family == "encoder" and config.model.adapters != "apart"
    vectors = vectors and (config.scoring is None or config.scoring.kind != "pll")
    if vectors and "model.dtype" in given.names:
        raise FiglangError(
            "model.dtype changes nothing for an encoder that compares vectors; leave it out, or take "
            "scoring=pll"
        )

"""Refuse options that have no effect, and multiruns that would run several times."""

from figlang.config.given import Given
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError

# Options of model= that are said about a checkpoint too: a checkpoint never allows the first two by itself,
# and the others say how it is evaluated.
ALLOWING = (
    *("model.allow_bin", "model.trust_remote_code", "model.adapters", "model.base"),
    *("model.engine", "model.tensor_parallel", "model.window"),
)
# Options of trainer= that only the Trainer reads: an evaluation runs in the network's own precision, and
# torchrun splits it.
TRAINING = ("trainer.precision", "trainer.devices", "trainer.nodes", "trainer.strategy")


def check_training(config: TrainConfig, given: Given) -> None:
    """Check that a multirun starts each run once, and that what is said of teachers has teachers.

    Raises:
        FiglangError: There are several devices, so that each process that Lightning starts would run the
            whole multirun, or a setting of teachers is given without one.
    """
    for name in ("method.teacher_weight", "method.temperature"):
        if name in given.names and not config.method.teacher:
            raise FiglangError(f"{name}= is about teachers; add method.teacher=FOLDER, or leave it out")
    slurm = given.choices.get("hydra/launcher") == "submitit_slurm"
    if given.multirun and config.trainer.devices not in ("auto", "1") and not slurm:
        raise FiglangError(
            "a multirun (-m) needs trainer.devices=1; start the runs one by one, or by torchrun"
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
    for name in given.names:
        if name.startswith("method") or name in TRAINING:
            raise FiglangError(f"{name}= is for training and changes no evaluation; leave it out")

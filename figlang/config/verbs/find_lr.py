"""The options of `find_lr`."""

from dataclasses import dataclass
from typing import ClassVar

from figlang.config.section import POSITIVE, Range, option
from figlang.config.verbs.train import TrainConfig
from figlang.errors import FiglangError


@dataclass
class FindLrConfig(TrainConfig):
    """Try learning rates from low to high, one step each, and suggest one for the same words of figlang
    train."""

    kept_in: ClassVar[str] = "lr"

    run: str | None = option(
        None, "Folder of the results. null: that of the training, below lr/ of paths.runs."
    )
    lowest: float = option(1e-8, "The first learning rate.", within=POSITIVE)
    highest: float = option(1.0, "The last learning rate.", within=POSITIVE)
    steps: int = option(
        100,
        "Number of rates. Each is a fixed factor above the one before.",
        within=Range(20, most=10**5),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        method = self.method
        if self.lowest >= self.highest:
            raise FiglangError(f"lowest={self.lowest:g} must be below highest={self.highest:g}")
        for name, given, usual, why in (
            ("method.optimizer", method.optimizer == "schedule_free", "adamw", "has rates of its own"),
            ("method.layer_decay", method.layer_decay < 1, "1", "gives layers rates of their own"),
            ("peft.lr_ratio", self.peft.lr_ratio != 1, "1", "gives matrices rates of their own"),
            ("method.l2_sp", method.l2_sp > 0, "0", "is not in the loss that is watched"),
            ("trainer.strategy", self.trainer.strategy != "auto", "auto", "is for several processes"),
        ):
            if given:
                raise FiglangError(f"{name} {why}, so no rate can be found with it; take {name}={usual}")

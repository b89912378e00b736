"""The group peft: adapters."""

from dataclasses import dataclass, field, fields
from typing import Any

from figlang.config.section import COUNT, SHARE, Range, Section, option
from figlang.errors import FiglangError


@dataclass
class PeftConfig(Section):
    name: str = option(
        "none",
        "Kind of adapters. none: train all weights. qlora: lora on top of weights in 4 bits.",
        ("none", "lora", "dora", "rslora", "qlora"),
    )
    r: int = option(16, "Rank of the adapters.", within=Range(above=0, most=2**16))
    alpha: int = option(
        32,
        "Numerator of the factor on the adapters: alpha / r, or alpha / sqrt(r) for rslora.",
        within=COUNT,
    )
    dropout: float = option(0.05, "Dropout before the adapters.", within=SHARE)
    # A word or a list, which Hydra's typed schemas have no name for.
    target_modules: Any = field(
        default="all-linear",
        metadata={
            "help": "Layers with adapters. all-linear; auto: the attention projections that are usual for "
            "the architecture; or a list of endings of their names, for example [q_proj,v_proj].",
            "choices": (),
        },
    )
    merge: bool = option(
        False, "Export the whole network with the adapters merged into it, in place of the adapters."
    )
    stack: str = option(
        "refuse",
        "If the training starts from a network with adapters. refuse: stop with an error. continue: train "
        "these adapters. merge: merge them first, and export a whole network.",
        ("refuse", "continue", "merge"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.target_modules
        listed = isinstance(names, list) and names and all(isinstance(name, str) and name for name in names)
        if self.stack == "continue" and self.name == "none":
            raise FiglangError("peft.stack=continue trains existing adapters; give their peft= and peft.r=")
        if names not in ("auto", "all-linear") and not listed:
            raise FiglangError(
                f"peft.target_modules={names} must be auto, all-linear or a list such as [q_proj,v_proj]"
            )
        idle = [
            spec.name
            for spec in fields(self)
            if spec.name != "name" and getattr(self, spec.name) != spec.default
        ]
        if self.name == "none" and idle:
            raise FiglangError(
                f"peft.{idle[0]} changes nothing under peft=none, which trains all weights; add peft=lora"
            )

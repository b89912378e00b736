"""The group peft: adapters."""

from dataclasses import dataclass, field, fields
from typing import Any

from figlang.config.section import COUNT, POSITIVE, SHARE, Range, Section, option
from figlang.errors import FiglangError

# Settings that a kind of adapters does not have.
IDLE = {
    "ia3": ("r", "alpha", "dropout", "lr_ratio", "rank_pattern", "alpha_pattern"),
    "vera": ("alpha", "lr_ratio", "rank_pattern", "alpha_pattern"),
    "prompt_tuning": (
        *("r", "alpha", "dropout", "target_modules", "lr_ratio", "rank_pattern", "alpha_pattern"),
        "merge",
    ),
}


@dataclass
class PeftConfig(Section):
    name: str = option(
        "none",
        "Kind of adapters. none: train all weights. qlora: lora on top of weights in 4 bits. ia3: "
        "one factor for each output of a layer. vera: two vectors for each layer, between random matrices "
        "that all layers share. prompt_tuning: for causal models, tokens before every text whose embeddings "
        "are trained.",
        ("none", "lora", "dora", "rslora", "qlora", "ia3", "vera", "prompt_tuning"),
    )
    r: int = option(
        16,
        "Rank of the adapters. A higher rank has more weights to train.",
        within=Range(above=0, most=2**16),
    )
    alpha: int = option(
        32,
        "Numerator of the factor on the adapters: alpha / r, or alpha / sqrt(r) for rslora.",
        within=COUNT,
    )
    dropout: float = option(
        0.05, "Share of the inputs of the adapters that a training sets to zero.", within=SHARE
    )
    tokens: int = option(20, "prompt_tuning: number of trained tokens.", within=Range(above=0, most=2**16))
    # A word or a list, which Hydra's typed schemas have no name for.
    target_modules: Any = field(
        default="all-linear",
        metadata={
            "help": "Layers with adapters. all-linear; auto: the attention projections that are usual for "
            "the architecture; or a list of endings of their names, for example [q_proj,v_proj].",
            "choices": (),
        },
    )
    init: str = option(
        "default",
        "How adapters of peft=lora begin. default: they change nothing. gaussian: the same, with normal "
        "numbers. eva: the same, with the directions in which the inputs of each layer vary most on texts of "
        "the training, and with more rank where that is needed. pissa: with the largest singular values of "
        "the weights. olora: with an orthonormal basis of the weights. corda: with the part of the weights "
        "that matters most for texts of the training. Adapters of these three are exported with twice their "
        "rank, for the network as it was. loftq, for peft=qlora: with as much of what rounding to 4 bits "
        "took from the weights as the rank can hold.",
        ("default", "gaussian", "pissa", "olora", "eva", "corda", "loftq"),
    )
    lr_ratio: float = option(
        1.0,
        "LoRA+: factor on the learning rate of the second matrix (B) of each adapter, for example 16.",
        within=POSITIVE,
    )
    # Names of layers are not fields, so these two have no type that Hydra knows.
    rank_pattern: Any = field(
        default=None,
        metadata={
            "help": "Ranks of layers that differ from peft.r, by the end of their names or a regular "
            "expression: '{q_proj: 8, v_proj: 32}'.",
            "choices": (),
        },
    )
    alpha_pattern: Any = field(
        default=None,
        metadata={
            "help": "As rank_pattern, for values that differ from peft.alpha: '{q_proj: 16}'.",
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
        kind = "qlora" if self.init == "loftq" else "lora"
        if self.init != "default" and (self.name not in ("none", kind) or self.stack == "continue"):
            raise FiglangError(
                f"peft.init={self.init} is for new adapters of peft={kind}; leave it out, or take peft={kind}"
            )
        for name in ("rank_pattern", "alpha_pattern"):
            given = getattr(self, name)
            values = given.values() if isinstance(given, dict) else [] if given is None else [None]
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                    raise FiglangError(
                        f"peft.{name}={given} must name layers with a number above 0 each, such as "
                        "'{q_proj: 8}'"
                    )
        idle = [
            spec.name
            for spec in fields(self)
            if spec.name != "name" and getattr(self, spec.name) != spec.default
        ]
        if unused := [name for name in IDLE.get(self.name, ()) if name in idle]:
            raise FiglangError(f"peft.{unused[0]} changes nothing under peft={self.name}; leave it out")
        if self.name not in ("none", "prompt_tuning") and "tokens" in idle:
            raise FiglangError("peft.tokens is for peft=prompt_tuning; leave it out")
        if self.name == "none" and idle:
            kind = "qlora" if idle[0] == "init" and self.init == "loftq" else "lora"
            raise FiglangError(
                f"peft.{idle[0]} changes nothing under peft=none, which trains all weights; add peft={kind}"
            )

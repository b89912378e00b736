"""The input formats: for each how a model is built, what it can do and what it is asked with.

The name of a format stands in figlang.json. The layouts of encoders are in figlang/scoring/layouts.py.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForSequenceClassification,
)

from figlang.types import CLASSES


class Ability(Enum):
    """How a model answers in an evaluation."""

    CHOOSE = "choose"
    """It gives a score for each option."""
    ENTAIL = "entail"
    """It gives probabilities of classes for a premise with a hypothesis."""
    LOG_PROBABILITIES = "log-probabilities"
    """It gives the log-probability of a text after another."""
    REPLY = "reply"
    """It answers a message."""
    RANK = "rank"
    """It ranks words at a blank."""


@dataclass(frozen=True)
class Format:
    """An input format.

    Attributes:
        name: As figlang.json has it.
        network: The class of transformers that builds and reads the network.
        ability: How an evaluation asks it.
        scoring: The `scoring.kind` that it is for; None for a format that takes no scoring.
        causal: Whether it reads from left to right, so that it can go on with a text.
        takes_prompt: Whether `prompt=` changes what it reads.
        takes_length: Whether inputs are cut at `max_length`.
        counted: Whether the number of its outputs is set when it is built.
        bare: Whether it has no head, so that a pooler is dropped.
        classes: Names of its outputs; none if they have no names.
        text: The wording of a network without figlang.json.
        max_length: The longest input of a network without figlang.json, in tokens.
        untrained: A network without figlang.json has this format if its class name has this part; None: no
            network.
    """

    name: str
    network: Any
    ability: Ability
    scoring: str | None = None
    causal: bool = False
    takes_prompt: bool = False
    takes_length: bool = False
    counted: bool = False
    bare: bool = False
    classes: tuple[str, ...] = ()
    text: str = "clean"
    max_length: int = 80
    untrained: str | None = None


FORMATS = {
    format.name: format
    for format in (
        Format(
            "pair",
            AutoModelForMultipleChoice,
            Ability.CHOOSE,
            takes_length=True,
            untrained="MultipleChoice",
        ),
        Format("joint", AutoModelForSequenceClassification, Ability.CHOOSE, takes_length=True, counted=True),
        Format("dual", AutoModel, Ability.CHOOSE, takes_length=True, bare=True),
        Format(
            "nli",
            AutoModelForSequenceClassification,
            Ability.ENTAIL,
            scoring="nli",
            takes_length=True,
            counted=True,
            classes=CLASSES,
            text="raw",
            max_length=256,
            untrained="SequenceClassification",
        ),
        Format(
            "causal",
            AutoModelForCausalLM,
            Ability.LOG_PROBABILITIES,
            scoring="likelihood",
            causal=True,
            takes_prompt=True,
        ),
        Format("pll", AutoModelForMaskedLM, Ability.LOG_PROBABILITIES, scoring="pll", takes_prompt=True),
        # A causal network, or a model behind an endpoint, that is asked in a chat.
        Format("letter", AutoModelForCausalLM, Ability.REPLY, scoring="letter", takes_prompt=True),
    )
}
CAUSAL, MASKED, NLI, LETTER = FORMATS["causal"], FORMATS["pll"], FORMATS["nli"], FORMATS["letter"]


def of_scoring(kind: str) -> Format:
    """The format that a `scoring.kind` is for."""
    return next(format for format in FORMATS.values() if format.scoring == kind)


def untrained(architectures: list[str]) -> Format:
    """The format of a network without figlang.json, by the names of its classes: `dual` if no other fits."""
    for format in FORMATS.values():
        if format.untrained and any(format.untrained in name for name in architectures):
            return format
    return FORMATS["dual"]

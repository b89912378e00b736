"""The groups scoring and nli: how outputs become the score of an option."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from figlang.config.section import TOKENS, Section, holds_places, option
from figlang.errors import FiglangError

# What the sum of a text's log-probabilities is divided by, from its tokens and its UTF-8 bytes.
NORMS: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {"sum": lambda tokens, size: 1, "mean": lambda tokens, size: tokens, "byte": lambda tokens, size: size}
)


@dataclass
class ScoringConfig(Section):
    """How a language model's log-probabilities become the score of an option (Liu et al. 2022, §4.1 and
    footnote 3).

    An NLI network scores by NliConfig.
    """

    name: str = option("clean", "Name in reports and signatures.")
    kind: str = option(
        "likelihood",
        "likelihood: log-probabilities of a causal model. pll: pseudo-log-likelihood of an encoder with a "
        "masked-LM head. nli: entailment, as in nli.score; only the field text has an effect. letter: the "
        "reply of a chat model names an option; only orders and max_tokens have an effect.",
        ("likelihood", "pll", "nli", "letter"),
    )
    masking: str = option(
        "original",
        "pll: tokens that are masked at a time. original: one token. within_word_l2r: also the later tokens "
        "of its word.",
        ("original", "within_word_l2r"),
    )
    text: str = option(
        "clean",
        "clean: one final period and an upper-case first letter. raw: as in the file. gpt3: an upper-case "
        "first letter, and a period if there is none at the end.",
        ("clean", "raw", "gpt3"),
    )
    template: str = option(
        "{metaphor} {answer}", "The string that is scored. Text after {answer} counts as part of the answer."
    )
    span: str = option(
        "whole", "Forward: score the whole string, or only the tokens of the answer.", ("whole", "answer")
    )
    backward_span: str = option(
        "whole", "Backward: score the whole string, or only the tokens of the answer.", ("whole", "answer")
    )
    examples: bool = option(False, "Count the examples of a prompt as part of the whole string.")
    norm: str = option(
        "mean",
        "Sum of the log-probabilities, or their mean per token or per byte.",
        tuple(NORMS),
    )
    minus_alone: bool = option(
        False,
        "Forward: subtract log P(answer alone), to correct for answers that are likely in any context.",
    )
    bos: str | None = option(
        None,
        "Token before every string: auto, none, add or a token id, as in model.bos. null: model.bos.",
    )
    overflow: str = option(
        "error",
        "Inputs that are longer than the context window: stop with an error, or cut their beginning.",
        ("error", "truncate_left"),
    )
    orders: str = option(
        "both",
        "letter: orders of the options, for items that have only one order. both: each order is an item of "
        "its own. drawn: one order, drawn with the seed.",
        ("both", "drawn"),
    )
    max_tokens: int = option(
        512,
        "letter: longest reply in tokens, with reasoning. A reply that is cut names no option.",
        within=TOKENS,
    )

    @property
    def causal(self) -> bool:
        """Whether it compares log-probabilities of a causal model."""
        return self.kind == "likelihood"

    def __post_init__(self) -> None:
        super().__post_init__()
        holds_places("scoring", self.template)
        idle = [
            name for name, unset in (("orders", "both"), ("max_tokens", 512)) if getattr(self, name) != unset
        ]
        if self.kind != "letter" and idle:
            raise FiglangError(
                f"scoring.{idle[0]} is for scoring=letter, but this is scoring={self.name}; leave it out"
            )
        if self.kind == "pll":
            given = [
                name for name, unset in (("overflow", "error"), ("bos", None)) if getattr(self, name) != unset
            ]
            if given:
                raise FiglangError(
                    f"scoring.{given[0]} is for causal models, but scoring={self.name} is for encoders; "
                    "leave it out"
                )
        elif self.masking != "original":
            raise FiglangError(
                f"scoring.masking={self.masking} is for masked models; take scoring=pll or "
                "scoring=pll_within_word"
            )


@dataclass
class NliConfig(Section):
    """How an NLI network chooses: the context is the premise, each option a hypothesis (Liu et al. 2022,
    §4.2). For implied-by questions the options are the premises (Comșa et al. 2022, §5)."""

    score: str | None = option(
        None,
        "Score of an option, from the probabilities of the classes. A network with two classes has only "
        "entail. null: as in the paper of the task.",
        ("entail_minus_contradict", "entail", "not_contradict"),
    )
    on: str = option(
        "probabilities",
        "Values that the score is made of: probabilities or logits.",
        ("probabilities", "logits"),
    )
    labels: tuple[str, ...] | None = option(
        None,
        "Classes in the order of the network's outputs, for example [contradiction,entailment,neutral]. "
        "null: the network's id2label.",
    )

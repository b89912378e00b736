"""The group sampling: how a causal model writes."""

from dataclasses import dataclass

from figlang.config.section import AMOUNT, COUNT, SEED, TOKENS, Range, Section, option
from figlang.errors import FiglangError


@dataclass
class SamplingConfig(Section):
    """How a causal model writes."""

    name: str = option("greedy", "Name in reports and signatures.")
    temperature: float = option(0.0, "0: take the likeliest token. Above 0: draw tokens.", within=AMOUNT)
    top_p: float = option(
        1.0,
        "Draw from the likeliest tokens whose probabilities add up to this.",
        within=Range(above=0, most=1),
    )
    n: int = option(1, "Number of answers to a question.", within=COUNT)
    max_tokens: int = option(64, "Longest answer in tokens.", within=TOKENS)
    seed: int = option(0, "Seed of the draws.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature == 0 and self.n > 1:
            raise FiglangError(
                f"sampling.n={self.n} answers would all be the same at sampling.temperature=0; raise the "
                "temperature"
            )

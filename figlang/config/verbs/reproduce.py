"""The options of `reproduce` that several benchmarks share.

The options of one table are in the folder of its benchmark.
"""

from dataclasses import dataclass

from figlang.config.section import COUNT, TOKENS, option
from figlang.config.verbs.evaluate import EvaluateConfig


@dataclass
class ReproduceConfig(EvaluateConfig):
    """Reproduce a table or figure of a paper with any model."""

    table: str = option("", "The table or figure. `figlang reproduce --help` lists them.")

    @property
    def opens_model(self) -> bool:
        """Whether the command opens the model of model=."""
        return True


@dataclass
class RankingConfig(ReproduceConfig):
    """How a model ranks the words that people wrote into a blank."""

    form: str | None = option(
        None,
        "quote: the model continues a text after a quotation mark, as LLaMA did. insert: it fills in a "
        "blank, as GPT-3.5 did (for a served model: the field `suffix` of completions). null: quote, but "
        "insert for masked models.",
        ("quote", "insert"),
    )
    rank: str | None = option(
        None,
        "first_token: the rank of the first token of a word in the vocabulary, as published. word: the rank "
        "of the whole word among the candidates. null: first_token, but word for masked models.",
        ("first_token", "word"),
    )
    candidates: str = option(
        "answers", "rank=word: all answers of the data set, or a text file with one word on each line."
    )
    max_rank: int | None = option(
        None, "Largest rank that counts. 5 is what the interface of GPT-3.5 showed.", within=COUNT
    )
    compare: str = option(
        "casefold",
        "first_token: casefold ignores upper and lower case, exact does not.",
        ("casefold", "exact"),
    )
    leading_space: bool = option(True, "first_token: a token may begin with a space.")
    max_tokens: int = option(8, "first_token: longest word in tokens.", within=TOKENS)

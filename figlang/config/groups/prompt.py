"""The group prompt: the text around a metaphor and its answer, for causal models."""

from dataclasses import dataclass

from figlang.config.section import NUMBER, SEED, Section, holds_places, option
from figlang.errors import FiglangError


@dataclass
class PromptConfig(Section):
    """The text around a metaphor and its answer, for causal models (Liu et al. 2022, §5.1)."""

    name: str = option("none", "Name in reports and signatures.")
    suffix: str = option("", "Text before the answer, for example 'That is to say, '.")
    answer: str = option(
        "as_worded",
        "First letter after the suffix. lower: 'i am' in place of 'I am'.",
        ("as_worded", "lower"),
    )
    k: int = option(
        0, "Number of examples before the string: metaphors with their right answers.", within=NUMBER
    )
    source: str = option(
        "train",
        "Source of the examples: train, the training items of data=, or a text file with one on each line.",
    )
    per: str = option(
        "pair",
        "Draw new examples for every pair, for every item, or once for the whole split.",
        ("pair", "item", "split"),
    )
    separator: str = option("\n", "Text after every example. \\n is a line break.")
    seed: int = option(0, "Seed of the draws.", within=SEED)
    template: str | None = option(
        None,
        "String with {metaphor} and {answer}, in place of scoring.template. A question needs {stem}, {a} "
        "and {b}. With scoring=letter it needs {metaphor}, {a} and {b}.",
    )
    question: str | None = option(
        None,
        "Name of the wording of a question, or the id of a published prompt; presets of prompt= set it, and "
        "template replaces it. Each task has its own names: an error and the task's page list them. With "
        "scoring=letter: meaning, most_likely, speaker, paraphrase, follows.",
    )
    reply: str = option(
        "statement",
        "Answer to a question: the statement, number or letter of the option with the highest probability. "
        "greedy: the letter that the model writes. Published prompts with letters take letter or greedy.",
        ("statement", "number", "letter", "greedy"),
    )
    chat: str = option(
        "none",
        "Published prompts with letters: ask in a conversation, in the format of the tokenizer's chat "
        "template. prefill: the last line of the prompt begins the answer. user: the last line is part of "
        "the question.",
        ("none", "prefill", "user"),
    )
    case: str = option(
        "first",
        "Named questions about a stem: statements that get an upper-case first letter. first: the stem. all: "
        "the stem and the options. raw: none.",
        ("raw", "first", "all"),
    )
    layout: str = option(
        "inline",
        "Named questions about a stem: on one line (inline), or on several lines.",
        ("inline", "lines"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # A line break typed in a shell arrives as two characters.
        self.separator = self.separator.replace("\\n", "\n")
        if self.template is not None and self.question is None:
            holds_places("prompt", self.template)
        if self.question is not None and self.suffix:
            raise FiglangError(
                f"prompt.suffix={self.suffix!r} cannot be used in a question "
                f"(prompt.question={self.question}); leave it out"
            )

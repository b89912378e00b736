"""Weights in 4 bits, and adapters that begin by LoftQ, beside the exact network.

`python -m benchmarks.rounding --output FILE.csv` reads 100 metaphors of the bundled sample with their right
answers by SmolLM2. It needs bitsandbytes. The divergence is KL(exact || row) of the next token, in nats. The
error is the norm of the difference of all layers with adapters, as a share of the norm of their weights.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

import torch
from peft.tuners.lora import LoraLayer
from peft.utils.integrations import dequantize_bnb_weight
from torch import Tensor

from benchmarks.command import in_one_line, write_rows
from figlang.config import PeftConfig, TrainConfig
from figlang.config.composing import compose
from figlang.models import calibrated, layout, lora, networks
from figlang.tasks import registry

WORDS = ["model=smollm2", "data=figqa_sample"]
RANKS = (4, 16, 64)
TEXTS = 100


def _rows() -> Iterator[dict[str, str]]:
    config = compose("train", TrainConfig, WORDS)
    exact, tokenizer = networks.causal(config.model, config.paths.cache)
    split = registry.load("validation", config.data, config.paths)
    texts = [
        torch.tensor([tokenizer(f"{item.context} {item.options[item.gold or 0]}")["input_ids"]])
        for item in split.items[:TEXTS]
    ]

    def read(network: Any) -> list[Tensor]:
        with torch.no_grad():
            return [network(input_ids=ids).logits[0, :-1].float().log_softmax(-1) for ids in texts]

    def rounded() -> Any:
        network, _ = networks.causal(replace(config.model, quantization="4bit"), config.paths.cache)
        layout.bear_gradients(network)
        return network

    wanted = read(exact)

    def row(name: str, network: Any, error: str = "0", seconds: float = 0.0) -> dict[str, str]:
        found = read(network)
        apart = torch.cat([(one.exp() * (one - two)).sum(-1) for one, two in zip(wanted, found, strict=True)])
        losses = [-two.gather(1, ids[0, 1:, None]) for ids, two in zip(texts, found, strict=True)]
        return {
            "weights": name,
            "divergence": f"{apart.mean().clamp(min=0):.4f}",
            "loss": f"{torch.cat(losses).mean():.4f}",
            "error": error,
            "CPU-s to begin": f"{seconds:.0f}",
            "command": "python -m benchmarks.rounding --output FILE.csv",
            "seed": "0",
            "data": f"figqa_sample @{split.sha256[:8]}, {len(texts)} metaphors with right answers",
        }

    yield row("exact", exact)
    first = True
    for rank in RANKS:
        began = process_time()
        network = rounded()
        middle = process_time()
        peft = PeftConfig(name="qlora", r=rank, alpha=2 * rank, init="loftq")
        given = calibrated.Given(exact=lambda: exact)
        adapted = lora.adapt(network, peft, [], "smollm2", None, given).eval()
        ended = process_time()
        lost, left = _errors(adapted, exact)
        if first:
            with adapted.disable_adapter():
                yield row("4 bits", adapted, lost, middle - began)
        first = False
        yield row(f"4 bits, LoftQ of rank {rank}", adapted, left, ended - began)


def _errors(adapted: Any, exact: Any) -> tuple[str, str]:
    """The error of rounded weights, without and with their adapters."""
    sums = torch.zeros(3, dtype=torch.float64)
    for name, layer in adapted.named_modules():
        if isinstance(layer, LoraLayer):
            weight = exact.get_submodule(name.removeprefix("base_model.model.")).weight.detach()
            lost = weight - dequantize_bnb_weight(layer.get_base_layer().weight).float()
            left = lost - layer.get_delta_weight("default").detach()
            sums += torch.stack([each.double().square().sum() for each in (weight, lost, left)])
    lost_share, left_share = (sums[1:] / sums[0]).sqrt().tolist()
    return f"{lost_share:.4f}", f"{left_share:.4f}"


@in_one_line
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", required=True, help="CSV file that is written")
    output = Path(parser.parse_args().output)
    output.parent.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows = []
    for row in _rows():
        rows.append(
            row
            | {
                "figlang": version("figlang"),
                "machine": "one thread of a busy machine",
                "recorded": f"benchmarks/rounding.py, {date.today()}",
                "note": "SmolLM2-135M-Instruct, Q4_1 as the exact network",
            }
        )
        print(*list(row.values()), sep=", ", flush=True)
    write_rows(output, rows)


if __name__ == "__main__":
    main()

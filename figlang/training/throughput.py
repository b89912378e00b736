"""What a training took of the machine: memory, tokens a second, and its share of what matrix products can
reach."""

import re
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from torch import nn

from figlang.cpu.linear import OneDnnLinear

SIZES = (1024, 2048)
# Measuring the rate of products takes some seconds: shorter trainings go without.
WORTH = 60.0
DTYPES = {"32-true": torch.float32, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


def forget_peak() -> bool:
    """Begin to count the largest memory anew; False where the system cannot, so that earlier runs of this
    process count."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # not Linux, or a container without leave
        return False
    return True


def peak_memory() -> float:
    """Largest resident memory of this process in MB (2**20 bytes), since `forget_peak` if that was
    possible."""
    status = Path("/proc/self/status")
    if status.is_file() and (kept := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(kept[1]) / 2**10
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found / (2**20 if sys.platform == "darwin" else 2**10)


def product_rate(
    dtype: torch.dtype,
    sizes: Sequence[int] = SIZES,
    repeats: int = 3,
    kinds: Sequence[type[nn.Linear]] = (nn.Linear, OneDnnLinear),
) -> float:
    """Floating-point operations per second of a square product on this CPU now: the fastest size, by torch or
    by oneDNN."""
    rates = []
    for size in sizes:
        for kind in kinds:
            layer, input = (
                kind(size, size, bias=False).to(dtype).requires_grad_(False),
                torch.randn(size, size).to(dtype),
            )
            seconds = []
            for _ in range(repeats + 1):
                started = perf_counter()
                layer(input)
                seconds.append(perf_counter() - started)
            rates.append(2 * size**3 / median(seconds[1:]))
    return max(rates)


def work(network: nn.Module, tokens: int) -> float:
    """Floating-point operations of training on so many tokens, attention and the vocabulary matrix left out.

    Two for each weight and token forward and two backward, and two more for the gradient of a weight that is
    trained.
    """
    outputs = getattr(network, "get_output_embeddings", lambda: None)()
    embeddings = [
        module for module in network.modules() if isinstance(module, nn.Embedding) or module is outputs
    ]
    apart = {id(weight) for module in embeddings for weight in module.parameters()}
    weights = [
        weight
        for name, weight in network.named_parameters()
        if id(weight) not in apart and "original_module" not in name
    ]
    return float(tokens) * sum((6 if weight.requires_grad else 4) * weight.numel() for weight in weights)

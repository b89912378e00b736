"""The use that a training makes of the machine.

This is its memory, its tokens per second, and the share of the speed of matrix products that it reached.
"""

import re
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from torch import nn

from figlang.cpu.linear import OneDnnLinear

SIZES = (1024, 2048)
# Measuring the speed of products takes some seconds. It is left out for trainings shorter than this, in
# seconds.
WORTH = 60.0
DTYPES = {"32-true": torch.float32, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


def forget_peak() -> bool:
    """Start to measure the largest memory again.

    Returns:
        False if the system cannot do that. Then earlier runs of this process count too.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # not Linux, or a container without permission
        return False
    return True


def peak_memory() -> float:
    """The largest resident memory of this process, in MB (2**20 bytes).

    It counts from `forget_peak` on, if that succeeded.
    """
    status = Path("/proc/self/status")
    if status.is_file() and (kept := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(kept[1]) / 2**10
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (2**20 if sys.platform == "darwin" else 2**10)


def product_rate(
    dtype: torch.dtype,
    sizes: Sequence[int] = SIZES,
    repeats: int = 3,
    kinds: Sequence[type[nn.Linear]] = (nn.Linear, OneDnnLinear),
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Floating-point operations per second of a square product on this CPU now.

    Args:
        dtype: Precision of the product.
        sizes: Sizes to try.
        repeats: Runs of each; the median counts.
        kinds: Classes of layers to try.
        clock: Seconds that count: of time, or of the processor.

    Returns:
        The highest rate of these sizes and classes.
    """
    rates = []
    for size in sizes:
        for kind in kinds:
            layer, input = (
                kind(size, size, bias=False).to(dtype).requires_grad_(False),
                torch.randn(size, size).to(dtype),
            )
            seconds = []
            for _ in range(repeats + 1):
                started = clock()
                layer(input)
                seconds.append(clock() - started)
            rates.append(2 * size**3 / median(seconds[1:]))
    return max(rates)


def work(network: nn.Module, tokens: int) -> float:
    """Floating-point operations of training on so many tokens, without attention and the vocabulary matrix.

    For each weight and token there are two forward and two backward, and two more if the weight is trained.
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

"""The two sides of the benchmark of scoring, each in a process of its own with the memory settings that its
command has."""

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeVar
from unittest.mock import patch

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.logging import disable_progress_bar

from benchmarks.workloads import work
from figlang.cpu.memory import keep_freed_memory
from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.trie import grow
from figlang.training.throughput import product_rate

Result = TypeVar("Result")
PRECISIONS = {"float32": torch.float32, "bf16": torch.bfloat16}
_networks: dict[str, PreTrainedModel] = {}  # of this process, by precision
_scorers: dict[str, CausalScorer] = {}
_tokenizers: list[PreTrainedTokenizerBase] = []


@dataclass(frozen=True)
class Measured:
    """One scoring: its seconds and the sum of every request; of ours also `tokens` as asked for, `distinct`
    ones, and the share of the limit by the faster square product and by torch's."""

    seconds: float
    sums: list[float]
    tokens: int = 0
    distinct: int = 0
    share: float = 0.0
    share_of_torch: float = 0.0


class Side:
    """A process that holds the networks of one side."""

    def __init__(self, shape: str, folder: str, precisions: list[str], threads: int, ours: bool) -> None:
        # Spawned: what the other side, or this process, has made of the memory is not seen there.
        settings = (shape, folder, precisions, threads, ours)
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_load, initargs=settings
        )
        # figlang has set how its threads wait, here too. The harness has what its users have.
        with patch.dict(os.environ):
            if not ours:
                os.environ.pop("GOMP_SPINCOUNT", None)
            self._pool.submit(os.getpid).result()

    def run(self, task: Callable[..., Result], *inputs: object) -> Result:
        """What the task returns there; it waits, so that nothing else runs meanwhile."""
        return self._pool.submit(task, *inputs).result()

    def close(self) -> None:
        self._pool.shutdown()


def _load(shape: str, folder: str, precisions: list[str], threads: int, ours: bool) -> None:
    if ours:
        keep_freed_memory()  # as train.py and evaluate.py do
    torch.set_num_threads(threads)
    disable_progress_bar()
    logging.disable(logging.WARNING)
    _tokenizers.append(AutoTokenizer.from_pretrained(folder))
    for name in precisions:
        _networks[name] = network(shape, folder, PRECISIONS[name])
        if ours:
            _scorers[name] = CausalScorer(_networks[name], _tokenizers[0])


def network(shape: str, folder: str, dtype: torch.dtype) -> PreTrainedModel:
    """SmolLM2, or random weights in the shape of GPT-2 small."""
    if shape == "smollm2":
        loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    else:
        torch.manual_seed(0)
        loaded = AutoModelForCausalLM.from_config(GPT2Config(bos_token_id=0, eos_token_id=0)).to(dtype)
    return loaded.eval()


def harness(precision: str, size: int, requests: list[Request]) -> Measured:
    """lm-evaluation-harness; a new model object each time, since it caches what it has seen."""

    def run() -> list[float]:
        model = HFLM(pretrained=_networks[precision], tokenizer=_tokenizers[0], batch_size=size, device="cpu")
        asked = [
            Instance("loglikelihood", {}, tuple(request), number) for number, request in enumerate(requests)
        ]
        return [score for score, _ in model.loglikelihood(asked, disable_tqdm=True)]

    return Measured(*_timed(run))


def figlang(precision: str, requests: list[Request]) -> Measured:
    """Our scorer, and right after it what this machine's products reach."""
    scorer = _scorers[precision]
    seconds, scored = _timed(partial(scorer.score, requests))
    dtype, sums = PRECISIONS[precision], [float(values.sum()) for values in scored.log_probs]
    distinct = len(grow(scorer.encoder.encode(requests)[0]).read)
    reached = work(_networks[precision], distinct, scored.positions) / seconds
    rates = product_rate(dtype), product_rate(dtype, kinds=(nn.Linear,))
    return Measured(seconds, sums, scored.tokens, distinct, *(reached / rate for rate in rates))


def _timed(run: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result

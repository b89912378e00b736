"""vLLM's offline engine: log-probabilities of token sequences, and texts that continue them."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError, NonFiniteError, one_line
from figlang.machine.faults import explain
from figlang.models.hosted.parts import Parts, parts
from figlang.scoring.flat import Tokens

LONGEST = 8192  # tokens of an input with its reply, if the network reads more: caches grow with this number


class Engine:
    """A causal network inside vLLM.

    Args:
        model: Settings of the model.
        cache: Folder for converted files.

    Raises:
        FiglangError: If vLLM is not installed, if files are missing, or if vLLM refuses them.
    """

    def __init__(self, model: ModelConfig, cache: str) -> None:
        found = importlib.util.find_spec("vllm")
        if found is None or found.origin is None:  # a folder of that name is not the package
            raise FiglangError(
                "model.engine=vllm needs the package vllm; install it: pip install 'figlang[vllm]'"
            )
        # vLLM forks the process of its network, which CUDA refuses once anybody has asked for a GPU. vLLM
        # notices only if CUDA was used.
        os.environ.setdefault("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
        try:
            self._vllm: Any = importlib.import_module("vllm")
        except Exception as error:  # a library of the GPU that is missing raises anything
            raise FiglangError(
                f"model.engine=vllm: vllm cannot be loaded ({one_line(error)}); install it again, "
                "or leave model.engine out"
            ) from error
        self.model = model
        self.parts: Parts = parts(model, cache)
        # vLLM refuses a window that is longer than the network's.
        self.window = model.window or min(self.parts.window or LONGEST, LONGEST)
        self._llm = self._opened()
        self._adapters = None
        if self.parts.adapters is not None:
            request = importlib.import_module("vllm.lora.request")
            self._adapters = request.LoRARequest("adapters", 1, self.parts.adapters)

    def log_probs(self, sequences: Sequence[Tokens], progress: bool = False) -> list[Tensor]:
        """Natural logarithms of the probabilities of the scored tokens of each sequence, (T,), float32.

        Equal sequences are read once.

        Args:
            sequences: The sequences, each with its first scored token.
            progress: Show vLLM's bar.

        Raises:
            NonFiniteError: If one is not a number.
        """
        distinct = dict.fromkeys(tuple(sequence.ids) for sequence in sequences)
        # One token is generated, since vLLM has no request without; 0 asks for the prompt's own tokens.
        outputs = self._ask(
            [list(ids) for ids in distinct],
            self._vllm.SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0, detokenize=False),
            progress,
        )
        found = dict(zip(distinct, (output.prompt_logprobs for output in outputs), strict=True))
        values = []
        for place, sequence in enumerate(sequences):
            ids = tuple(sequence.ids)
            try:
                row = [float(found[ids][at][ids[at]].logprob) for at in range(sequence.start, len(ids))]
            except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
                raise FiglangError(
                    f"vLLM gives no log-probability for a token of a prompt ({one_line(error)}); leave "
                    "model.engine out, or take another version of vLLM"
                ) from error
            values.append(torch.tensor(row, dtype=torch.float32))
            if not bool(values[-1].isfinite().all()):
                raise NonFiniteError("vLLM's log-probabilities are not numbers", place)
        return values

    def write(
        self, prompts: Sequence[Sequence[int]], sampling: SamplingConfig, progress: bool = False
    ) -> list[list[tuple[str, bool]]]:
        """`sampling.n` continuations of every prompt, each with whether `sampling.max_tokens` cut it.

        Args:
            prompts: Token ids.
            sampling: How tokens are drawn. vLLM draws other tokens than transformers do from one seed.
            progress: Show vLLM's bar.
        """
        outputs = self._ask(
            [list(ids) for ids in prompts],
            self._vllm.SamplingParams(
                n=sampling.n,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                seed=sampling.seed,
                max_tokens=sampling.max_tokens,
                detokenize=False,
            ),
            progress,
        )
        return [
            [
                (
                    str(self.parts.tokenizer.decode(list(one.token_ids), skip_special_tokens=True)),
                    one.finish_reason == "length",
                )
                for one in output.outputs
            ]
            for output in outputs
        ]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything that can change a number, for signatures."""
        bits = "" if self.model.quantization == "none" else f"+{self.model.quantization}"
        return {
            "precision": f"{self.model.dtype}{bits}",
            **({} if self.parts.adapters is None else {"adapters": "apart"}),
            "engine": f"vllm-{self._vllm.__version__}",
            "weights": self.parts.fingerprint(),
        }

    def _ask(self, prompts: list[list[int]], how: Any, progress: bool) -> Sequence[Any]:
        if not prompts:
            return []
        given = {} if self._adapters is None else {"lora_request": self._adapters}
        try:
            outputs: Sequence[Any] = self._llm.generate(
                [{"prompt_token_ids": ids} for ids in prompts], how, use_tqdm=progress, **given
            )
        except Exception as error:  # its engine is another process, which ends by anything
            if explain(error, training=False):
                raise
            raise FiglangError(
                f"vLLM stopped while it read {self.model.name_or_path!r}: {one_line(error)}"
            ) from error
        if len(outputs) != len(prompts):
            raise FiglangError(
                f"vLLM answered {len(outputs)} of {len(prompts)} prompts; leave model.engine out"
            )
        return outputs

    def _opened(self) -> Any:
        model, found = self.model, self.parts
        given: dict[str, Any] = {
            "model": found.network,
            "revision": found.revision,
            "trust_remote_code": model.trust_remote_code,
            "dtype": model.dtype,
            "tensor_parallel_size": model.tensor_parallel,
            "max_model_len": self.window,
            "enable_prefix_caching": True,
            "seed": 0,
        }
        if model.quantization == "4bit":
            given["quantization"] = "bitsandbytes"
        if found.adapters is not None:
            given |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": found.rank}
            # Without the names, vLLM makes room for adapters of the output layer too, and where it computes
            # log-probabilities of prompts, that mistakes the rows or ends in an error.
            given["lora_target_modules"] = found.targets
        try:
            return self._vllm.LLM(**given)
        except Exception as error:  # vLLM and what it starts raise anything
            if explain(error, training=False):
                raise
            raise FiglangError(f"vLLM cannot open {model.name_or_path!r}: {one_line(error)}") from error

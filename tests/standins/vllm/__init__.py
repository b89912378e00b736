"""A stand-in for vLLM: the part of its offline API that figlang calls, computed by transformers.

Names, defaults and refusals are those of vLLM. What it does not know raises, so that a call which vLLM would
not take fails here too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from vllm.lora.request import LoRARequest

__version__ = "0.0.1"


@dataclass
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = 16
    prompt_logprobs: int | None = None
    detokenize: bool = True

    def __post_init__(self) -> None:
        if self.temperature < 1e-5 and self.n > 1:
            raise ValueError(f"n must be 1 when using greedy sampling, got {self.n}.")


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    finish_reason: str | None


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    prompt_logprobs: list[dict[int, Logprob] | None] | None
    outputs: list[CompletionOutput] = field(default_factory=list)


class LLM:
    opened: ClassVar[list["LLM"]] = []

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        trust_remote_code: bool = False,
        dtype: str = "auto",
        quantization: str | None = None,
        tensor_parallel_size: int = 1,
        seed: int = 0,
        max_model_len: int | None = None,
        enable_prefix_caching: bool | None = None,
        enable_lora: bool = False,
        max_loras: int = 1,
        max_lora_rank: int = 16,
        lora_target_modules: list[str] | None = None,
    ) -> None:
        self.given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self.network = AutoModelForCausalLM.from_pretrained(
            model, revision=revision, dtype=getattr(torch, dtype)
        ).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(model, revision=revision)
        longest = self.network.config.get_text_config().max_position_embeddings
        if max_model_len is not None and max_model_len > longest:
            raise ValueError(
                f"User-specified max_model_len ({max_model_len}) is greater than the derived max_model_len"
            )
        self.longest = max_model_len or longest
        self.read: list[int] = []
        LLM.opened.append(self)

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[dict[str, Any]],
        sampling_params: SamplingParams,
        *,
        use_tqdm: bool = True,
        lora_request: LoRARequest | None = None,
    ) -> list[RequestOutput]:
        return [self._answer(prompt["prompt_token_ids"], sampling_params, lora_request) for prompt in prompts]

    def _answer(self, ids: list[int], how: SamplingParams, lora_request: LoRARequest | None) -> RequestOutput:
        if len(ids) >= self.longest:
            raise ValueError(
                f"The decoder prompt (length {len(ids)}) is longer than the maximum model length of "
                f"{self.longest}."
            )
        self.read.append(len(ids))
        network, rows = self._with(lora_request), torch.tensor([ids])
        output = RequestOutput(ids, None)
        if how.prompt_logprobs is not None:
            assert how.prompt_logprobs == 0, "the prompt's own tokens"
            values = network(input_ids=rows).logits[0].float().log_softmax(-1)
            output.prompt_logprobs = [None] + [
                {token: Logprob(float(values[place, token]))} for place, token in enumerate(ids[1:])
            ]
        drawn = how.temperature >= 1e-5
        if drawn:
            torch.manual_seed(how.seed or 0)
        end = network.generation_config.eos_token_id
        continued = network.generate(
            input_ids=rows,
            attention_mask=torch.ones_like(rows),
            max_new_tokens=how.max_tokens,
            num_return_sequences=how.n,
            do_sample=drawn,
            pad_token_id=0,
            **({"temperature": how.temperature, "top_p": how.top_p, "top_k": 0} if drawn else {}),
        )
        for index, row in enumerate(continued[:, len(ids) :].tolist()):
            ends = [end] if isinstance(end, int) else end or []
            cut = next((place + 1 for place, token in enumerate(row) if token in ends), None)
            text = self.tokenizer.decode(row[:cut], skip_special_tokens=True) if how.detokenize else ""
            output.outputs.append(
                CompletionOutput(index, text, row[:cut], "length" if cut is None else "stop")
            )
        return output

    def _with(self, lora_request: LoRARequest | None) -> Any:
        if lora_request is None:
            return self.network
        if not self.given["enable_lora"]:
            raise ValueError(f"Got lora_request {lora_request} but LoRA is not enabled!")
        if not isinstance(self.network, PeftModel):
            self.network = PeftModel.from_pretrained(self.network, lora_request.lora_path).eval()
            settings = self.network.active_peft_config
            if settings.r > self.given["max_lora_rank"]:
                raise ValueError(
                    f"LoRA rank {settings.r} is greater than max_lora_rank {self.given['max_lora_rank']}."
                )
            if settings.use_dora or settings.modules_to_save:
                raise ValueError("vLLM does not yet support DoRA, only supports modules_to_save being None.")
        return self.network

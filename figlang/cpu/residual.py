"""Sums in float32 for a network in bf16 on a CPU.

Products stay in bf16. This removes a third of the rounding error. Every layer adds to the states before it,
and a bf16 sum loses everything that is 256 times smaller. Here, plain embeddings give float32. The sums take
that type from them, and products round only their inputs. torch's autocast does the same for float32 weights.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.pytorch_utils import Conv1D

from figlang.cpu.alike import alike
from figlang.cpu.parts import Kinds, computing, exchanged, untouched
from figlang.cpu.rotary import rotating_in_place


class Bf16Linear(nn.Linear):
    """nn.Linear of bf16 weights that takes an input of any precision and gives bf16."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.to(self.weight.dtype))


class Bf16Conv1D(Conv1D):  # type: ignore[misc]
    """The same for GPT-2's linear layer."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.to(self.weight.dtype))  # type: ignore[no-any-return]


class Float32Embedding(nn.Embedding):
    """nn.Embedding that gives float32."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).float()


class Float32LayerNorm(nn.LayerNorm):
    """nn.LayerNorm that computes in float32. torch does not accept bf16 weights with a float32 input."""

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = (None if part is None else part.float() for part in (self.weight, self.bias))
        return layer_norm(input.float(), self.normalized_shape, weight, bias, self.eps)


def _normed(part: Any, hidden_states: Tensor) -> Tensor:
    """RMSNorm in float32, rounded to the precision of its weight.

    The layers after it are mostly products, and each of them would round its input to this precision.
    """
    values = hidden_states.float()
    squares = torch.linalg.vector_norm(values, dim=-1, keepdim=True).square_() / values.shape[-1]
    output: Tensor = (
        (values * squares.add_(part.variance_epsilon).rsqrt_()).mul_(part.weight).to(part.weight.dtype)
    )
    return output


EXCHANGED: Kinds = {
    nn.Linear: Bf16Linear,
    Conv1D: Bf16Conv1D,
    nn.Embedding: Float32Embedding,
    nn.LayerNorm: Float32LayerNorm,
}


@contextmanager
def adding_in_float32(network: nn.Module) -> Iterator[None]:
    """While the block runs, keep the residual sums of a network in bf16 in float32.

    Not all networks accept that, so the caller must try it first.

    Queries, keys and values may then have different types. The attention of `in_blocks` converts them.
    """
    norms: list[Any] = [part for part in network.modules() if alike(type(part).forward, LlamaRMSNorm.forward)]
    # The last norm makes the final states, which stay in float32.
    normed = [(part, partial(_normed, part)) for part in norms[:-1] if untouched(part)]
    with exchanged(network.modules(), EXCHANGED), computing(normed), rotating_in_place(network):
        yield

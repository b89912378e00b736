"""The faster parts compute what the parts they replace compute."""

import copy
import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMultipleChoice, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.phi3 import modeling_phi3
from transformers.pytorch_utils import Conv1D

from figlang.cpu import linear
from figlang.cpu.alike import alike
from figlang.cpu.attention import attention
from figlang.cpu.blocks import Blocks, in_blocks
from figlang.cpu.dropout import FastDropout
from figlang.cpu.hasten import FASTER_ATTENTION, hasten, release
from figlang.cpu.parts import exchange
from figlang.cpu.residual import adding_in_float32
from figlang.cpu.rotary import rotated, rotating_in_place


@pytest.mark.skipif(not linear.pays(), reason="MKL is as fast here")
@pytest.mark.parametrize(
    "plain", [nn.Linear(12, 6), nn.Linear(12, 6, bias=False), Conv1D(6, 12)], ids=["bias", "none", "gpt2"]
)
@pytest.mark.parametrize("shape", [(7, 12), (2, 5, 12), (12,), (3, 0, 12)])
def test_products_and_their_gradients_are_those_of_linear(shape: tuple[int, ...], plain: nn.Module) -> None:
    plain = copy.deepcopy(plain)
    other = copy.deepcopy(plain)
    exchange(other, linear.FASTER)
    assert type(other) is not type(plain)
    left, right = (
        torch.randn(shape, generator=torch.Generator().manual_seed(0)).requires_grad_() for _ in range(2)
    )
    outputs = plain(left), other(right)
    torch.testing.assert_close(*outputs)
    for output in outputs:
        (output.square().sum() + output.sum()).backward()
    torch.testing.assert_close(left.grad, right.grad)
    for ours, theirs in zip(other.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    other.get_parameter("weight").requires_grad_(False)
    other(right).sum().backward()


@pytest.mark.parametrize("kind", ["bool", "additive"])
def test_attention_without_dropped_weights_is_sdpa(kind: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[1, ..., 3:] = False
    given = mask if kind == "bool" else torch.zeros(mask.shape).masked_fill(~mask, -1e9)
    ours, _ = attention(nn.Identity(), query, key, value, given, dropout=1e-9, scaling=0.3)
    theirs, _ = sdpa_attention_forward(nn.Identity(), query, key, value, given, 0.0, 0.3)
    torch.testing.assert_close(ours, theirs)


def test_attention_with_dropout_has_the_mean_of_attention_without() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 1, 4, 8).expand(4000, 1, 4, 8) for _ in range(3))
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    ours, _ = attention(nn.Identity(), query, key, value, mask, dropout=0.2)
    theirs, _ = sdpa_attention_forward(nn.Identity(), query, key, value, mask, 0.0)
    torch.testing.assert_close(ours.mean(0), theirs.mean(0), atol=0.05, rtol=0)


def network(architecture: str, dropout: float) -> PreTrainedModel:
    sizes = {
        "vocab_size": 50,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    named = (
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "attention_dropout",
        "summary_last_dropout",
    )
    drops = dict.fromkeys(named, dropout)
    torch.manual_seed(0)
    config = AutoConfig.for_model(architecture, **sizes, **drops, pad_token_id=0, max_position_embeddings=40)
    return AutoModelForMultipleChoice.from_config(config).train()  # type: ignore[no-any-return]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "deberta-v2", "modernbert", "electra"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_hastened_network_has_the_same_loss_and_gradients(architecture: str, precision: str) -> None:
    # The fast path runs, and as good as never drops anything.
    plain, fast = network(architecture, 0.0), network(architecture, 1e-9)
    ids = torch.randint(1, 50, (1, 4, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, 2:, 6:] = 0
    hasten(fast)
    losses = []
    for model in (plain, fast):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(input_ids=ids, attention_mask=mask, labels=torch.tensor([1])).loss
        loss.backward()
        losses.append(loss.detach())
    release(fast)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if precision == "float32" else {"rtol": 0.05, "atol": 0.01}
    torch.testing.assert_close(*losses, **tolerance)
    for ours, theirs in zip(fast.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, **tolerance)


def test_release_undoes_hasten() -> None:
    model = network("bert", 0.1)
    before = [type(module) for module in model.modules()]
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    hasten(model)
    assert any(type(module) is FastDropout for module in model.modules())
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is FASTER_ATTENTION
    release(model)
    release(model)
    assert [type(module) for module in model.modules()] == before
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is usual


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ["4000", "1"]),
        ({"GOMP_SPINCOUNT": "7"}, ["7", "1"]),
        ({"OMP_WAIT_POLICY": "active"}, ["None", "1"]),
        ({"THP_MEM_ALLOC_ENABLE": "0"}, ["4000", "0"]),
    ],
)
def test_threads_that_wait_let_others_have_the_core_and_large_tensors_lie_on_huge_pages(
    given: dict[str, str], found: list[str]
) -> None:
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    code = f"import os, sys, figlang; print(*map(os.environ.get, {names[::2]}), 'torch' in sys.modules)"
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, env=plain | given, capture_output=True, text=True, check=True)
    assert said.stdout.split() == [*found, "False"]  # before torch could make a tensor or a thread


# Queries 0 to 2 see some of keys 0 to 4; query 3 (there twice) keys 0 and 5; queries 4 and 5 some of keys 0,
# 1, 6 and 7.
WIDE = Blocks(
    torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, 2, 3, 4]]), torch.ones(1, 3, 5, dtype=torch.bool)
)
NARROW = Blocks(
    torch.tensor([[3, 3], [4, 5]]),
    torch.tensor([[0, 5, 2, 3], [0, 1, 6, 7]]),
    torch.ones(2, 2, 4, dtype=torch.bool),
)
WIDE.visible[0, 1, 3] = NARROW.visible[1, 1, 1] = NARROW.visible[0, :, 2:] = False
BLOCKS = [NARROW, WIDE]


def tree_mask(dtype: torch.dtype) -> Tensor:
    """(1, 1, 6, 8): what the blocks say."""
    visible = torch.zeros(6, 8, dtype=torch.bool)
    for queries, keys, seen in BLOCKS:
        visible[queries[:, :, None], keys[:, None]] = seen
    return torch.zeros(6, 8, dtype=dtype).masked_fill_(~visible, torch.finfo(dtype).min)[None, None]


@pytest.mark.parametrize(
    ("dtype", "error"),
    [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.float16, 0.003), (torch.bfloat16, 0.02)],
)
@pytest.mark.parametrize("heads", [2, 4])
@pytest.mark.parametrize("cast", [False, True])
def test_blocks_give_the_attention_of_all_at_once(
    cast: bool, heads: int, dtype: torch.dtype, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figlang.cpu.blocks.in_bf16", lambda: True)
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(1, count, size, 8).to(dtype) for count, size in ((4, 6), (heads, 8), (heads, 8))
    )
    module = nn.Module()
    module.num_key_value_groups = 4 // heads  # type: ignore[assignment]
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    expected = usual(module, query, key, value, tree_mask(dtype), scaling=0.3)[0]
    with in_blocks(BLOCKS, 6, cast):
        inside = ALL_ATTENTION_FUNCTIONS["sdpa"]
        found = inside(module, query, key, value, tree_mask(dtype), scaling=0.3)[0]
        value[:, :, 4] = torch.nan  # seen by the first block alone, and not even read by the others
        spoilt = inside(module, query, key, value, tree_mask(dtype), scaling=0.3)[0].isnan()
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is usual
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, atol=error, rtol=error)
    assert spoilt.any(-1).any(-1).tolist() == [[True] * 3 + [False] * 3]


def test_blocks_take_values_of_another_size_and_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 4, 6, 8), torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8, 5)
    usual = ALL_ATTENTION_FUNCTIONS["sdpa"]
    expected = usual(nn.Module(), query, key, value, tree_mask(torch.float32))[0]
    for most in (2**18, 4 * 2 * 4, 1):
        monkeypatch.setattr("figlang.cpu.blocks.SCORES", most)
        with in_blocks(BLOCKS, 6):
            found = ALL_ATTENTION_FUNCTIONS["sdpa"](nn.Module(), query, key, value, tree_mask(torch.float32))[
                0
            ]
        torch.testing.assert_close(found, expected)


def test_autocast_does_not_round_the_scores_of_blocks() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 4, 6, 8), torch.randn(1, 4, 8, 8)
    with in_blocks(BLOCKS, 6):
        expected = ALL_ATTENTION_FUNCTIONS["sdpa"](nn.Module(), query, key, key, tree_mask(torch.float32))[0]
        with torch.autocast("cpu", torch.bfloat16):
            found = ALL_ATTENTION_FUNCTIONS["sdpa"](nn.Module(), query, key, key, tree_mask(torch.float32))[0]
    assert torch.equal(found, expected)


def test_what_is_not_the_attention_of_that_tree_is_left_to_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", lambda *inputs, **options: asked.append(options))
    query, key = torch.randn(1, 4, 6, 8), torch.randn(1, 4, 8, 8)
    mask = tree_mask(torch.float32)
    with in_blocks(BLOCKS, 6):
        inside = ALL_ATTENTION_FUNCTIONS["sdpa"]
        inside(nn.Module(), query, key, key, None)
        inside(nn.Module(), query, key, key, mask, dropout=0.1)
        inside(nn.Module(), query, key, key, mask, position_bias=mask)
        inside(nn.Module(), query[:, :, 1:], key, key, mask[:, :, 1:])
        inside(nn.Module(), query, key[:, :, 1:], key[:, :, 1:], mask)
        inside(nn.Module(), *(part.repeat(2, 1, 1, 1) for part in (query, key, key)), mask)
    assert len(asked) == 6
    with in_blocks([], 6):
        ALL_ATTENTION_FUNCTIONS["sdpa"](nn.Module(), query, key, key, mask)
    assert len(asked) == 7


def test_a_bias_of_positions_is_left_to_transformers_in_training() -> None:
    torch.manual_seed(0)
    query = torch.randn(1, 4, 6, 8, dtype=torch.bfloat16)
    bias = torch.randn(1, 4, 6, 6, dtype=torch.bfloat16)
    module, mask = nn.Module(), torch.zeros(1, 1, 6, 6, dtype=torch.bfloat16)
    expected, _ = sdpa_attention_forward(module, query, query, query, mask, position_bias=bias)
    assert torch.equal(attention(module, query, query, query, mask, position_bias=bias)[0], expected)


@pytest.mark.parametrize("heads_at", [1, 2])
def test_rotated_is_the_rotation_of_llama(heads_at: int) -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 5, 5, 8), torch.randn(2, 5, 5, 8)
    angles = torch.randn(2, 5, 4).repeat(1, 1, 2)
    cos, sin = angles.cos(), angles.sin()
    expected = modeling_llama.apply_rotary_pos_emb(query, key, cos, sin, heads_at)
    for found, wanted in zip(rotated(query, key, cos, sin, heads_at), expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-6)
    # Of bf16 that of the same values, keys rounded once.
    half = query.bfloat16(), key.bfloat16()
    exact = modeling_llama.apply_rotary_pos_emb(half[0].float(), half[1].float(), cos, sin, heads_at)
    for found, wanted, dtype in zip(
        rotated(*half, cos, sin, heads_at), exact, (torch.float32, torch.bfloat16), strict=True
    ):
        assert found.dtype == dtype
        assert torch.allclose(found.float(), wanted, rtol=2**-8 if dtype == torch.bfloat16 else 0, atol=1e-6)


def test_only_a_rotation_of_the_same_code_is_exchanged_and_only_within() -> None:
    before = {
        module: module.apply_rotary_pos_emb for module in (modeling_llama, modeling_mistral, modeling_phi3)
    }
    parts = nn.ModuleList(norm(4) for norm in (modeling_mistral.MistralRMSNorm, modeling_phi3.Phi3RMSNorm))
    with rotating_in_place(parts):
        assert modeling_mistral.apply_rotary_pos_emb is rotated
        assert modeling_phi3.apply_rotary_pos_emb is before[modeling_phi3]  # turns a part of the values only
        assert modeling_llama.apply_rotary_pos_emb is before[modeling_llama]  # not in this network
    assert {module: module.apply_rotary_pos_emb for module in before} == before


def test_a_norm_in_a_network_that_adds_in_float32_is_the_norm_and_the_last_stays_in_float32() -> None:
    torch.manual_seed(0)
    norms = nn.ModuleList(modeling_llama.LlamaRMSNorm(64) for _ in range(2))
    for norm in norms:
        nn.init.normal_(norm.weight)
    half, values = copy.deepcopy(norms).bfloat16(), torch.randn(3, 5, 64) * 7
    exact = [norm(values) for norm in copy.deepcopy(half).float()]
    with torch.no_grad(), adding_in_float32(half):
        found = [norm(values) for norm in half]
    assert [each.dtype for each in found] == [torch.bfloat16, torch.float32]
    assert not any("forward" in vars(norm) for norm in half)
    torch.testing.assert_close(found[0].float(), exact[0], rtol=2**-8, atol=0)
    torch.testing.assert_close(found[1], exact[1])


def copied(one: int, two: int = 1) -> int:
    """Its words."""
    return one + two


def test_functions_are_alike_whatever_their_docstrings_but_not_their_constants_or_defaults() -> None:
    assert alike(copied, lambda one, two=1: one + two)
    assert not alike(copied, lambda one, two=2: one + two)
    assert not alike(copied, lambda one, two=1: one - two)
    assert not alike(lambda one: one + 1, lambda one: one + 2)
    assert not alike(None, None)
    assert not alike(print, print)

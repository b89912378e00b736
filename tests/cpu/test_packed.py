"""Packed layers and fused feed-forward parts compute what they replace, and are gone afterwards."""

from functools import wraps
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import PreTrainedModel
from transformers.models.llama import modeling_llama
from transformers.pytorch_utils import Conv1D

from figlang.cpu import packed as packing
from figlang.cpu.feed_forward import asked, fused
from figlang.cpu.hasten import hastened
from figlang.cpu.packed import FEW, PackedConv1D, PackedLinear, faster, lay_out, packed
from figlang.cpu.rotary import rotated
from figlang.scoring.tree.causal import CausalScorer
from tests.causal_models import TREE, check, network, requests, tokenizer

DTYPES = [torch.float32, torch.bfloat16]


def needs(dtype: torch.dtype) -> None:
    if not faster(nn.Parameter(torch.empty(2, 2, dtype=dtype))):
        pytest.skip(f"this processor gains nothing from packed weights in {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(FEW + 3, 20), (2, FEW, 20), (3, 20), (0, 20)])
@pytest.mark.parametrize("kind", ["linear", "bias", "conv"])
def test_a_packed_layer_is_the_layer(kind: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    needs(dtype)
    torch.manual_seed(0)
    layer = Conv1D(70, 20) if kind == "conv" else nn.Linear(20, 70, bias=kind == "bias")
    nn.init.normal_(layer.weight)
    layer = layer.to(dtype)
    model, inputs = nn.Sequential(layer), torch.randn(shape)
    with torch.no_grad():
        expected = layer(inputs.to(dtype))
        with packed(model):
            assert type(layer) in (PackedLinear, PackedConv1D)
            found = layer(inputs)  # of another precision
            assert (layer.packed is not None) == (inputs.numel() >= 20 * FEW)
            with packed(model):  # once more changes nothing
                assert torch.equal(layer(inputs), found)
            assert torch.equal(layer(inputs), found)
    assert type(layer) in (nn.Linear, Conv1D)
    assert "packed" not in vars(layer)
    assert found.dtype == dtype
    torch.testing.assert_close(
        found,
        expected,
        atol=1e-5 if dtype == torch.float32 else 0.05,
        rtol=1e-5 if dtype == torch.float32 else 0.01,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_large_or_learns_or_is_of_another_kind_is_left_alone(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(dtype)

    class Own(nn.Linear):
        pass

    hooked, others = nn.Linear(4, 4), (nn.Linear(4, 4, dtype=torch.float64), nn.Linear(4, 4, device="meta"))
    hooked.register_forward_hook(lambda module, inputs, output: output)
    model = nn.Sequential(*(part.to(dtype) for part in (nn.Linear(4, 4), Own(4, 4), hooked)), *others)
    with packed(model):
        assert {type(part) for part in model} == {nn.Linear, Own}
    with torch.no_grad():
        with packed(model):
            assert [type(part) for part in model] == [PackedLinear, Own, nn.Linear, nn.Linear, nn.Linear]
        with pytest.raises(RuntimeError, match="within"), packed(model):
            raise RuntimeError("within")
        assert type(model[0]) is nn.Linear
        monkeypatch.setattr(packing, "LARGEST", model[0].weight.nbytes - 1)
        with packed(model):
            assert type(model[0]) is nn.Linear


def fused_parts(plain: PreTrainedModel) -> int:
    with packed(plain), fused(plain):
        return sum("forward" in vars(part) for part in plain.modules())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma", "qwen2", "gpt_neo", "gpt_neox", "opt"])
def test_a_hastened_network_gives_the_same_states(family: str, dtype: torch.dtype) -> None:
    plain = network(family, **TREE[family]).to(dtype)
    kinds = [type(part) for part in plain.modules()]
    ids = torch.arange(2 * FEW).view(2, FEW) % 300
    with torch.no_grad():
        expected = plain(ids).logits
        with hastened(plain):
            with hastened(plain):
                found = plain(ids).logits
            assert torch.equal(plain(ids).logits, found)  # what is inside undoes nothing
        count = fused_parts(plain)
    assert [type(part) for part in plain.modules()] == kinds
    assert not any("forward" in vars(part) for part in plain.modules())
    error = (found - expected).float().square().mean().sqrt() / expected.float().std()
    assert float(error) < (1e-5 if dtype == torch.float32 else 0.05)
    assert count == (
        2 if family not in ("gpt_neox", "opt") and faster(plain.get_output_embeddings().weight) else 0
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma", "qwen2", "gpt_neo"])
@pytest.mark.parametrize("count", [0, 1, FEW])
def test_the_last_layer_is_finished_for_the_tokens_that_are_asked_for(
    family: str, count: int, dtype: torch.dtype
) -> None:
    needs(dtype)
    plain = network(family, **TREE[family]).to(dtype)
    ids, chosen = torch.arange(2 * FEW)[None] % 300, torch.arange(2 * FEW) < count
    with torch.no_grad(), hastened(plain):
        expected = plain(ids).logits[0]
        with asked(chosen):
            found = plain(ids).logits[0]
        assert torch.equal(plain(ids).logits[0], expected)
    tolerance = 1e-4 if dtype == torch.float32 else 0.05
    torch.testing.assert_close(found[chosen], expected[chosen], atol=tolerance, rtol=tolerance)
    assert not torch.isclose(found[~chosen], expected[~chosen]).all(-1).any()  # nothing was computed for them


@pytest.mark.parametrize("count", [0, 3, 5])
def test_only_a_single_sequence_of_that_length_is_left_unfinished(count: int) -> None:
    needs(torch.float32)
    plain = network("llama")
    part, hidden = plain.model.layers[-1].mlp, plain.config.hidden_size
    chosen = torch.arange(5) < count
    one, two, longer = (torch.randn(*shape, hidden) for shape in ((1, 5), (2, 5), (1, 6)))
    with torch.no_grad():
        expected = [part(states) for states in (one, two, longer)]
        with packed(plain), fused(plain):
            with asked(chosen):
                found, *others = (part(states) for states in (one, two, longer))
            torch.testing.assert_close(part(one), expected[0])
    torch.testing.assert_close(found, torch.where(chosen[:, None], expected[0], 0))
    torch.testing.assert_close(others, expected[1:])


@pytest.mark.parametrize("late", [False, True])
def test_a_network_whose_last_layer_is_not_run_last_is_found_out(late: bool) -> None:
    needs(torch.float32)
    plain = network("llama")
    body, forward = plain.model, plain.model.forward

    @wraps(forward)
    def backwards(*inputs: Any, **options: Any) -> Any:
        layers, body.layers = body.layers, nn.ModuleList(reversed(body.layers))
        try:
            return forward(*inputs, **options)
        finally:
            body.layers = layers

    if late:
        body.forward = backwards
    scorer = CausalScorer(plain, tokenizer())
    found = scorer.score(requests()).fallback
    assert ("does not follow" in str(found)) == late
    check(plain, scorer, requests())


def test_a_last_layer_that_is_not_known_is_finished_for_all() -> None:
    needs(torch.float32)
    plain = network("llama")
    plain.model.layers[1].mlp.act_fn.register_forward_hook(lambda module, inputs, output: None)
    ids = torch.arange(FEW)[None]
    with torch.no_grad(), hastened(plain):
        expected = plain(ids).logits
        with asked(torch.arange(FEW) < 1):
            assert torch.equal(plain(ids).logits, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rotation_is_exchanged_in_float32_alone_and_put_back(dtype: torch.dtype) -> None:
    usual, plain, other = (
        modeling_llama.apply_rotary_pos_emb,
        network("llama").to(dtype),
        network("llama").to(dtype),
    )
    outer, inner = hastened(plain), hastened(other)
    outer.__enter__()
    assert (modeling_llama.apply_rotary_pos_emb is rotated) == (dtype == torch.float32)
    inner.__enter__()  # as two generators would that are read in turn
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert modeling_llama.apply_rotary_pos_emb is usual
    with pytest.raises(RuntimeError, match="within"), hastened(plain):
        raise RuntimeError("within")
    assert modeling_llama.apply_rotary_pos_emb is usual


def test_layers_are_laid_out_beforehand_as_they_would_be_when_they_meet_many_rows() -> None:
    needs(torch.float32)
    plain, inputs = network("gpt2"), torch.arange(FEW)[None]
    with torch.no_grad(), packed(plain):
        layers = [part for part in plain.modules() if isinstance(part, PackedLinear | PackedConv1D)]
        expected = plain(inputs).logits
        for layer in layers:
            layer.packed = None
        lay_out(plain)
        assert layers
        assert all(layer.packed is not None for layer in layers)
        assert torch.equal(plain(inputs).logits, expected)


# peft 0.21 asks transformers 5.23 for it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_a_part_with_an_adapter_inside_is_not_fused() -> None:
    needs(torch.float32)
    settings: dict[str, Any] = {
        "init_lora_weights": False,
        "target_modules": ["up_proj"],
        "layers_to_transform": [0],
    }
    adapted = get_peft_model(network("llama"), LoraConfig(**settings))
    ids = torch.arange(FEW)[None]
    with torch.no_grad():
        assert fused_parts(adapted) == 1
        expected = adapted(ids).logits
        with hastened(adapted):
            torch.testing.assert_close(adapted(ids).logits, expected, atol=1e-4, rtol=1e-4)


def test_a_part_with_a_hook_inside_is_not_fused() -> None:
    needs(torch.float32)
    plain, seen = network("llama"), []
    plain.model.layers[1].mlp.act_fn.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        assert fused_parts(plain) == 1
        with hastened(plain):
            plain(torch.arange(FEW)[None])
    assert len(seen) == 1

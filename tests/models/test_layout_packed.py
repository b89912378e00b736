"""GPTQ and AWQ checkpoints, four bits packed into words, score as the numbers that they stand for."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from figlang.evaluation.how import origin
from tests.models.test_layout import llama, loaded, scores, stored_by
from tests.needing import needs

needs("gptqmodel", "reads GPTQ and AWQ; it needs its own release of torch")
needs("optimum", "transformers reads GPTQ through it")

GROUP = 32  # inputs that share a scale and a zero
ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # in which AWQ puts eight numbers into a word


def packed(numbers: torch.Tensor) -> torch.Tensor:
    """Eight numbers of four bits along the last axis in one word of 32 bits, the first one lowest."""
    words = numbers.to(torch.int64).unflatten(-1, (-1, 8)) << (4 * torch.arange(8))
    return words.sum(-1).to(torch.int32)


def cut(weight_OI: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes (I, O), zeros and scales (I / GROUP, O) of a weight, and the weight (O, I) that they mean."""
    groups = weight_OI.float().t().unflatten(0, (-1, GROUP))
    low, high = groups.amin(1), groups.amax(1)
    scales = ((high - low) / 15).half().float()
    zeros = (-low / scales).round().clamp(0, 15)
    codes = (groups / scales[:, None] + zeros[:, None]).round().clamp(0, 15)
    meant = ((codes - zeros[:, None]) * scales[:, None]).flatten(0, 1).t()
    return codes.flatten(0, 1), zeros, scales, meant


def gptq(codes: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor) -> dict[str, torch.Tensor]:
    # This format writes a zero as one less, so 0 comes out as 15.
    return {
        "qweight": packed(codes.t().contiguous()).t().contiguous(),
        "qzeros": packed((zeros - 1) % 16),
        "scales": scales.half(),
        "g_idx": (torch.arange(len(codes)) // GROUP).to(torch.int32),
    }


def awq(codes: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor) -> dict[str, torch.Tensor]:
    def ordered(numbers: torch.Tensor) -> torch.Tensor:
        return packed(numbers.unflatten(-1, (-1, 8))[..., ORDER].flatten(-2))

    return {"qweight": ordered(codes), "qzeros": ordered(zeros), "scales": scales.half()}


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_four_bits_in_words_score_as_the_numbers_that_they_stand_for(tmp_path: Path, method: str) -> None:
    few, plain = llama(tmp_path / "few"), llama(tmp_path / "plain")
    weights, stored, meant = load_file(few / "model.safetensors"), {}, {}
    for name, weight in weights.items():
        if not name.endswith("proj.weight"):
            stored[name] = meant[name] = weight
            continue
        codes, zeros, scales, number = cut(weight)
        parts = (gptq if method == "gptq" else awq)(codes, zeros, scales)
        stored |= {name.removesuffix("weight") + part: values for part, values in parts.items()}
        meant[name] = number
    settings = {"bits": 4, "group_size": GROUP, "desc_act": False, "sym": False}
    if method == "awq":
        settings |= {"zero_point": True, "version": "gemm"}
    stored_by(few, stored, quant_method=method, **settings)
    numbers = {name: each.float() for name, each in meant.items()}
    save_file(numbers, plain / "model.safetensors", {"format": "pt"})
    model = loaded(few)
    assert origin(model)["file"] == method
    exact = scores(loaded(plain, "float32"))

    def error(found: torch.Tensor) -> float:
        return float((found - exact).abs().median())

    # Its kernels compute in 16 bits: it is as exact as a network in 16 bits. Four bits cost far more.
    assert error(scores(model)) < 2 * error(scores(loaded(plain)))
    assert error(scores(model)) < error(scores(loaded(llama(tmp_path / "given"), "float32"))) / 5

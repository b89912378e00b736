"""Dropout by places: its share, its independence, its scale and its gradient."""

import pytest
import torch
from torch import Tensor

from figlang.cpu import dropout
from figlang.cpu.dropout import FastDropout, dropped, places, places_of


def kept(count: int, p: float) -> Tensor:
    """1 for each place that is kept, 0 for each that is dropped."""
    return torch.ones(count).index_fill_(0, places(count, p), 0)


@pytest.mark.parametrize("p", [0.0001, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("lane", range(4))
def test_the_right_share_is_dropped_in_each_lane(p: float, lane: int) -> None:
    torch.manual_seed(0)
    lanes = kept(4_000_000, p).view(-1, 4)[:, lane]
    assert float(lanes.mean()) == pytest.approx(1 - p, abs=5 * (p * (1 - p) / len(lanes)) ** 0.5)


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(0)
    signs = 2 * kept(1_000_000, 0.5) - 1
    for distance in (1, 2, 3, 4, 5):
        assert abs(float((signs[distance:] * signs[:-distance]).mean())) < 0.005


def test_the_number_of_dropped_places_varies_as_binomial_numbers_do() -> None:
    torch.manual_seed(0)
    numbers = torch.tensor([float(len(places(500, 0.1))) for _ in range(4000)])
    assert float(numbers.mean()) == pytest.approx(50, abs=0.5)
    assert float(numbers.var()) == pytest.approx(45, rel=0.1)


@pytest.mark.parametrize("count", [1, 7, 10_000])
@pytest.mark.parametrize("p", [0.1, 0.7])
def test_places_are_ascending_and_within(count: int, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for margin in (6, -1000):  # enough draws at once, and eight at a time
        monkeypatch.setattr(dropout, "MARGIN", margin)
        torch.manual_seed(0)
        at = places(count, p)
        assert (at.diff() > 0).all()
        assert ((at >= 0) & (at < count)).all()
        assert len(at) == pytest.approx(count * p, abs=5 * (count * p * (1 - p)) ** 0.5 + 1)


def test_several_tensors_have_the_places_of_one_draw_for_each_probability() -> None:
    torch.manual_seed(0)
    first, none, second, third, empty = places_of([(500, 0.1), (80, 0.0), (700, 0.3), (900, 0.1), (0, 0.1)])
    torch.manual_seed(0)
    joint, other = places(1400, 0.1), places(700, 0.3)
    assert none is None
    assert first is not None
    assert third is not None
    assert empty is not None
    assert torch.equal(torch.cat([first, third + 500]), joint)
    assert torch.equal(second, other)
    assert third.min() >= 0
    assert not len(empty)


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_of_any_shape_and_type(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    output = dropped(torch.ones(shape, dtype=dtype), 0.25)
    assert (output.shape, output.dtype) == (shape, dtype)
    assert set(output.flatten().tolist()) <= {0.0, float(torch.tensor(1 / 0.75, dtype=dtype))}


def test_dropout_of_a_turned_tensor_drops_single_numbers() -> None:
    torch.manual_seed(0)
    output = dropped(torch.ones(400, 300).t(), 0.1)
    assert (output.shape, output.is_contiguous()) == ((300, 400), True)
    assert float((output == 0).float().mean()) == pytest.approx(0.1, abs=0.01)


def test_everything_is_dropped_at_one() -> None:
    input = torch.ones(100, requires_grad=True)
    output = dropped(input, 1.0)
    output.sum().backward()
    assert not output.any()
    assert input.grad is not None
    assert not input.grad.any()


def test_dropout_is_seeded_and_off_in_evaluation() -> None:
    drop, ones = FastDropout(0.1), torch.ones(1000)

    def drawn(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return drop(ones)  # type: ignore[no-any-return]

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(drop.eval()(ones), ones)
    assert FastDropout(0.0)(ones) is ones


def test_the_gradient_of_dropout_is_its_mask() -> None:
    input = torch.randn(1000, requires_grad=True)
    output = FastDropout(0.3)(input)
    output.sum().backward()
    torch.testing.assert_close(output, input * input.grad)

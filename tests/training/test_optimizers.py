"""Optimizers and schedules against a loop of their libraries, with the rates that each weight must have."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest
import torch
from lion_pytorch import Lion
from peft import LoraConfig, get_peft_model
from peft.optimizers import create_loraplus_optimizer
from schedulefree import AdamWScheduleFree
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    BertConfig,
    BertModel,
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_scheduler,
)

from figlang.config import MethodConfig, packages
from figlang.config.groups.method import OPTIMIZERS
from figlang.errors import FiglangError
from figlang.training import memory
from figlang.training.cross_entropy import divergence, smoothed
from figlang.training.optimizers import Together, optimizer
from figlang.training.schedules import schedule

STEPS = 12


class Small(nn.Module):
    """An embedding, two numbered layers and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(7, 6)
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.head = nn.Linear(6, 3)

    def forward(self, ids: Tensor) -> Tensor:
        states = self.embed(ids)
        for layer in self.layers:
            states = layer(states).tanh()
        scores: Tensor = self.head(states)
        return scores


def moved(make: Callable[[nn.Module], tuple[Any, Any]]) -> list[Tensor]:
    """The weights after STEPS steps."""
    network = Small()
    each, rates = make(network)
    if hasattr(each, "train"):
        each.train()
    draw = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        ids = torch.randint(7, (5,), generator=draw)
        each.zero_grad()
        cross_entropy(network(ids), ids % 3).backward()
        each.step()
        rates.step()
    return list(network.parameters())


def made_for(network: nn.Module, method: MethodConfig) -> tuple[Any, Any]:
    """The optimizer and the schedule of a method."""
    made = optimizer(method, network.named_parameters(), STEPS)
    return made, schedule(method, made, STEPS)


def ours(**settings: Any) -> list[Tensor]:
    return moved(lambda network: made_for(network, MethodConfig(lr=0.01, **settings)))


def same(one: Sequence[Tensor], other: Sequence[Tensor]) -> None:
    for left, right in zip(one, other, strict=True):
        torch.testing.assert_close(left, right, atol=0, rtol=0)


def test_lion_is_the_librarys() -> None:
    def theirs(network: nn.Module) -> tuple[Any, Any]:
        made = Lion(network.parameters(), lr=0.01, weight_decay=0.1)
        return made, get_scheduler("cosine", made, 2, STEPS)

    same(ours(optimizer="lion", weight_decay=0.1, schedule="cosine", warmup=0.2), moved(theirs))


def test_schedule_free_is_the_librarys_with_its_own_warm_up() -> None:
    def theirs(network: nn.Module) -> tuple[Any, Any]:
        made = AdamWScheduleFree(network.parameters(), lr=0.01, warmup_steps=3)
        return made, get_constant_schedule_with_warmup(made, 0)

    same(ours(optimizer="schedule_free", schedule="constant", warmup=0.25), moved(theirs))


def test_muon_moves_the_matrices_of_layers_and_adamw_the_rest() -> None:
    def theirs(network: nn.Module) -> tuple[Any, Any]:
        named = dict(network.named_parameters())
        hidden = [named[f"layers.{layer}.weight"] for layer in (0, 1)]
        others = [each for each in named.values() if not any(each is matrix for matrix in hidden)]
        common = {"lr": 0.01, "weight_decay": 0.1}
        muon = torch.optim.Muon(hidden, adjust_lr_fn="match_rms_adamw", **common)
        adamw = torch.optim.AdamW(others, fused=True, **common)
        both = [get_cosine_schedule_with_warmup(each, 2, STEPS) for each in (muon, adamw)]

        class Both:
            def __init__(self, parts: Sequence[Any]) -> None:
                self.parts = parts

            def step(self) -> None:
                for part in self.parts:
                    part.step()

            def zero_grad(self) -> None:
                for part in self.parts:
                    part.zero_grad()

        return Both([muon, adamw]), Both(both)

    same(ours(optimizer="muon", weight_decay=0.1, schedule="cosine", warmup=0.2), moved(theirs))


@pytest.mark.parametrize("kind", ["adamw", "muon", "lion", "schedule_free"])
def test_a_state_that_is_loaded_goes_on_alike(kind: str) -> None:
    method = MethodConfig(
        lr=0.01, optimizer=kind, schedule="constant" if kind == "schedule_free" else "wsd", layer_decay=0.9
    )

    def steps(network: nn.Module, made: Any, rates: Any, count: int) -> None:
        if hasattr(made, "train"):
            made.train()
        for step in range(count):
            ids = torch.arange(5) + step % 2
            made.zero_grad()
            cross_entropy(network(ids), ids % 3).backward()
            made.step()
            rates.step()

    network = Small()
    made, rates = made_for(network, method)
    steps(network, made, rates, 4)
    again = Small()
    again.load_state_dict({name: value.clone() for name, value in network.state_dict().items()})
    remade, rates_again = made_for(again, method)
    remade.load_state_dict(deepcopy(made.state_dict()))
    rates_again.load_state_dict(rates.state_dict())
    steps(network, made, rates, 4)
    steps(again, remade, rates_again, 4)
    same(list(network.parameters()), list(again.parameters()))


@pytest.mark.parametrize("name", ["linear", "cosine", "constant", "wsd"])
def test_rates_rise_and_end_as_their_schedule_says(name: str) -> None:
    method = MethodConfig(lr=1.0, schedule=name, warmup=0.2, decay=0.3)
    made = optimizer(method, Small().named_parameters(), 20)
    rates = schedule(method, made, 20)
    found = []
    for _ in range(20):
        found.append(made.param_groups[0]["lr"])
        made.step()
        rates.step()
    last = made.param_groups[0]["lr"]
    assert max(found[:4]) <= found[4] == 1.0
    assert last == pytest.approx(1.0 if name == "constant" else 0.0, abs=1e-12)
    assert (found[13] == 1.0) == (name in ("constant", "wsd"))
    if name == "wsd":
        reference = get_scheduler(
            "warmup_stable_decay",
            torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0),
            4,
            20,
            scheduler_specific_kwargs={"num_decay_steps": 6},
        )
        assert found[15] == pytest.approx(reference.lr_lambdas[0](15))


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft's
def test_lora_plus_gives_the_rates_of_peft() -> None:
    settings = LoraConfig(r=2, target_modules=["query", "value"])
    network = get_peft_model(
        BertModel(
            BertConfig(
                vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8
            )
        ),
        settings,
    )
    theirs = create_loraplus_optimizer(network, torch.optim.AdamW, lr=0.01, loraplus_lr_ratio=16)
    made = optimizer(MethodConfig(lr=0.01), network.named_parameters(), 10, ratio=16)

    def rates(each: Any) -> dict[int, float]:
        return {id(weight): group["lr"] for group in each.param_groups for weight in group["params"]}

    assert rates(made) == rates(theirs)
    assert sorted(set(rates(made).values())) == [0.01, 0.16]


def test_muon_needs_layers_and_a_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FiglangError, match="matrices of numbered layers"):
        optimizer(MethodConfig(optimizer="muon"), nn.Linear(2, 2).named_parameters(), 1)
    monkeypatch.setitem(__import__("sys").modules, "lion_pytorch", None)
    with pytest.raises(FiglangError, match=r"pip install 'figlang\[optimizers\]'"):
        optimizer(MethodConfig(optimizer="lion"), Small().named_parameters(), 1)


def test_groups_of_several_optimizers_are_those_that_step() -> None:
    method = MethodConfig(optimizer="muon")
    made = optimizer(method, Small().named_parameters(), 5)
    assert isinstance(made, Together)
    made.param_groups[0]["lr"] = 0.5
    assert made.parts[0].param_groups[0]["lr"] == 0.5
    made.load_state_dict(made.state_dict())
    made.param_groups[0]["lr"] = 0.25
    assert made.parts[0].param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"optimizer": "schedule_free"}, "add method.schedule=constant"),
        ({"optimizer": "schedule_free", "schedule": "constant", "ema": 0.9}, "leave method.ema out"),
        ({"schedule": "wsd", "warmup": 0.5, "decay": 0.6}, "more than all steps"),
        ({"name": "lm", "label_smoothing": 0.1}, "leave it out of method=lm"),
        ({"name": "lm", "r_drop": 1.0}, "leave it out of method=lm"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        MethodConfig(**settings)


def test_smoothing_is_torchs_where_all_items_have_all_options() -> None:
    scores, gold = torch.randn(5, 4), torch.tensor([0, 3, 1, 2, 2])
    torch.testing.assert_close(smoothed(scores, gold, 0.1), cross_entropy(scores, gold, label_smoothing=0.1))


def test_smoothing_spreads_over_the_options_that_an_item_has() -> None:
    scores = torch.tensor([[1.0, 2.0, -torch.inf], [0.5, 0.0, 3.0]], requires_grad=True)
    gold = torch.tensor([0, 2])
    loss = smoothed(scores, gold, 0.1)
    alone = [smoothed(scores[:1, :2], gold[:1], 0.1), smoothed(scores[1:], gold[1:], 0.1)]
    torch.testing.assert_close(loss, torch.stack(alone).mean())
    loss.backward()
    assert scores.grad is not None
    assert bool(scores.grad.isfinite().all())


def test_divergence_is_that_of_torch_and_zero_of_itself() -> None:
    one, other = torch.randn(2, 6, 3).unbind()
    logs = one.log_softmax(1), other.log_softmax(1)
    both = [
        nn.functional.kl_div(left, right, log_target=True, reduction="batchmean")
        for left, right in (logs, logs[::-1])
    ]
    torch.testing.assert_close(divergence(one, other), (both[0] + both[1]) / 2)
    assert float(divergence(one, one)) == 0
    padded = [torch.cat([each, torch.full((6, 1), -torch.inf)], 1) for each in (one, other)]
    torch.testing.assert_close(divergence(*padded), divergence(one, other))


def test_every_optimizer_is_known_by_the_estimate_of_memory_and_is_not_another_one() -> None:
    assert set(OPTIMIZERS) == set(memory.KEPT) == set(memory.STATES)
    weights = [("layers.0.weight", nn.Parameter(torch.ones(4, 4)))]
    for name in set(OPTIMIZERS) - {"adamw", *packages.OPTIMIZERS}:
        made = optimizer(MethodConfig(name="contrastive", optimizer=name), weights, 10)
        assert type(made) is not torch.optim.AdamW, name

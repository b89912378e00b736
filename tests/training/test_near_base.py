"""The anchor that keeps a network near its base: by hand, where it is nothing, and what it holds back."""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

from figlang.config import MethodConfig
from figlang.cpu.hasten import hasten, release
from figlang.scoring.requests import Request
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringScorer
from figlang.training.anchor_texts import Turns
from figlang.training.anchoring import _remade
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.near_base import NearBase, divergence
from tests.causal_models import network
from tests.running import train
from tests.sampled import sampled
from tests.scoring.tree.test_branching import ITEMS, SCORINGS, encoder

# PEFT's
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
STRINGS = encoder(SCORINGS["answer"], sharing=True)
TEXTS = [
    "The oven is hot.",
    "She put the kettle on the stove.",
    "the then",
    "Seven hens oversee the stone oven.",
]


def adapted(changed: bool = False, dropout: float = 0.3) -> PeftModel:
    torch.manual_seed(0)
    settings = LoraConfig(r=2, lora_dropout=dropout, target_modules=["q_proj", "down_proj"])
    built = get_peft_model(network("llama"), settings)
    for name, parameter in built.named_parameters():
        if changed and "lora_B" in name:
            nn.init.normal_(parameter, std=0.3)
    assert isinstance(built, PeftModel)
    return built


def module(built: Any, weight: float = 1.0, texts: int = 3, remade: bool = False) -> CrossEntropyModule:
    method = MethodConfig(anchor="kl", anchor_weight=weight, anchor_texts=texts)
    score = StringScorer(dissect(network("llama")))
    near = partial(
        NearBase,
        examples=STRINGS.encode_lines(TEXTS),
        at_once=texts,
        collate=STRINGS.collate,
        read=score.logits,
        apart=divergence,
        remade=remade,
    )
    return CrossEntropyModule(built, method, score, 10, 0, near=near).train()


def copies(found: CrossEntropyModule) -> list[nn.Module]:
    assert found._near is not None
    return [] if found._near._copy is None else [found._near._copy]


def anchor(found: CrossEntropyModule) -> float:
    """What the loss has besides the choices, by the same draws of dropout."""
    batch = STRINGS.collate(STRINGS.encode(ITEMS))
    torch.manual_seed(7)
    both = found.loss(batch)["loss"]
    near, found._near = found._near, None
    torch.manual_seed(7)
    alone = found.loss(batch)["loss"]
    found._near = near
    return float((both - alone).detach())


def test_the_divergence_by_hand() -> None:
    base = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    own = torch.tensor([[0.25, 0.75], [0.25, 0.75]]).log()
    # 0.5 ln 2 + 0.5 ln (2/3) in the first place, nothing in the second one
    expected = (0.5 * 0.693147 - 0.5 * 0.405465) / 2
    assert float(divergence(base, own + 3.0)) == pytest.approx(expected, abs=1e-5)
    assert float(divergence(base, base)) == 0
    assert float(divergence(own, base)) != pytest.approx(float(divergence(base, own)), abs=1e-3)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("hastened", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_it_is_nothing_before_the_first_step(whole: bool, hastened: bool, rounded: bool) -> None:
    built = network("llama") if whole else adapted()
    found = module(built)
    if hastened:
        for each in (built, *copies(found)):
            hasten(each)
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
        assert anchor(found) == 0
    for each in (built, *copies(found)):
        release(each)


def by_hand(base: Any, own: Any, numbers: list[int]) -> float:
    values = []
    for number in numbers:
        tokens, _ = STRINGS.requests.encode([Request("", TEXTS[number])])
        ids = torch.tensor([tokens[0].ids[:-1]])
        with torch.no_grad():
            first, second = (each(ids).logits[0].double().log_softmax(-1) for each in (base, own))
        places = slice(tokens[0].start - 1, None)
        values += (first.exp() * (first - second)).sum(-1)[places].tolist()
    return sum(values) / len(values)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_its_value_is_the_mean_over_the_tokens_of_the_texts_of_the_step(weight: float) -> None:
    built = adapted(changed=True)
    found = module(built, weight)
    numbers = list(Turns(len(TEXTS), 3, 0).of(0))
    expected = by_hand(network("llama"), built.eval(), numbers)
    built.train()
    assert expected > 0.001
    assert anchor(found) == pytest.approx(weight * expected, rel=1e-3)


def test_each_step_reads_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    built = adapted(changed=True)
    found = module(built)
    at_steps = []
    for step in (0, 1):
        monkeypatch.setattr(CrossEntropyModule, "global_step", step)
        numbers = list(Turns(len(TEXTS), 3, 0).of(step))
        expected = by_hand(network("llama"), built.eval(), numbers)
        built.train()
        assert anchor(found) == pytest.approx(expected, rel=1e-3)
        at_steps.append(expected)
    assert at_steps[0] != pytest.approx(at_steps[1], rel=1e-2)


def test_every_text_comes_once_before_one_comes_again() -> None:
    turns = Turns(4, 3, seed=0)
    seen: list[int] = []
    for step in range(8):
        assert len(turns.of(step)) == 3
        seen += turns.of(step)
    for start in range(0, 24, 4):
        assert sorted(seen[start : start + 4]) == [0, 1, 2, 3]
    assert seen[:4] != seen[4:8] or seen[4:8] != seen[8:12]
    assert [list(turns.of(step)) for step in range(8)] != [list(Turns(4, 3, 1).of(step)) for step in range(8)]


def test_processes_share_the_texts_of_a_step() -> None:
    turns = Turns(100, 7, seed=3)
    shares = [turns.of(5, rank, 3) for rank in range(3)]
    assert sorted(number for share in shares for number in share) == sorted(turns.of(5))
    assert [len(share) for share in shares] == [3, 2, 2]
    # One that has no share reads a text of another: it must have a loss too.
    assert list(Turns(100, 2, seed=3).of(5, 2, 3)) == list(Turns(100, 2, seed=3).of(5))[:1]


def stepped(found: CrossEntropyModule, steps: int = 4) -> dict[str, torch.Tensor]:
    batch = STRINGS.collate(STRINGS.encode(ITEMS))
    trained = [parameter for parameter in found.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-3)
    torch.manual_seed(3)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = found.loss(batch)["loss"]
        loss.backward()
        optimizer.step()
    return {name: value.clone() for name, value in found.network.state_dict().items()}


@pytest.mark.parametrize("whole", [False, True])
def test_without_weight_the_training_is_bit_for_bit_that_without_it(whole: bool) -> None:
    def built() -> Any:
        return network("llama") if whole else adapted()

    score = StringScorer(dissect(network("llama")))
    free = stepped(CrossEntropyModule(built(), MethodConfig(), score, 10, 0).train())
    same = stepped(module(built(), weight=0.0))
    other = stepped(module(built(), weight=5.0))
    assert all(torch.equal(same[name], value) for name, value in free.items())
    assert any(not torch.equal(other[name], value) for name, value in free.items())


def test_a_heavy_weight_holds_the_network() -> None:
    moved = {}
    for weight in (0.0, 20.0):
        built = adapted(dropout=0.0)
        stepped(module(built, weight), 15)
        moved[weight] = by_hand(network("llama"), built.eval(), [0, 1, 2, 3])
    assert 0 < moved[20.0] < 0.5 * moved[0.0]


def test_adapters_need_no_copy_and_a_copy_is_not_saved() -> None:
    assert copies(module(adapted())) == []
    for found in (module(network("llama")), module(adapted(), remade=True)):
        (base,) = copies(found)
        assert not any(parameter.requires_grad for parameter in base.parameters())
        assert found.state_dict().keys() == {f"network.{name}" for name in found.network.state_dict()}


def test_what_trains_stays_what_trains() -> None:
    built = adapted()
    before = {name: parameter.requires_grad for name, parameter in built.named_parameters()}
    found = module(built)
    found.loss(STRINGS.collate(STRINGS.encode(ITEMS)))["loss"].backward()
    assert {name: parameter.requires_grad for name, parameter in built.named_parameters()} == before
    assert all(part.training for part in built.modules())


WORDS = ["model=smollm2", "method.anchor=kl", "method.lr=0.01", "method.anchor_texts=2"]


@pytest.mark.parametrize(
    "more", sampled([["peft=lora"], ["peft=lora", "peft.init=pissa"], []], ["peft=lora", "peft.init=pissa"])
)
def test_a_training_reads_the_texts_of_another_data_set(tmp_path: Path, more: list[str]) -> None:
    result = train(tmp_path, *WORDS, *more, "run=near")
    assert result.returncode == 0, result.stderr
    notes = json.loads((tmp_path / "near" / "metrics.json").read_text())["data"]["notes"]
    assert any("method.anchor=kl reads" in note and "winogrande_m" in note for note in notes), notes


def test_settings_that_do_not_fit_are_named(tmp_path: Path) -> None:
    for words, said in {
        "method.anchor_texts=3": "method.anchor_texts changes nothing without method.anchor=kl or vectors",
        "method.anchor=kl method.anchor_data=nothing": "method.anchor_data=nothing",
        "method.anchor=kl method.anchor_data=snli": "method.anchor_data=snli has premises with hypotheses",
        "method.anchor=kl trainer.strategy=fsdp": "method.anchor=kl does not go with trainer.strategy=fsdp",
        "method.anchor=lm method.r_drop=1": "method.r_drop does not go with method.anchor=lm",
        "method.anchor=positive method.label_smoothing=0.1": "method.label_smoothing does not go with",
        "method.anchor=vectors": "method.anchor=vectors is for encoders with method.format=dual",
    }.items():
        result = train(tmp_path, "model=smollm2", *words.split())
        assert said in result.stderr, (words, result.stderr)


@pytest.mark.parametrize(
    ("init", "remade"),
    [("default", False), ("eva", False), ("pissa", True), ("olora", True), ("corda", True), ("loftq", True)],
)
def test_where_training_begins_from_other_weights_than_those_without_adapters(
    init: str, remade: bool
) -> None:
    def asked(stack: str, model: str = "pretrained") -> Any:
        return SimpleNamespace(
            peft=SimpleNamespace(init=init, stack=stack), model=SimpleNamespace(init=model)
        )

    assert _remade(asked("new")) is remade
    # Adapters that are trained further were made before: without them the network is the one below.
    assert _remade(asked("continue")) is False
    assert _remade(asked("continue", "tiny")) is remade, "a random network has no adapters to go on from"

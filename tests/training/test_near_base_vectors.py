"""The anchor that keeps vectors of sentences near the base's: by hand, where it is nothing, what it holds."""

import copy
import json
import math
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.commands.release import main as release_command
from figlang.config import MethodConfig, TrainConfig
from figlang.cpu.hasten import hasten, release
from figlang.scoring.encode import Batch, Encoded, Encoder
from figlang.scoring.head import Dual, pool
from figlang.training import anchoring
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.near_base import turned
from figlang.training.step_wide import StepWideModule
from tests.running import train
from tests.sampled import sampled
from tests.training.test_cross_entropy_shared_texts import OTHER, PAIR, built

__all__ = ["built"]

# PEFT's
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
Built = tuple[PreTrainedModel, PreTrainedTokenizerBase]
TEXTS = ["It was hot.", "The sun shone in every corner.", "The room was dark"]
KINDS = [CrossEntropyModule, StepWideModule]


def method(weight: float = 1.0, **more: Any) -> MethodConfig:
    return MethodConfig(
        format="dual", anchor="vectors", anchor_weight=weight, anchor_texts=len(TEXTS), **more
    )


def adapted(built: Built, changed: bool = False) -> PeftModel:
    torch.manual_seed(1)
    network = get_peft_model(_copied(built), LoraConfig(r=2, lora_dropout=0.3, target_modules="all-linear"))
    for name, parameter in network.named_parameters():
        if changed and "lora_B" in name:
            nn.init.normal_(parameter, std=0.3)
    assert isinstance(network, PeftModel)
    return network


def _copied(built: Built) -> PreTrainedModel:
    return copy.deepcopy(built[0])


def module(
    built: Built, network: nn.Module, settings: MethodConfig, kind: type[CrossEntropyModule]
) -> CrossEntropyModule:
    config = TrainConfig(method=settings)
    near = anchoring.of_vectors(config, *texts(built), Dual(20.0))
    return kind(network, settings, Dual(20.0), 1, 0, near=near).train()  # type: ignore[arg-type]


def texts(built: Built) -> tuple[list[Encoded], Encoder]:
    encoder = Encoder(built[1], "dual", "clean", 80)
    return encoder.encode_alone([(text, False) for text in TEXTS]), encoder


def batch_of(built: Built) -> Batch:
    encoder = Encoder(built[1], "dual", "clean", 80)
    return encoder.collate(encoder.encode([*PAIR, OTHER])[0])


def anchor(found: CrossEntropyModule, batch: Batch) -> float:
    """What the loss has besides the choices, by the same draws of dropout."""
    losses, near = [], found._near
    for each in (None, near):
        found._near = each
        torch.manual_seed(7)
        losses.append(float(found.loss(batch)["loss"].detach()))
    return losses[1] - losses[0]


def by_hand(built: Built, base: Any, own: Any) -> float:
    """1 less the mean cosine of the vectors of each text, read alone."""
    cosines = []
    for text in TEXTS:
        inputs = built[1](text.capitalize(), return_tensors="pt")
        mask = inputs["attention_mask"]
        with torch.no_grad():
            one, other = (
                pool(each(input_ids=inputs["input_ids"], attention_mask=mask).last_hidden_state, mask, "mean")
                for each in (base, own)
            )
        cosines.append(float((one @ other.T).squeeze() / one.norm() / other.norm()))
    return 1 - sum(cosines) / len(cosines)


def test_vectors_that_have_turned_by_hand() -> None:
    base = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    own = torch.tensor([[0.0, 3.0], [0.0, 5.0]])
    assert float(turned(base, own)) == pytest.approx(0.5), "one by a right angle, one not at all"
    half = math.radians(60)
    assert float(turned(base[:1], torch.tensor([[math.cos(half), math.sin(half)]]))) == pytest.approx(0.5)
    # For vectors of length one it is half of their squared distance.
    one, other = (nn.functional.normalize(torch.randn(5, 7), dim=1) for _ in range(2))
    assert float(turned(one, other)) == pytest.approx(float(((one - other) ** 2).sum(1).mean()) / 2, abs=1e-6)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("hastened", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_it_is_nothing_before_the_first_step(
    built: Built, whole: bool, hastened: bool, rounded: bool
) -> None:
    network = (_copied(built) if whole else adapted(built)).float()
    found = module(built, network, method(), CrossEntropyModule)
    assert found._near is not None
    if hastened:
        hasten(network)
        found._near.start(torch.device("cpu"))
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
        assert anchor(found, batch_of(built)) == pytest.approx(0, abs=1e-6)
    found._near.end()
    release(network)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_its_value_is_that_of_the_texts_of_the_step(
    built: Built, kind: type[CrossEntropyModule], weight: float
) -> None:
    network = adapted(built, changed=True).double()
    more = {"direction": "both"} if kind is StepWideModule else {}
    found = module(built, network, method(weight, **more), kind)
    expected = by_hand(built, _copied(built).double().eval(), network.eval())
    network.train()
    assert expected > 0.01
    assert anchor(found, batch_of(built)) == pytest.approx(weight * expected, rel=1e-3)


def test_it_goes_with_r_drop_and_is_no_part_of_a_validation(built: Built) -> None:
    network = adapted(built, changed=True).double()
    found = module(built, network, method(2.0, r_drop=1.0), CrossEntropyModule)
    expected = by_hand(built, _copied(built).double().eval(), network.eval())
    network.train()
    assert anchor(found, batch_of(built)) == pytest.approx(2 * expected, rel=1e-3)
    found.eval()
    assert anchor(module(built, network, method(), CrossEntropyModule).eval(), batch_of(built)) == 0


def test_a_heavy_weight_holds_the_vectors(built: Built) -> None:
    moved = {}
    for weight in (0.0, 50.0):
        network = _copied(built).double()
        found = module(built, network, method(weight), CrossEntropyModule)
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
        torch.manual_seed(3)
        for _ in range(15):
            optimizer.zero_grad()
            found.loss(batch_of(built))["loss"].backward()
            optimizer.step()
        moved[weight] = by_hand(built, _copied(built).double().eval(), network.eval())
    assert 0 < moved[50.0] < 0.5 * moved[0.0]


WORDS = ["method.format=dual", "method.anchor=vectors", "method.lr=0.01", "method.anchor_texts=2"]


@pytest.mark.parametrize(
    "more",
    sampled(
        [["peft=lora"], ["peft=lora", "peft.init=pissa"], [], ["method.negatives=batch"]],
        ["peft=lora", "peft.init=pissa"],
        ["method.negatives=batch"],
    ),
)
def test_a_training_reads_the_texts_of_another_data_set(tmp_path: Path, more: list[str]) -> None:
    result = train(tmp_path, *WORDS, *more, "run=near")
    assert result.returncode == 0, result.stderr
    notes = json.loads((tmp_path / "near" / "metrics.json").read_text())["data"]["notes"]
    assert any("method.anchor=vectors reads" in note and "winogrande_m" in note for note in notes), notes
    manifest = json.loads((tmp_path / "near" / "model" / "figlang.json").read_text())
    assert manifest["method"].startswith("contrastive-anchored")


def test_cards_of_a_run_and_of_its_release_say_that_texts_of_an_anchor_were_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path, *WORDS, "peft=lora", "run=near/seed0").returncode == 0
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["release", "run=near/seed0", "name=kept", "against=[]"])
    release_command()
    said = "The texts of winogrande_m, which an anchor read, were not looked at."
    for card in ("near/seed0/model/README.md", "checkpoints/kept/README.md"):
        assert said in (tmp_path / card).read_text(encoding="utf-8"), card


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("method.format=pair", "method.anchor=vectors is for encoders with method.format=dual"),
        ("model=smollm2", "method.anchor=vectors is for encoders with method.format=dual"),
    ],
)
def test_settings_that_do_not_fit_are_named(tmp_path: Path, words: str, said: str) -> None:
    result = train(tmp_path, "method.anchor=vectors", *words.split())
    assert said in result.stderr, result.stderr


def test_the_order_of_the_texts_is_that_of_the_seed(built: Built) -> None:
    config = TrainConfig(method=MethodConfig(format="dual", anchor="vectors", anchor_texts=1))
    near = anchoring.of_vectors(config, *texts(built), Dual(20.0))
    assert isinstance(near, partial)
    network = adapted(built, changed=True).double().train()
    distances = [
        [float(near(network, seed).distance(step, 0, 1, torch.device("cpu")).detach()) for step in range(3)]
        for seed in range(8)
    ]
    assert all(sorted(each) == pytest.approx(sorted(distances[0])) for each in distances)
    assert any(each != pytest.approx(distances[0]) for each in distances)

"""Settings of a training that do not agree, and those that presets of trainer= leave open."""

import logging

import pytest

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.training import agreement


def asked(*words: str) -> TrainConfig:
    return compose("train", TrainConfig, ["model=minilm", "method.format=dual", *words])


def refused(*words: str) -> str:
    with pytest.raises(FiglangError) as error:
        agreement.check(agreement.settled(asked(*words)))
    return str(error.value)


@pytest.mark.parametrize(
    ("words", "low"),
    [
        ("method.lr=2e-5 peft=lora", True),
        ("method.lr=2e-5 peft=ia3", True),
        ("method.lr=1e-4 peft=lora", False),
        ("method.lr=2e-5", False),
        ("method.lr=2e-5 peft=lora model.init=tiny", False),
    ],
)
def test_a_rate_for_all_weights_is_said_to_be_low_for_adapters(words: str, low: bool) -> None:
    said = agreement.low_rate(asked(*words.split()))
    assert said.startswith("method.lr=2e-5 is low for adapters, which learn little below 1e-4") == low
    assert bool(said) == low


@pytest.mark.parametrize("words", ["direction=both", "negatives=batch"])
def test_a_card_cuts_no_steps_whose_items_are_compared(words: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    settled = agreement.settled(asked("trainer=gpu_80gb", f"method.{words}"))
    assert settled.method.accumulate == "1"
    assert caplog.messages == [f"method.accumulate=1: method.{words} compares all items of a step"]
    agreement.check(settled)


def test_a_card_cuts_other_steps() -> None:
    assert agreement.settled(asked("trainer=gpu_80gb")).method.accumulate == "auto"
    causal = compose("train", TrainConfig, ["model=smollm2", "trainer=gpu_80gb", "method.direction=both"])
    assert agreement.settled(causal) == causal


def test_weights_that_are_shared_out_are_not_computed_again() -> None:
    given = asked("trainer=gpu_24gb")
    assert agreement.settled(given).method.checkpointing is None, "the network decides"
    shared = asked("trainer=gpu_24gb", "trainer.strategy=fsdp")
    assert agreement.settled(shared).method.checkpointing is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trainer=gpu_24gb", "trainer.strategy=fsdp"], "method.accumulate=1"),
        (["trainer=gpu_24gb", "trainer.strategy=fsdp", "method.accumulate=1"], "method.optimizer=adamw"),
        (["trainer=gpu_80gb", "trainer.devices=2"], "method.accumulate=1"),
        (["trainer=fsdp", "method.checkpointing=true"], "method.checkpointing=false"),
    ],
)
def test_the_word_to_add_is_said(words: list[str], said: str) -> None:
    assert f"add {said}" in refused(*words)


def test_what_helps_is_told_from_what_does_not() -> None:
    line = refused("method.direction=both", "method.accumulate=2")
    assert "use method.accumulate=1" in line
    assert "or method.checkpointing" not in line


def test_a_step_has_no_more_parts_than_items() -> None:
    line = refused("method.batch_size=8", "method.accumulate=1000")
    assert line.endswith("take 8 (method.batch_size) or less")
    agreement.check(asked("method.batch_size=8", "method.accumulate=8"))


def test_fused_layers_need_a_gpu_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert refused("method.kernels=liger") == "method.kernels=liger needs a GPU; leave it out"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("figlang.training.saving.find_spec", lambda _: None)
    assert refused("method.kernels=liger").endswith("pip install 'figlang[liger]'")

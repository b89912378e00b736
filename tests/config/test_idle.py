"""Options that change nothing are refused, unless they are at their default or a search may give them an
effect."""

from typing import Any

import pytest

from figlang.config import DataConfig, MethodConfig, ModelConfig, TrainConfig
from figlang.config.given import Given
from figlang.config.idle import NEEDED, check_training
from figlang.errors import FiglangError

# Another value of each option, and what gives it an effect.
OTHER: dict[str, tuple[Any, dict[str, Any]]] = {
    "teacher_weight": (0.7, {"teacher": ["scores"]}),
    "temperature": (2.0, {"teacher": ["scores"]}),
    "similarity_weight": (0.5, {"teacher_model": ["runs/teacher"]}),
    "teacher_base": ("folder", {"teacher_model": ["runs/teacher"]}),
    "negatives_weight": (0.5, {"negatives": "batch"}),
    "anchor_weight": (0.3, {"anchor": "lm"}),
    "anchor_data": ("snli", {"anchor": "kl"}),
    "anchor_texts": (4, {"anchor": "kl"}),
    "held_out": (0.3, {"selection": "heldout"}),
    "patience": (3, {"selection": "validation"}),
    "scale": (10.0, {"format": "dual"}),
    "share_texts": (False, {"format": "dual"}),
    "decay": (0.5, {"schedule": "wsd"}),
}


def check(method: dict[str, Any], typed: list[str], multirun: bool = False) -> None:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path="somewhere"),
        data=DataConfig("figqa_medium", "figqa"),
        method=MethodConfig(**method),
    )
    check_training(config, Given(tuple(typed), {}, multirun))


def test_every_such_option_has_a_case() -> None:
    assert {name for needed in NEEDED for name in needed.names} == set(OTHER)


@pytest.mark.parametrize("name", OTHER)
def test_an_option_without_an_effect_is_refused(name: str) -> None:
    value, switch = OTHER[name]
    typed = f"method.{name}={value}"
    (other,) = switch
    with pytest.raises(
        FiglangError, match=rf"method\.{name} changes nothing without method\.{other}="
    ) as error:
        check({name: value}, [typed])
    assert "\n" not in str(error.value)
    check({name: value, **switch}, [typed])  # it has one
    check({name: value}, [])  # a preset has it, for whoever types the other one
    check({}, [f"method.{name}={getattr(MethodConfig(), name)}"])  # the default says nothing


@pytest.mark.parametrize("name", OTHER)
def test_a_search_over_both_options_goes_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value, switch = OTHER[name]
    (other,) = switch
    both = [f"method.{name}={value}", f"method.{other}={getattr(MethodConfig(), other)}"]
    check({name: value}, both, multirun=True)
    with pytest.raises(FiglangError):
        check({name: value}, both)
    with pytest.raises(FiglangError):
        check({name: value}, both[:1], multirun=True)
    monkeypatch.setenv("WANDB_SWEEP_ID", "abc")
    check({name: value}, both)

"""Options that change nothing are refused, unless they are at their default or a search may give them an
effect."""

from typing import Any

import pytest

from figlang.config import (
    DataConfig,
    EvaluateConfig,
    MethodConfig,
    ModelConfig,
    NliConfig,
    PromptConfig,
    ProtocolConfig,
    TrainConfig,
)
from figlang.config.given import Given
from figlang.config.idle import OF_EVALUATION, OF_TRAINING, check_evaluation, check_training
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
OF_NLI: dict[str, Any] = {"score": "entail", "on": "logits", "labels": ("entailment", "neutral")}


def check(method: dict[str, Any], typed: list[str], multirun: bool = False, **nli: Any) -> None:
    config = TrainConfig(
        model=ModelConfig(name="minilm", name_or_path="somewhere"),
        data=DataConfig("figqa_medium", "figqa"),
        method=MethodConfig(**method),
        nli=NliConfig(**nli),
    )
    check_training(config, Given(tuple(typed), {}, multirun))


def test_every_such_option_has_a_case() -> None:
    every = {f"method.{name}" for name in OTHER} | {f"nli.{name}" for name in OF_NLI}
    assert {name for needed in OF_TRAINING for name in needed.names} == every


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


@pytest.mark.parametrize("name", OF_NLI)
def test_options_of_nli_are_refused_in_other_trainings(name: str) -> None:
    given = {name: OF_NLI[name]}
    with pytest.raises(FiglangError, match=rf"nli\.{name} changes nothing without method=nli"):
        check({"name": "contrastive"}, [f"nli.{name}"], **given)
    check({"name": "nli", "format": "pair"}, [f"nli.{name}"], **given)


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


# Another value of each option of a protocol, and what gives it an effect.
ASKED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "top_p": (0.5, {"temperature": 0.7}, "protocol.temperature=0.7"),
    "seed": (7, {"temperature": 0.7}, "protocol.temperature=0.7"),
    "turns": (True, {"k": 3}, "prompt.k=3"),
    "max_tokens": (9, {"kind": "letter"}, "protocol=letter"),
}


def asked(protocol: dict[str, Any], typed: list[str], k: int = 0, multirun: bool = False) -> None:
    config = EvaluateConfig(
        model=ModelConfig(name="smollm2", family="causal", name_or_path="somewhere"),
        data=DataConfig("figqa_medium", "figqa"),
        protocol=ProtocolConfig(**protocol),
        prompt=PromptConfig(k=k),
    )
    check_evaluation(config, Given(tuple(typed), {}, multirun))


def test_every_such_option_of_a_protocol_has_a_case() -> None:
    assert {name for needed in OF_EVALUATION for name in needed.names} == {
        f"protocol.{name}" for name in ASKED
    }


@pytest.mark.parametrize("name", ASKED)
def test_an_option_of_a_protocol_without_an_effect_is_refused(name: str) -> None:
    value, switch, word = ASKED[name]
    base = {"kind": "logprobs"} if name == "max_tokens" else {}
    typed, own = f"protocol.{name}={value}", {**base, name: value}
    with pytest.raises(FiglangError, match=rf"protocol\.{name} changes nothing without") as error:
        asked(own, [typed])
    assert "\n" not in str(error.value)
    k = switch.get("k", 0)
    fields = {key: each for key, each in switch.items() if key != "k"}
    asked({**own, **fields}, [typed, word], k)  # it has one
    asked(own, [])  # a preset has it
    asked(own, [typed, word], multirun=True)  # some of the evaluations have both
    asked({}, [f"protocol.{name}={getattr(ProtocolConfig(), name)}"])  # the default says nothing


def test_the_tokens_of_a_reply_that_is_not_written_are_refused_too() -> None:
    with pytest.raises(FiglangError, match=r"protocol\.max_tokens changes nothing"):
        asked({"kind": "score", "rating": "expected", "max_tokens": 9}, ["protocol.max_tokens=9"])

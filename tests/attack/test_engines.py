"""An engine that gives what is no number, stops, or is asked for a folder with code in it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models.hosted.engine import Engine
from figlang.scoring.flat import Tokens
from tests import causal_models
from tests.attack.attacker import RAN

pytestmark = pytest.mark.usefixtures("vllm")


@pytest.fixture
def model(tmp_path: Path) -> ModelConfig:
    place = tmp_path / "network"
    causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(place)
    causal_models.tokenizer().save_pretrained(place)
    return ModelConfig(name="tiny", name_or_path=str(place), family="causal", engine="vllm")


def damaged(value: Any) -> Callable[[Any], None]:
    """Another log-probability of the last token of a prompt; `...` takes it out."""

    def change(output: Any) -> None:
        (token,) = output.prompt_logprobs[-1]
        if value is ...:
            del output.prompt_logprobs[-1][token]
        else:
            output.prompt_logprobs[-1][token].logprob = value

    return change


def without(output: Any) -> None:
    output.prompt_logprobs = None


@pytest.mark.parametrize(
    "change",
    [*(damaged(value) for value in (float("nan"), float("inf"), None, "x", 10**400, ...)), without],
)
def test_a_score_that_is_no_number_is_not_believed(
    model: ModelConfig, tmp_path: Path, vllm: Any, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    engine = Engine(model, str(tmp_path / "cache"))
    generate = vllm.LLM.generate

    def changed(self: Any, *given: Any, **named: Any) -> Any:
        outputs = generate(self, *given, **named)
        change(outputs[0])
        return outputs

    monkeypatch.setattr(vllm.LLM, "generate", changed)
    with pytest.raises(FiglangError, match="log-probabilit"):
        engine.log_probs([Tokens([1, 5, 6, 7], 1)])


def test_an_engine_that_stops_or_answers_less_is_told(
    model: ModelConfig, tmp_path: Path, vllm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(model, str(tmp_path / "cache"))

    def stops(*given: Any, **named: Any) -> Any:
        raise RuntimeError("EngineCore died\nmore")

    monkeypatch.setattr(vllm.LLM, "generate", stops)
    with pytest.raises(FiglangError, match=r"vLLM stopped while it read .*EngineCore died"):
        engine.log_probs([Tokens([1, 5, 6], 1)])
    monkeypatch.setattr(vllm.LLM, "generate", lambda *given, **named: [])
    with pytest.raises(FiglangError, match="vLLM answered 0 of 1 prompts"):
        engine.log_probs([Tokens([1, 5, 6], 1)])


def test_a_package_that_cannot_be_loaded_is_told(
    model: ModelConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        monkeypatch.delitem(sys.modules, name)
    broken = tmp_path / "packages" / "vllm"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise OSError('libcuda.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(broken.parent))
    with pytest.raises(FiglangError, match=r"vllm cannot be loaded .*libcuda\.so\.1"):
        Engine(model, str(tmp_path / "cache"))


def test_code_in_a_folder_is_not_run(
    model: ModelConfig, tmp_path: Path, vllm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path(model.name_or_path)
    (place / "code.py").write_text(f"open({str(tmp_path / RAN)!r}, 'w')\n")
    for file, names in (
        ("config.json", {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Network"}),
        ("tokenizer_config.json", {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]}),
    ):
        content = json.loads((place / file).read_text())
        (place / file).write_text(json.dumps({**content, "auto_map": names}))
    vllm.LLM.opened.clear()
    try:
        Engine(model, str(tmp_path / "cache"))
    except FiglangError as error:
        assert "trust_remote_code" in str(error)  # noqa: PT017
    assert not (tmp_path / RAN).exists()
    assert all(one.given["trust_remote_code"] is False for one in vllm.LLM.opened)

"""vLLM's offline engine gives the numbers and replies of transformers. A stand-in of its API computes."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluate import main as evaluate_command
from figlang.config import EvaluateConfig, ModelConfig, PeftConfig, SamplingConfig, ScoringConfig
from figlang.config.packages import check_packages
from figlang.errors import FiglangError
from figlang.evaluation import generation, opening
from figlang.evaluation.how import origin
from figlang.evaluation.likelihood import engine
from figlang.models import checkpoint
from figlang.models.hosted.opened import Hosted, hosted
from figlang.models.hosted.parts import RANKS
from figlang.scoring.requests import Request
from tests import causal_models
from tests.models.test_lora import trained

pytestmark = pytest.mark.usefixtures("vllm")

CHAT = "{% for message in messages %}<s>{{ message['content'] }}</s>{% endfor %}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "network"
    causal_models.network("llama", hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(place)
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(place)
    return place


def asked(folder: Path, engine: str = "vllm", **settings: Any) -> EvaluateConfig:
    given = {"name": "tiny", "family": "causal", "bos": "add", **settings}
    return EvaluateConfig(model=ModelConfig(name_or_path=str(folder), engine=engine, **given))


@pytest.mark.parametrize("given", [None, "fork"])
def test_its_process_is_spawned_unless_a_user_says_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    """A process that was asked for a GPU cannot be forked, and runtime.start asks."""
    monkeypatch.delenv("VLLM_WORKER_MULTIPROCESSING_METHOD")
    if given is not None:
        monkeypatch.setenv("VLLM_WORKER_MULTIPROCESSING_METHOD", given)
    hosted(asked(folder))
    assert os.environ["VLLM_WORKER_MULTIPROCESSING_METHOD"] == (given or "spawn")


def adapters(folder: Path, place: Path, kind: str = "lora", **peft: Any) -> Path:
    model = ModelConfig(name="tiny", name_or_path=str(folder), family="causal")
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name=kind, dropout=0.0, **peft))
    checkpoint.export(adapted, tokenizer, manifest, place)
    return place


def scores(loaded: Any, requests: list[Request]) -> torch.Tensor:
    scoring = ScoringConfig(**loaded.manifest.scoring)
    found = engine(loaded, scoring, loaded.bos(scoring)).score(requests)
    return torch.cat(list(found.log_probs))


def opened(config: EvaluateConfig) -> Any:
    return opening.model(config)


def test_log_probabilities_are_those_of_transformers(folder: Path, vllm: Any) -> None:
    requests = [*causal_models.requests(), *causal_models.requests()[:3]]
    there, here = opened(asked(folder)), opened(asked(folder, "transformers"))
    assert isinstance(there, Hosted)
    assert scores(there, requests) == pytest.approx(scores(here, requests), abs=1e-4)
    given, read = vllm.LLM.opened[-1].given, vllm.LLM.opened[-1].read
    assert given["enable_prefix_caching"] is True
    assert (given["dtype"], given["tensor_parallel_size"], given["enable_lora"]) == ("float32", 1, False)
    texts = {request.context + request.continuation for request in requests}
    assert len(read) == len(texts), "equal strings are read once"


def test_the_signature_names_the_engine_and_the_weights(folder: Path) -> None:
    facts = origin(opened(asked(folder)))
    assert facts["engine"] == "vllm-0.0.1"
    assert facts["precision"] == "float32"
    assert origin(opened(asked(folder))) == facts
    other = causal_models.network("llama", seed=1, hidden_size=64, intermediate_size=128, head_dim=16)
    other.save_pretrained(folder)
    assert origin(opened(asked(folder)))["weights"] != facts["weights"]


def test_an_evaluation_has_the_predictions_of_transformers(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from figlang.runs.predictions import FORWARD, read_predictions

    found = {}
    for name in ("vllm", "transformers"):
        words = [f"model={folder}", "model.bos=add", f"model.engine={name}", "data=figqa_medium"]
        words += [
            "data.root=package:figlang/samples",
            "data.limit=8",
            "scoring=clean",
            "trainer.progress=false",
        ]
        monkeypatch.setattr(sys, "argv", ["evaluate.py", *words, f"output={tmp_path / name}"])
        evaluate_command()
        found[name] = [score for row in read_predictions(tmp_path / name / FORWARD) for score in row.scores]
    assert len(found["vllm"]) == 16
    assert found["vllm"] == pytest.approx(found["transformers"], abs=1e-3)


def test_greedy_replies_and_texts_are_those_of_transformers(folder: Path) -> None:
    there, here = opened(asked(folder)), opened(asked(folder, "transformers"))
    sampling = SamplingConfig(max_tokens=6)
    messages = ["The oven was", "He is a lion. That is to say,"]
    assert generation.converse(there, messages, sampling) == generation.converse(here, messages, sampling)
    drawn = generation.converse(there, messages, SamplingConfig(temperature=1.0, n=2, max_tokens=3))
    assert [len(several) for several in drawn] == [2, 2]
    with pytest.raises(FiglangError, match=r"has \d+ tokens; with max_tokens=640 that is more than"):
        generation.converse(there, messages, SamplingConfig(max_tokens=640))


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # by peft 0.21
@pytest.mark.parametrize(("kind", "rank"), [("lora", 4), ("rslora", 16), ("lora", 33)])
def test_adapters_are_sent_with_every_request(
    folder: Path, tmp_path: Path, vllm: Any, kind: str, rank: int, caplog: pytest.LogCaptureFixture
) -> None:
    place = adapters(folder, tmp_path / "model", kind, r=rank)
    caplog.set_level(logging.WARNING, logger="figlang")
    there = opened(EvaluateConfig(checkpoint=str(place), model=ModelConfig(engine="vllm")))
    here = opened(EvaluateConfig(checkpoint=str(place)))
    requests = causal_models.requests()
    # Strings of some 10 nats, each a sum of float32 products in another order: five digits are sure.
    assert scores(there, requests) == pytest.approx(scores(here, requests), rel=1e-4, abs=1e-4)
    given = vllm.LLM.opened[-1].given
    assert given["model"] == str(folder)
    assert given["max_lora_rank"] == min(number for number in RANKS if number >= rank)
    names = json.loads((place / "adapter_config.json").read_text())["target_modules"]
    assert given["lora_target_modules"] == sorted({name.rpartition(".")[2] for name in names})
    assert origin(there)["adapters"] == "apart"
    assert "are not compared with those of the training" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device_map": "auto"}, "model.device_map=auto is not for model.engine=vllm"),
        ({"quantization": "8bit"}, "model.quantization=8bit is not for model.engine=vllm"),
        ({"adapters": "merge"}, "model.adapters=merge is not for model.engine=vllm"),
        ({"engine": "transformers", "tensor_parallel": 2}, "model.tensor_parallel is for model.engine=vllm"),
        ({"engine": "transformers", "window": 512}, "model.window is for model.engine=vllm"),
    ],
)
def test_settings_that_the_engine_does_not_take(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        ModelConfig(**{"name_or_path": "x", "family": "causal", "engine": "vllm", **settings})


def test_settings_reach_the_engine_and_its_refusals_are_one_line(folder: Path, vllm: Any) -> None:
    opened(asked(folder, dtype="bfloat16", quantization="4bit", tensor_parallel=2, window=64))
    given = vllm.LLM.opened[-1].given
    names = ("dtype", "quantization", "tensor_parallel_size", "max_model_len")
    assert [given[name] for name in names] == ["bfloat16", "bitsandbytes", 2, 64]
    with pytest.raises(FiglangError, match=r"vLLM cannot open .*: .*max_model_len \(9999\)") as error:
        opened(asked(folder, window=9999))
    assert "\n" not in str(error.value)
    long = [Request("a b " * 40, "c")]
    with pytest.raises(FiglangError, match="the network reads 62; shorten it"):
        scores(opened(asked(folder, window=64)), long)


def test_what_it_cannot_do_is_one_line(folder: Path, tmp_path: Path) -> None:
    encoder = EvaluateConfig(model=ModelConfig(engine="vllm"))
    with pytest.raises(FiglangError, match=r"model.engine=vllm is for causal models"):
        hosted(encoder)
    dora = adapters(folder, tmp_path / "dora", "dora")
    with pytest.raises(FiglangError, match=r"holds adapters with DoRA, which .* merge them first"):
        hosted(EvaluateConfig(checkpoint=str(dora), model=ModelConfig(engine="vllm")))
    head = adapters(folder, tmp_path / "head", target_modules=["q_proj", "lm_head"])
    with pytest.raises(FiglangError, match=r"holds adapters of lm_head, .* merge them first"):
        hosted(EvaluateConfig(checkpoint=str(head), model=ModelConfig(engine="vllm")))
    with pytest.raises(FiglangError, match=r"reads files, but model.init=tiny has none"):
        hosted(asked(folder, init="tiny"))


def test_the_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "vllm" else found(name))
    with pytest.raises(
        FiglangError, match=r"needs the package vllm; install it: pip install 'figlang\[vllm\]'"
    ):
        check_packages(asked(folder))

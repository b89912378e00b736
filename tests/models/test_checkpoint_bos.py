"""The token before every string: by default the tokenizer's own one, recorded by its number."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import processors
from transformers import PreTrainedTokenizerFast

from evaluate import main as evaluate_command
from figlang.commands.generate import main as generate_command
from figlang.config import ModelConfig, ScoringConfig
from figlang.models.checkpoint import beginning
from figlang.models.manifest import Manifest
from figlang.scoring.requests import bos_ids, resolved_bos
from tests.causal_models import network, tokenizer
from tests.reproducing import munch_generate as rank_command
from tests.reproducing import munch_judge as judge_command
from tests.running import train


def beginning_with(*tokens: str, end: str = "") -> PreTrainedTokenizerFast:
    """The tests' tokenizer, which puts these tokens before a text and `end` behind it as special tokens."""
    made = tokenizer()
    made.add_special_tokens({"additional_special_tokens": [*{*tokens, "<s>"}]})
    known = [(token, made.convert_tokens_to_ids(token)) for token in {*tokens, *([end] if end else [])}]
    form = " ".join(filter(None, [*tokens, "$A", end]))
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(single=form, special_tokens=known)
    return made


@pytest.mark.parametrize(
    ("tokens", "end"),
    [(("<s>",), ""), (("<s>",), "</s>"), ((), "</s>"), ((), ""), (("<mask>", "<begin>"), "")],
)
def test_auto_is_what_the_tokenizer_puts_before_a_text(tokens: tuple[str, ...], end: str) -> None:
    made = beginning_with(*tokens, end=end)
    ids = list(made.convert_tokens_to_ids(list(tokens)))
    assert bos_ids(made, "auto") == ids
    assert resolved_bos(made, "auto") == (",".join(map(str, ids)) or "none")
    assert bos_ids(made, resolved_bos(made, "auto")) == ids


def test_a_preset_may_say_otherwise_and_so_may_a_scoring() -> None:
    made = beginning_with("<s>")
    own = str(made.bos_token_id)
    for model, scoring, expected in (
        ("auto", None, own),
        ("add", None, own),
        ("7", None, "7"),
        ("auto", "none", "none"),
        ("7", "auto", own),
    ):
        assert (
            beginning(ModelConfig(family="causal", bos=model), ScoringConfig(bos=scoring), made) == expected
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    network("llama", max_position_embeddings=2048).save_pretrained(path)
    beginning_with("<s>").save_pretrained(path)
    return path


@pytest.mark.parametrize(
    ("command", "words", "file"),
    [
        (evaluate_command, ["data=figqa_sample", "data.limit=4", "scoring=pmi"], "predictions.jsonl"),
        (evaluate_command, ["data=miqa_sample", "data.limit=4", "prompt=miqa_qa"], "predictions.jsonl"),
        (
            judge_command,
            ["data=munch_sample", "data.limit=4", "prompts=[CTWT52]"],
            "predictions/CTWT52.jsonl",
        ),
        (
            rank_command,
            [
                "data=munch_sample",
                "data.question=generation",
                "data.limit=4",
                "prompts=[GASW45]",
                "max_tokens=2",
            ],
            "rankings/GASW45.jsonl",
        ),
        (generate_command, ["data=miqa_sample", "data.limit=8", "sampling.max_tokens=8"], "answers.jsonl"),
    ],
)
def test_every_command_takes_it(
    command: Callable[[], None],
    words: list[str],
    file: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: dict[str, Any] = {}
    for name, bos in (("auto", []), ("add", ["model.bos=add"]), ("none", ["model.bos=none"])):
        if name == "none" and "scoring=pmi" in words:
            continue  # an answer alone has no first token to be predicted from
        common = ["model=causal", f"model.name_or_path={folder}", "trainer=cpu", "trainer.progress=false"]
        monkeypatch.setattr(sys, "argv", ["command", *common, *words, *bos, f"output={tmp_path / name}"])
        command()
        found[name] = (tmp_path / name / file).read_text()
    assert found["auto"] == found["add"] != found.get("none")
    signatures = [
        json.loads((tmp_path / name / "metrics.json").read_text())["signature"] for name in ("auto", "add")
    ]
    assert signatures[0] == signatures[1]
    assert f"|bos:{tokenizer().bos_token_id}" in signatures[0]


def test_a_run_keeps_the_token_that_it_was_trained_with(tmp_path: Path) -> None:
    tiny = ["model=causal", "data=figqa_sample", "method.lr=0.001", "method.epochs=1"]
    assert train(tmp_path, *tiny, "run=auto").returncode == 0
    assert train(tmp_path, *tiny, "model.bos=none", "run=none").returncode == 0
    recorded = {
        name: Manifest(**json.loads((tmp_path / name / "model" / "figlang.json").read_text())).bos
        for name in ("auto", "none")
    }
    assert recorded["none"] == "none"
    assert recorded["auto"].isdigit()
    made = beginning_with("<s>")
    for name, bos in recorded.items():
        model = ModelConfig(family="causal", name_or_path=str(tmp_path / name / "model"))
        assert beginning(model, ScoringConfig(), made) == bos

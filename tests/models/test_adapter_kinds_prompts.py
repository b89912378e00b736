"""Prompt tuning: only the prompt learns, its export scores as it did, and what cannot be is one sentence."""

import json
from pathlib import Path

import pytest
import torch

from figlang.config import MethodConfig, PeftConfig, PromptConfig, ScoringConfig, TrainConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.models import checkpoint
from figlang.release import averaging, card
from figlang.scoring.encode import word
from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording
from figlang.tasks.registry import for_training
from figlang.training import agreement
from figlang.training.preparation import Prepared, line, prepare
from tests import cards, running
from tests.models.test_checkpoint import DOCUMENT

FIXED = ["debug=fast", "data=figqa_sample", "model=smollm2", "peft=prompt_tuning", "peft.tokens=5"]
WAYS = {"forward": [], "both": ["method.direction=both"], "language model": ["method=lm"]}


def config(*words: str) -> TrainConfig:
    return compose("train", TrainConfig, [*FIXED, *words])


def prepared(*words: str) -> Prepared:
    """A network with a prompt that changes its scores."""
    torch.manual_seed(0)
    asked = config(*words)
    ready = prepare(asked, *for_training(asked.data, asked.paths))
    with torch.no_grad():
        for weight in ready.network.parameters():
            if weight.requires_grad:
                weight.add_(torch.randn_like(weight) * 0.5)
    return ready


@pytest.mark.parametrize("way", WAYS)
def test_only_the_prompt_learns(way: str) -> None:
    ready = prepared(*WAYS[way])
    learns = {name: value for name, value in ready.network.named_parameters() if value.requires_grad}
    ((name, prompt),) = learns.items()
    assert name.startswith("prompt_encoder.")
    assert prompt.shape == (5, ready.network.config.hidden_size)
    module = ready.kind(
        ready.network,
        MethodConfig(name="lm" if way == "language model" else "contrastive"),
        ready.score,
        10,
        0,
    )
    module.loss(ready.collate(ready.examples[:3]))["loss"].backward()
    assert prompt.grad is not None
    assert bool(prompt.grad.abs().sum() > 0)


def test_the_export_finds_texts_as_likely_as_the_training_did(tmp_path: Path) -> None:
    ready = prepared("method=lm")
    batch = ready.collate(ready.examples[:6])
    with torch.no_grad():
        ready.network.eval()
        found = ready.score.log_probs(ready.network, batch)  # type: ignore[attr-defined]
    sums = torch.zeros(6).index_add(0, batch.strings, found)
    checkpoint.export(ready.network, ready.tokenizer, ready.manifest, tmp_path / "model")
    loaded = checkpoint.load(str(tmp_path / "model"))
    scorer = CausalScorer(loaded.network, loaded.tokenizer, ready.manifest.bos)
    wording = Wording(ScoringConfig(name="answer"), PromptConfig())
    asked = [Request("", line(item, "clean", wording)) for item in ready.train.items[:6]]
    again = [float(log_probs.sum()) for log_probs in scorer.score(asked).log_probs]
    assert again == pytest.approx(sums.tolist(), abs=1e-4)


def test_a_training_writes_a_prompt_that_plain_peft_reads(tmp_path: Path) -> None:
    ended = running.train(
        tmp_path,
        *("data=figqa_sample", "model=smollm2", "peft=prompt_tuning", "peft.tokens=5"),
        *("method.lr=0.01", "run=run", "peft.stack=refuse"),
    )
    assert ended.returncode == 0, ended.stderr
    folder = tmp_path / "run" / "model"
    settings = json.loads((folder / "adapter_config.json").read_text())
    assert (settings["peft_type"], settings["num_virtual_tokens"]) == ("PROMPT_TUNING", 5)
    row = json.loads((tmp_path / "run" / "predictions.jsonl").read_text().splitlines()[0])
    asked = config()
    _, dev = for_training(asked.data, asked.paths)
    item = next(item for item in dev.items if item.id == row["id"])
    texts = [word(text, "clean") for text in (item.context, *item.options)]
    found = cards.scores((folder / "README.md").read_text(), folder, texts[0], texts[1:])
    assert found == pytest.approx(row["scores"], abs=1e-4)


def test_prompts_are_not_averaged(tmp_path: Path) -> None:
    ready = prepared()
    checkpoint.export(
        ready.network, ready.tokenizer, ready.manifest, tmp_path / "a", card.card(ready.manifest, DOCUMENT)
    )
    with pytest.raises(FiglangError, match=r"holds adapters of peft=prompt_tuning, which have no mean"):
        averaging.mean([tmp_path / "a", tmp_path / "a"], None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model=bert_base"], "texts of a causal model, but bert_base is an encoder; take peft=lora"),
        (["peft.stack=merge"], r"peft\.stack=merge cannot be used with peft=prompt_tuning"),
        (["method.anchor=kl"], r"method\.anchor=kl reads its texts without a learnt prompt"),
        (["method.l2_sp=0.1"], "peft=prompt_tuning has another effect"),
    ],
)
def test_what_a_prompt_cannot_do_is_one_sentence(words: list[str], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        agreement.check(config(*words))


def test_a_prompt_as_long_as_the_network_reads_is_refused() -> None:
    """Before, the first text that was read had a window of less than nothing."""
    asked = config()
    asked.peft.tokens = 5000
    with pytest.raises(FiglangError, match=r"peft\.tokens=5000 leaves no room for texts, .* reads 2048"):
        prepare(asked, *for_training(asked.data, asked.paths))


def test_settings_of_other_kinds_are_refused() -> None:
    with pytest.raises(FiglangError, match=r"peft\.merge changes nothing under peft=prompt_tuning"):
        PeftConfig(name="prompt_tuning", merge=True)
    with pytest.raises(FiglangError, match=r"peft\.tokens is for peft=prompt_tuning"):
        PeftConfig(name="lora", tokens=5)

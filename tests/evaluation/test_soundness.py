"""Scores that are not numbers, ties and unknown tokens: never a result without a word, whatever is
evaluated."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from evaluate import main as evaluate_command
from figlang.commands.generate import main as generate_command
from figlang.commands.report import main as report_command
from figlang.errors import FiglangError, NonFiniteError
from figlang.evaluation import soundness
from figlang.models.tiny import train_tokenizer
from figlang.runs.predictions import check_finite, records, write_predictions
from figlang.types import Item, Prediction
from tests import causal_models, masked_models
from tests.reproducing import miqa_table3 as table3_command
from tests.reproducing import munch_generate as munch_generate_command
from tests.reproducing import munch_judge as munch_judge_command
from tests.sampled import sampled
from tests.stub_server import Stub, serving

QUIET = ["trainer=cpu", "trainer.threads=1", "trainer.progress=false", "output=out"]
SAMPLES = ["data.root=package:figlang/samples"]
CAUSAL = ["model=causal", "model.name_or_path=./causal", "model.name=wild"]
MASKED = ["model=bert", "model.name_or_path=./masked", "model.name=wild"]
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"

# What every ability is asked by: its command and its words.
ABILITIES: dict[str, tuple[Callable[[], None], list[str]]] = {
    "log-probabilities": (evaluate_command, [*CAUSAL, "data=figqa_sample", "scoring=clean", "data.limit=4"]),
    "log-probabilities of questions": (
        evaluate_command,
        [*CAUSAL, "data=miqa_sample", "prompt=miqa_qa", "scoring=pmi", "scoring.bos=5"],
    ),
    "letters of judgements": (
        evaluate_command,
        [*CAUSAL, "data=munch_word", *SAMPLES, "prompt=munch", "prompt.question=WOTG33"],
    ),
    "letters of replies": (
        evaluate_command,
        [*CAUSAL, "data=figqa_sample", "scoring=letter", "scoring.max_tokens=2"],
    ),
    "pseudo-log-likelihood": (
        evaluate_command,
        [*MASKED, "data=figqa_sample", "scoring=pll", "data.limit=4"],
    ),
    "entailment": (
        evaluate_command,
        ["model=nli_roberta", "model.name_or_path=./nli", "model.name=wild", "data=figqa_sample"],
    ),
    "similarity": (
        evaluate_command,
        ["model=minilm", "model.name_or_path=./dual", "model.name=wild", "data=figqa_sample"],
    ),
    "a grid of judgements": (munch_judge_command, [*CAUSAL, "data=munch_sample", "prompts=[WOTG33]"]),
    "a grid of questions": (table3_command, [*CAUSAL, "data=miqa_sample", "questions=[or]", "shots=[0]"]),
    "ranks of first tokens": (
        munch_generate_command,
        [*CAUSAL, "data=munch_sample", "data.question=generation"],
    ),
    "ranks of words": (
        munch_generate_command,
        [*CAUSAL, "data=munch_sample", "data.question=generation", "rank=word"],
    ),
    "ranks of words by masks": (
        munch_generate_command,
        [*MASKED, "data=munch_sample", "data.question=generation", "scoring=pll"],
    ),
    "free text": (generate_command, [*CAUSAL, "data=miqa_sample", "sampling.max_tokens=2"]),
    "free text that is drawn": (
        generate_command,
        [*CAUSAL, "data=miqa_sample", "sampling.max_tokens=2", "sampling.temperature=1", "sampling.n=2"],
    ),
}


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny networks whose weights are finite, and whose arithmetic overflows (weights that are not numbers
    are refused earlier)."""
    folder = tmp_path_factory.mktemp("wild")
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = CHAT
    words = masked_models.word_pieces()
    networks = {
        "causal": (causal_models.network("llama", max_position_embeddings=2048), tokenizer),
        "masked": (masked_models.network("bert", words, max_position_embeddings=512), words),
    }
    masked = networks["masked"][0]
    networks["dual"] = (masked.bert, words)  # type: ignore[assignment]
    config = masked.config.__class__(**masked.config.to_dict())
    config.id2label = dict(enumerate(("entailment", "neutral", "contradiction")))
    config.label2id = {name: number for number, name in config.id2label.items()}
    networks["nli"] = (AutoModelForSequenceClassification.from_config(config), words)
    for name, (network, own) in networks.items():
        with torch.no_grad():
            next(
                weight for path, weight in network.named_parameters() if path.lower().endswith("norm.weight")
            ).fill_(3e38)
        network.save_pretrained(folder / name)
        own.save_pretrained(folder / name)
    return folder


@pytest.mark.parametrize("ability", sampled(ABILITIES, *list(ABILITIES)[::3]))
def test_scores_that_are_not_numbers_stop_before_a_result(
    wild: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ability: str,
) -> None:
    command, words = ABILITIES[ability]
    for name in ("causal", "masked", "dual", "nli"):
        (tmp_path / name).symlink_to(wild / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["evaluate.py", *QUIET, *words])
    with pytest.raises(SystemExit) as stopped:
        command()
    said = capsys.readouterr().err.splitlines()[-1]
    assert stopped.value.code == 2
    assert said.startswith("error: item "), said
    assert re.search(
        r"the weights of wild are finite, so its arithmetic overflows .*nothing was written$", said
    ), said
    left = (
        [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]
        if (tmp_path / "out").exists()
        else []
    )
    assert not [name for name in left if name != "cells.txt"]


def test_an_endpoint_whose_log_probabilities_are_not_numbers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.stub_server.log_prob", lambda before, token: float("nan"))
    with serving(Stub()) as stub:
        words = ["model.retries=0", "paths.cache=cache", "data=figqa_sample", "data.limit=2", "scoring=clean"]
        monkeypatch.setattr("sys.argv", ["evaluate.py", *stub.words, *QUIET, *words])
        with pytest.raises(SystemExit) as stopped:
            evaluate_command()
    assert stopped.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: ")
    assert not (tmp_path / "out" / "predictions.jsonl").exists()


@pytest.mark.parametrize("scores", [(float("nan"), 1.0), (1.0, float("inf")), (float("-inf"), float("-inf"))])
def test_no_prediction_without_numbers_is_written(tmp_path: Path, scores: tuple[float, ...]) -> None:
    rows = [Prediction("a", "g", 0, (1.0, 0.0)), Prediction("b", "g", 0, scores)]
    with pytest.raises(NonFiniteError, match=r"^item b: the score of option "):
        write_predictions(tmp_path / "predictions.jsonl", rows)
    with pytest.raises(NonFiniteError, match=r"^item b: "):
        check_finite(rows)
    with pytest.raises(NonFiniteError, match=r"^item b: a log-probability"):
        list(records([{"id": "a", "after": [1.0]}, {"id": "b", "after": list(scores)}]))
    assert not list(tmp_path.iterdir())


def test_the_cause_is_weights_or_arithmetic() -> None:
    network = masked_models.network("bert", masked_models.word_pieces())
    loaded: Any = type("Loaded", (), {"network": network, "manifest": type("Manifest", (), {"name": "m"})})()
    finite = r"item x: nan; the weights of m are finite, so its arithmetic overflows"
    with pytest.raises(FiglangError, match=f"{finite} or an option"), soundness.explained(loaded):
        raise NonFiniteError("item x: nan")
    network.bfloat16()
    with pytest.raises(FiglangError, match=f"{finite}; use model.dtype=float32"), soundness.explained(loaded):
        raise NonFiniteError("item x: nan")


KANNADA = "\u0ca8\u0ca6\u0cbf"


def test_unknown_tokens_are_counted_by_item_and_script() -> None:
    tokenizer = train_tokenizer(["the river ran"], 64)
    items = [
        Item("a", "a", "the river ran", ("the river", "ran"), 0),
        Item("b", "b", f"the {KANNADA}", (f"{KANNADA} ran", "ran the"), 0),
        Item("c", "c", "the \u6cb3", ("the", "ran"), 0),
    ]
    found = soundness.unknown_tokens(tokenizer, items)
    assert found is not None
    assert (found.unknown, found.items, found.scripts) == (3, 2, ("Kannada", "CJK"))
    assert KANNADA[:2] in found.words, "as the tokenizer normalises it"
    assert soundness.unknown_tokens(causal_models.tokenizer(), items) is None, "bytes know every text"


def test_tokens_are_counted_by_language_or_script() -> None:
    words, in_bytes = train_tokenizer(["the river ran"], 64), causal_models.tokenizer()
    items = [
        Item("a", "a", "the river", ("ran", "the"), 0),
        Item("b", "b", KANNADA, (KANNADA, KANNADA * 2), 0),
        Item("c", "c", "the caf\u00e9", ("\u1eb9\u0301", "the"), 0, {"language": ("Yoruba",)}),
    ]
    found = soundness.tokens_by_language(words, items)
    assert list(found) == ["Kannada", "Latin", "Yoruba"]
    assert found["Latin"] == {"tokens": 4, "unknown": 0, "characters": 14, "syllabic": 0, "dropped": 0}
    assert found["Kannada"]["characters"] == 4 * len(KANNADA)
    assert found["Kannada"]["unknown"] == found["Kannada"]["tokens"]
    (mixed,) = soundness.tokens_by_language(
        words, [Item("d", "d", "\u6cb3 \u304b", ("\ud55c", "a"), 0)]
    ).values()
    assert (mixed["characters"], mixed["syllabic"]) == (4, 3)
    # By hand: the accent of é, and the dot below and the accent of ẹ́.
    assert found["Yoruba"]["dropped"] == 3
    spelled = soundness.tokens_by_language(in_bytes, items)["Kannada"]
    assert (spelled["tokens"], spelled["unknown"]) == (len((KANNADA * 4).encode()), 0)


def test_ties_by_unknown_tokens_are_said_in_terminal_metrics_and_report(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = masked_models.word_pieces()
    masked_models.network("bert", words, max_position_embeddings=128).bert.save_pretrained(tmp_path / "dual")
    words.save_pretrained(tmp_path / "dual")
    other = "\u0cae\u0ca8\u0cc6"
    lines = ["startphrase,ending1,ending2,labels"]
    for number in range(3):
        lines += [f"{KANNADA * (number + 1)},{KANNADA},{other},{label}" for label in (0, 1)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    source = ["model=minilm", "model.name_or_path=./dual", "data=figqa_csv", "data.validation=own.csv"]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *QUIET, *source])
    evaluate_command()
    content = json.loads((tmp_path / "out" / "metrics.json").read_text())
    items = content["metrics"]["items"]
    assert content["metrics"]["ties"] == items > 0
    assert content["unknown_tokens"]["items"] == items
    assert content["unknown_tokens"]["scripts"] == ["Kannada"]
    assert list(content["tokens_by_language"]) == ["Kannada"]
    assert "does not know the script (Kannada)" in caplog.text
    assert f"{items} of {items} choices are ties" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["report", "out", "output=page"])
    report_command()
    assert f"{items} of {items} choices are ties" in (tmp_path / "page" / "report.html").read_text(
        encoding="utf-8"
    )

"""MUNCH's choice between paraphrases, by tiny random networks: evaluated, and trained on."""

import json
from pathlib import Path

import pytest

from evaluate import main as evaluate_command
from figlang.runs.predictions import read_predictions
from tests.calls import call
from tests.documents import metrics_of
from tests.reproducing import Run
from tests.tasks.munch.commands import SAMPLE
from train import main as train_command


def test_a_causal_model_chooses_between_paraphrases(run: Run, tmp_path: Path) -> None:
    content = run(evaluate_command, "data=munch_paraphrase", "scoring=answer", "data.held_out=1")
    rows = read_predictions(tmp_path / "out" / "predictions.jsonl")
    assert len(rows) == 6
    assert content["metrics"]["accuracy"]["chance"] == 0.5
    # Two triples about a sentence are no Winograd pair: nothing to choose backwards, nothing to be consistent
    # in.
    assert read_predictions(tmp_path / "out" / "predictions_backward.jsonl") == []
    assert not {"pair_accuracy", "consistency", "same_answer"} & content["metrics"].keys()
    assert "held_out=1" in content["signature"]
    assert not content["published_file"]


@pytest.mark.parametrize(
    "overrides", [["model=minilm", "method.format=dual"], ["model=minilm"], ["model=smollm2", "peft=lora"]]
)
# peft 0.21 asks transformers 5.23 for it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_training_on_paraphrases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: list[str]
) -> None:
    fixed = ["debug=fast", "data=munch_paraphrase", f"run={tmp_path}/run"]
    call(monkeypatch, train_command, *fixed, *overrides)
    content = metrics_of(tmp_path / "run")
    assert content["data_name"] == "munch_paraphrase_sample"
    assert "pair_accuracy" not in content["metrics"]
    assert {"genre", "pos"} <= content["metrics"]["accuracy_by"].keys()


def test_what_was_trained_on_is_not_evaluated_on_by_another_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, drawn = "data.root=package:figlang/samples", ["data.seed=1", "data.held_out=0.5"]
    data = ["data=munch_paraphrase", root]
    trained = ["model.init=tiny", "model.max_length=64", "method.epochs=1", "also=[munch_paraphrase]"]
    call(monkeypatch, train_command, *data, *drawn, *trained, f"run={tmp_path}/run")
    (beside,) = (tmp_path / "run" / "evaluations").iterdir()
    assert (beside / "predictions.jsonl").read_bytes() == (
        tmp_path / "run" / "predictions.jsonl"
    ).read_bytes()

    asked = [f"checkpoint={tmp_path}/run", f"output={tmp_path}/out"]
    with pytest.raises(SystemExit):
        call(monkeypatch, evaluate_command, *data, *asked)
    assert "was trained on MUNCH with data.seed=1 data.held_out=0.5; give both" in capsys.readouterr().err
    call(monkeypatch, evaluate_command, *data, *drawn, *asked)
    assert (tmp_path / "out" / "predictions.jsonl").read_bytes() == (
        tmp_path / "run" / "predictions.jsonl"
    ).read_bytes()


def test_there_are_no_pairs_to_train_backward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["debug=fast", "data=munch_paraphrase", "model=smollm2", "method.direction=both"]
    with pytest.raises(SystemExit):
        call(monkeypatch, train_command, *given, f"run={tmp_path}/run")
    assert (
        "munch_paraphrase_sample has no pairs of metaphors to choose from backward" in capsys.readouterr().err
    )


def test_sentences_that_are_too_long_are_counted_and_may_be_read_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = ["data=munch_paraphrase", *SAMPLE]
    small = ["model.max_length=16", "method.epochs=1", "method.format=pair", "model.init=tiny"]
    call(monkeypatch, train_command, *data, *small, f"run={tmp_path}/run")
    checkpoint = [f"checkpoint={tmp_path}/run", f"output={tmp_path}/out", "overwrite=true"]
    for length, truncated in ((None, True), (32, True), (33, None)):
        caplog.clear()
        given = [*data, *checkpoint, *([] if length is None else [f"max_length={length}"])]
        if truncated is None:
            with pytest.raises(SystemExit):
                call(monkeypatch, evaluate_command, *given)
            assert "max_length=33 is more than the 32 tokens" in capsys.readouterr().err
        else:
            call(monkeypatch, evaluate_command, *given)
            assert f"were truncated to max_length={length or 16} tokens" in caplog.text
            assert (
                f"max_length:{length or 16}"
                in json.loads((tmp_path / "out" / "metrics.json").read_text())["signature"]
            )

"""The commands on tiny random causal models: train, select, resume, evaluate by other scorings."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from evaluate import main as evaluate_command
from figlang.models.manifest import Manifest
from figlang.release import card
from figlang.reports.figures import prompt_bars, prompt_series
from figlang.scoring.encode import word
from figlang.training.causal_lm import CausalLMModule
from tests import cards
from tests.calls import mistake
from tests.running import ROOT, TINY, run, train
from train import main as train_command

CAUSAL = ["model=smollm2", "method.lr=0.001"]
QUIET = ["trainer.progress=false", "trainer.threads=1"]


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished contrastive run, forward and backward."""
    home = tmp_path_factory.mktemp("causal")
    result = train(home, *CAUSAL, "run=runs/tiny/seed0", "method.direction=both", "method.epochs=2")
    assert result.returncode == 0, result.stderr
    return home / "runs" / "tiny" / "seed0"


def test_a_causal_run_has_both_directions(trained: Path) -> None:
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["metrics"]["accuracy"]["n"] == metrics["backward"]["accuracy"]["n"] == 32
    assert "|scoring:answer(span=answer,backward=answer" in metrics["signature"]
    assert "|bos:2|" in metrics["signature"]  # the preset's token has another id in a tiny tokenizer


def test_evaluating_the_export_gives_the_same_predictions(trained: Path) -> None:
    result = run(
        trained.parents[2], "evaluate.py", f"checkpoint={trained}", "data.limit=32", "output=again", *QUIET
    )
    assert result.returncode == 0, result.stderr
    for name in ("predictions.jsonl", "predictions_backward.jsonl"):
        again, before = rows(trained.parents[2] / "again" / name), rows(trained / name)
        scores = [[one.pop("scores") for one in several] for several in (again, before)]
        assert again == before
        # A GPU sums in another order from time to time.
        near = 1e-6 if torch.cuda.is_available() else 0
        assert all(
            ours == pytest.approx(theirs, rel=near, abs=0) for ours, theirs in zip(*scores, strict=True)
        )


def test_another_scoring_of_the_same_run(trained: Path) -> None:
    home = trained.parents[2]
    result = run(home, "evaluate.py", f"checkpoint={trained}", "data.limit=32", "scoring=pmi", *QUIET)
    assert result.returncode == 0, result.stderr
    folder = trained / "evaluations" / "figqa_sample-validation-data.limit_32-scoring_pmi"
    kept = {row["id"]: row for row in rows(trained / "log_probabilities.jsonl")}
    for row in rows(folder / "predictions.jsonl"):
        numbers = kept[row["id"]]
        expected = [a[0] - b[0] for a, b in zip(numbers["answer"], numbers["answer_alone"], strict=True)]  # type: ignore[call-overload]
        assert row["scores"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("minus_alone", [False, True])
def test_the_lines_on_the_card_give_the_same_score(trained: Path, minus_alone: bool) -> None:
    manifest = Manifest(**json.loads((trained / "model" / "figlang.json").read_text()))
    assert manifest.scoring is not None
    manifest = replace(manifest, scoring={**manifest.scoring, "minus_alone": minus_alone})
    text = card.card(manifest, json.loads((trained / "metrics.json").read_text()))
    assert minus_alone or text == (trained / "model" / "README.md").read_text()
    measured = rows(trained / "log_probabilities.jsonl")[0]
    with (ROOT / "figlang/samples/figqa/filtered/dev.csv").open(encoding="utf-8") as file:
        item = next(csv.DictReader(file))
    options = [word(item[name], "clean") for name in ("ending1", "ending2")]
    found = cards.scores(text, trained / "model", word(item["startphrase"], "clean"), options)
    for place, score in enumerate(found):
        sums = [measured[name][place][0] for name in ("answer", "answer_alone")]  # type: ignore[index]
        assert score == pytest.approx(sums[0] - sums[1] if minus_alone else sums[0], abs=1e-4)


def test_prompts_are_compared_in_a_figure(trained: Path) -> None:
    # The tiny network reads few tokens, and its tokenizer spells most words.
    common = [
        f"checkpoint={trained}",
        "data.limit=8",
        "scoring=answer",
        "scoring.overflow=truncate_left",
        *QUIET,
    ]
    result = run(trained.parents[2], "evaluate.py", "-m", *common, "prompt.k=0,2")
    assert result.returncode == 0, result.stderr
    said = result.stdout
    for prompt in ("prompt=suffix", "prompt.template={metaphor} It's like: {answer}"):
        other = run(trained.parents[2], "evaluate.py", *common, prompt)
        assert other.returncode == 0, other.stderr
        said += other.stdout
    (picture,) = (trained / "evaluations").glob("prompts-figqa_sample-validation-*.png")
    assert picture.with_suffix(".svg").is_file()
    assert [line for line in said.splitlines() if line.endswith(f"evaluations/{picture.name}")]
    signatures = [
        json.loads(path.read_text())["signature"]
        for path in (trained / "evaluations").glob("*limit_8*/metrics.json")
    ]
    assert len(set(signatures)) == 4
    assert any("It's like: {answer}" in text for text in signatures)
    assert any("k=2,source=train@" in text for text in signatures)
    contents = [
        json.loads(path.read_text()) for path in (trained / "evaluations").glob("*limit_8*/metrics.json")
    ]
    ((_, bars),) = prompt_series(contents)
    measured = {content["facts"]["prompt"]: content["metrics"]["accuracy"]["value"] for content in contents}
    assert [name for name, *_ in bars] == ["none", "suffix", "k = 2"]
    drawn = [bar.get_height() for bar in prompt_bars(bars, "").axes[0].patches[:3]]
    assert drawn == [
        measured[prompt]
        for prompt in sorted(measured, key=lambda prompt: ("k=2" in prompt, prompt != "none"))
    ]


def test_a_selection_exports_its_best_epoch_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A rate at which the held-out loss rises soon, so that patience ends the run before its last epoch.
    settings = [
        "model=smollm2",
        "method=lm",
        "method.lr=0.03",
        "method.epochs=12",
        "data.limit=64",
        "method.patience=2",
    ]
    whole = train(tmp_path, "run=whole", *settings)
    assert whole.returncode == 0, whole.stderr
    facts = json.loads((tmp_path / "whole" / "metrics.json").read_text())["training"]
    assert facts["selection"] == "heldout"
    with (tmp_path / "whole" / "log.csv").open() as file:
        losses = [
            float(row["value"])
            for row in csv.DictReader(file)
            if (row["split"], row["metric"]) == ("selection", "loss")
        ]
    assert len(losses) == facts["epochs"] < 12, "patience did not end the run: the test shows nothing"
    assert facts["exported_epoch"] == losses.index(min(losses)) + 1 == facts["epochs"] - 2
    begin = CausalLMModule.on_train_epoch_start

    def dying(module: CausalLMModule) -> None:
        if module.current_epoch == facts["epochs"] - 1:
            raise RuntimeError("killed")
        begin(module)

    with monkeypatch.context() as patch:
        patch.setattr(CausalLMModule, "on_train_epoch_start", dying)
        with pytest.raises(RuntimeError, match="killed"):
            train(tmp_path, "run=killed", *settings)
    assert (tmp_path / "killed" / "checkpoints" / "last.ckpt").is_file()
    resumed = train(tmp_path, "run=killed", *settings)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming from" in resumed.stderr
    weights, again = (
        load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "killed")
    )
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_a_debug_run_is_not_called_by_the_name_of_the_real_data(tmp_path: Path) -> None:
    assert train(tmp_path, *CAUSAL, "data=figqa_large", "run=debugged").returncode == 0
    metrics = json.loads((tmp_path / "debugged" / "metrics.json").read_text())
    assert metrics["data_name"] == "figqa_large_sample"
    assert not metrics["published_file"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["method=lm"], "method=lm trains causal models, and minilm-tiny is an encoder"),
        (
            ["method.direction=both", "method.format=pair"],
            "method.direction=both is for causal models and dual",
        ),
        (["method.text=legacy"], "method.text=legacy is the authors' wording for method=lm"),
        (["model=smollm2", "method.text=raw"], "method.text=raw is for encoders"),
        (["model=smollm2", "method.format=joint"], "method.format=joint is for encoders"),
        (["scoring=pmi"], "scoring=pmi is for causal models, but minilm-tiny is an encoder"),
        (["model=causal", "model.bos=none", "scoring=pmi"], "set scoring.bos=add or scoring.bos=<token id>"),
        (["model=smollm2", "model.dtype=bfloat16"], "model.dtype=bfloat16 would round away the small steps"),
        (["method.selection=heldout", "method.held_out=0"], "method.held_out=0.0 must be above 0"),
        (["model=smollm2", "scoring=loud"], "pmi"),
        (["peft.r=8"], "peft.r changes nothing under peft=none, which trains all weights; add peft=lora"),
    ],
)
def test_a_mistake_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *TINY, *arguments])
    assert expected in mistake(capsys, train_command)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["scoring=pmi"], "scoring=pmi is for causal models, but minilm is an encoder"),
        (
            ["model=smollm2", "scoring.norm=sum"],
            "scoring.norm changes a preset, which has to be named with it: scoring=clean",
        ),
        (["checkpoint=x", "model=minilm"], "checkpoint=x brings its own model and method; leave model= out"),
        (
            ["checkpoint=x", "++model.max_length=3"],
            "checkpoint=x brings its own model and method; leave model.max_length= out",
        ),
        (["method.format=pair"], "method.format= is for training and changes no evaluation"),
        (["data.train_limit=9"], "data.train_limit= is for training and changes no evaluation"),
        (["data.recombined=9"], "data.recombined= is for training and changes no evaluation"),
        (["data.drop_near_duplicates=false"], "data.drop_near_duplicates= is for training and changes no"),
        (["data.order=both"], "has data.order=both, which has no effect: only data.dataset=munch reads it"),
        (["trainer.precision=bf16-mixed"], "trainer.precision= is for training and changes no evaluation"),
        (["prompt=suffix"], "prompt=suffix is for other models: minilm reads its inputs as dual"),
        (["prompt.k=-1"], "prompt.k=-1 must be at least 0"),
        (["prompt.source=nowhere.txt", "prompt.k=1"], "prompt.source=nowhere.txt cannot be read"),
    ],
)
def test_a_mistake_in_an_evaluation_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate.py", *QUIET, *arguments])
    assert expected in mistake(capsys, evaluate_command)

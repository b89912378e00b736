"""NLI networks on MiQA: which statement is the premise, the published score, the order of the options that
changes nothing."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose as hydra_compose
from hydra import initialize_config_dir

from evaluate import main as evaluate_command
from figlang.config import EvaluateConfig, ModelConfig
from figlang.config.composing import compose
from figlang.config.presets import CONF
from figlang.config.roots import chosen
from figlang.files.sources import package_path
from figlang.models import networks
from figlang.runs.predictions import read_predictions
from figlang.scoring.nli import choices, judgements
from figlang.tasks.miqa import reading as miqa
from figlang.tasks.miqa.task import MiQa
from figlang.types import CLASSES, Prediction

SAMPLE = miqa.read(package_path(f"package:figlang/samples/miqa/{miqa.FILE}")).items
IMPLIES, IMPLIED_BY = SAMPLE[0], SAMPLE[2]
TASK, ON = MiQa(), "probabilities"


def test_the_options_of_implied_by_are_premises() -> None:
    rows = judgements([IMPLIES, IMPLIED_BY], 3, TASK.premises, TASK.contradicts)
    assert [(row.context, row.hypothesis) for row in rows] == [
        (IMPLIES.context, IMPLIES.options[0]),
        (IMPLIES.context, IMPLIES.options[1]),
        (IMPLIED_BY.options[0], IMPLIED_BY.context),
        (IMPLIED_BY.options[1], IMPLIED_BY.context),
    ]
    assert {row.gold for row in rows} == {None}, "a wrong option need not be contradicted"


def test_the_published_score_is_one_less_contradiction() -> None:
    # The first option is the more entailed, the second the less contradicted.
    logits = np.log([[0.6, 0.1, 0.3], [0.2, 0.7, 0.1]])
    judged = [Prediction(str(place), "g", None, tuple(row)) for place, row in enumerate(logits.tolist())]
    assert choices([IMPLIES], judged, TASK.entailment_score, ON)[0].scores == pytest.approx((-0.3, -0.1))
    assert choices([IMPLIES], judged, "entail", ON)[0].choice == 0
    assert choices([IMPLIES], judged, "entail_minus_contradict", ON)[0].scores == pytest.approx((0.3, 0.1))


def test_an_nli_network_is_blind_to_the_order_of_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    texts = [text for item in SAMPLE for text in (item.context, *item.options)]
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "nli", texts, 3)
    network.classifier.weight.data.normal_()
    networks.name_classes(network, list(CLASSES))
    network.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    output = tmp_path / "out"
    words = [
        "data=miqa_sample",
        f"model.name_or_path={tmp_path}/tiny",
        "scoring=nli",
        f"output={output}",
        "trainer=cpu",
    ]
    monkeypatch.setattr(sys, "argv", ["evaluate.py", *words, "trainer.progress=false"])
    evaluate_command()
    rows = read_predictions(output / "predictions.jsonl")
    assert len(rows) == len(SAMPLE)
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert one.scores == pytest.approx(other.scores[::-1], abs=1e-5)
        assert one.correct == other.correct
    assert "scoring:nli:not_contradict(on=probabilities)" in (output / "metrics.json").read_text()


def test_the_experiment_names_the_three_published_models() -> None:
    config = compose("evaluate", EvaluateConfig, ["experiment=miqa_table3_deberta"])
    assert (config.data.name, config.model.name, config.scoring and config.scoring.kind) == (
        "miqa",
        "nli_deberta_v3_small",
        "nli",
    )
    assert config.scoring is not None
    assert config.scoring.text == "raw"
    with initialize_config_dir(str(CONF), version_base="1.3"):
        swept = hydra_compose(
            chosen("evaluate", [])[0], ["experiment=miqa_table3_deberta"], return_hydra_config=True
        ).hydra.sweeper.params
    assert swept.model.split(",") == [f"nli_deberta_v3_{size}" for size in ("small", "base", "large")]
    assert swept.data.split(",") == ["miqa_implies", "miqa_implied_by"]

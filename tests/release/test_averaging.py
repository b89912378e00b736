"""The mean of seeds: exact for whole weights and adapters, nearest at a lower rank, and releasable."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft.utils import CONFIG_NAME
from peft.utils.merge_utils import dare_linear, dare_ties, ties
from safetensors.torch import load_file, save_file

from figlang.commands.average import made_by
from figlang.commands.average import main as average_command
from figlang.commands.release import main as release_command
from figlang.config import AverageConfig
from figlang.errors import FiglangError
from figlang.release import averaging
from tests import masked_models
from tests.calls import call
from train import main as train_command

A, B = "base_model.model.query.lora_A.weight", "base_model.model.query.lora_B.weight"
HEAD = "base_model.model.classifier.weight"


def adapters(folder: Path, seed: int, **settings: Any) -> Path:
    """An adapter of rank 2 for a layer from 5 to 4, and a head, as an export has them."""
    folder.mkdir()
    drawn = torch.Generator().manual_seed(seed)
    weights = {
        name: torch.randn(shape, generator=drawn)
        for name, shape in ((A, (2, 5)), (B, (4, 2)), (HEAD, (1, 4)))
    }
    save_file(weights, folder / "adapter_model.safetensors")
    plain = {
        "r": 2,
        "lora_alpha": 4,
        "use_dora": False,
        "use_rslora": False,
        "rank_pattern": {},
        "alpha_pattern": {},
    }
    (folder / CONFIG_NAME).write_text(json.dumps({**plain, **settings}))
    return folder


def added(weights: Any, settings: dict[str, Any]) -> torch.Tensor:
    """What an adapter adds to its layer."""
    root = settings["r"] ** 0.5 if settings["use_rslora"] else settings["r"]
    return settings["lora_alpha"] / root * weights[B] @ weights[A]


@pytest.mark.parametrize("rslora", [False, True])
@pytest.mark.parametrize("rank", [None, 4])
def test_the_mean_of_adapters_adds_the_mean_of_what_they_add(
    tmp_path: Path, rslora: bool, rank: int | None
) -> None:
    folders = [adapters(tmp_path / str(seed), seed, use_rslora=rslora) for seed in range(3)]
    each = [load_file(folder / "adapter_model.safetensors") for folder in folders]
    expected = sum(added(one, json.loads((folders[0] / CONFIG_NAME).read_text())) for one in each) / 3
    weights, settings = averaging.mean(folders, rank)
    assert settings is not None
    assert settings["r"] == (rank or 6) == weights[A].shape[0] == weights[B].shape[1]
    # Four is the rank of what is added, so that nothing is lost by it.
    torch.testing.assert_close(added(weights, settings), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(weights[HEAD], sum(one[HEAD] for one in each) / 3)
    apart = (
        settings["lora_alpha"]
        / settings["r"]
        * sum(one[B] for one in each)
        / 3
        @ sum(one[A] for one in each)
        / 3
    )
    assert not torch.allclose(apart, expected, atol=0.1), "A and B may not be averaged apart"


@pytest.mark.parametrize("rank", [None, 4])
def test_shares_weigh_what_is_averaged(tmp_path: Path, rank: int | None) -> None:
    folders, shares = [adapters(tmp_path / str(seed), seed) for seed in range(2)], [0.25, 0.75]
    each = [load_file(folder / "adapter_model.safetensors") for folder in folders]
    plain = json.loads((folders[0] / CONFIG_NAME).read_text())
    weights, settings = averaging.mean(folders, rank, shares)
    assert settings is not None
    torch.testing.assert_close(
        added(weights, settings), 0.25 * added(each[0], plain) + 0.75 * added(each[1], plain)
    )
    torch.testing.assert_close(weights[HEAD], 0.25 * each[0][HEAD] + 0.75 * each[1][HEAD])


@pytest.mark.filterwarnings("ignore:The density 1.0")  # the option is below 1
@pytest.mark.parametrize("way", ["mean", "dare"])
@pytest.mark.parametrize("other", [{"lora_alpha": 16}, {"use_rslora": True}])
def test_adapters_of_several_scales_are_each_taken_as_they_are(
    tmp_path: Path, other: dict[str, Any], way: str
) -> None:
    """Each was scaled like the first, so that a share of 0.75 of the second was another share of it."""
    folders = [adapters(tmp_path / "0", 0), adapters(tmp_path / "1", 1, **other)]
    each = [
        added(load_file(folder / "adapter_model.safetensors"), json.loads((folder / CONFIG_NAME).read_text()))
        for folder in folders
    ]
    weights, settings = averaging.mean(folders, None, [0.25, 0.75], way)
    assert settings is not None
    expected = 0.25 * each[0] + 0.75 * each[1]
    torch.testing.assert_close(added(weights, settings), expected, atol=1e-4, rtol=0)


def test_a_lower_rank_keeps_the_largest_part_and_says_how_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "figlang")
    folders = [adapters(tmp_path / str(seed), seed) for seed in range(3)]
    whole = added(*averaging.mean(folders, None))  # type: ignore[arg-type]
    U, S, Vh = torch.linalg.svd(whole)
    found = added(*averaging.mean(folders, 2))  # type: ignore[arg-type]
    torch.testing.assert_close(found, U[:, :2] * S[:2] @ Vh[:2], atol=1e-4, rtol=0)
    share = 100 * float(S[:2].square().sum() / S.square().sum())
    assert f"rank 2 of 6 keeps {share:.1f} % of the squared length" in caplog.text


def test_whole_weights_are_averaged_and_counters_are_kept(tmp_path: Path) -> None:
    for seed in (0, 1):
        (tmp_path / str(seed)).mkdir()
        save_file(
            {"w": torch.full((2,), float(seed)), "n": torch.tensor(7)},
            tmp_path / str(seed) / "model.safetensors",
        )
    weights, settings = averaging.mean([tmp_path / "0", tmp_path / "1"], None)
    assert (weights["w"].tolist(), weights["n"].item(), settings) == ([0.5, 0.5], 7, None)


@pytest.mark.parametrize("kind", ["IA3", "VERA", "PROMPT_TUNING"])
def test_kinds_that_add_no_product_of_two_matrices_are_refused(tmp_path: Path, kind: str) -> None:
    folder = adapters(tmp_path / "other", 0, peft_type=kind)
    with pytest.raises(FiglangError, match=f"holds adapters of peft={kind.lower()}, which have no mean"):
        averaging.mean([folder, folder], None)


def test_what_has_no_mean_is_refused(tmp_path: Path) -> None:
    plain, dora = adapters(tmp_path / "plain", 0), adapters(tmp_path / "dora", 1, use_dora=True)
    with pytest.raises(FiglangError, match="do not have a mean of the same kind"):
        averaging.mean([dora, plain], None)
    of_layers = adapters(tmp_path / "layers", 1, alpha_pattern={"query": 8})
    with pytest.raises(FiglangError, match="do not have a mean of the same kind"):
        averaging.mean([plain, of_layers], None, [0.5, 0.5])
    with pytest.raises(FiglangError, match="rank=5 is more than the 4"):
        averaging.mean([plain, plain], 5)
    save_file({"w": torch.zeros(1)}, plain / "adapter_model.safetensors")
    with pytest.raises(FiglangError, match="hold different weights"):
        averaging.mean([dora, plain], None)
    with pytest.raises(
        FiglangError, match=r"holds neither adapter_model\.safetensors nor model\.safetensors"
    ):
        averaging.mean([tmp_path], None)


def of_release(monkeypatch: pytest.MonkeyPatch, run: Path, folder: Path) -> dict[str, Any]:
    """Release a run into a folder, and read what its metrics.json says of the release."""
    words = [f"run={run}", f"name={folder.name}", f"output={folder.parent}", "against=[figqa_sample]"]
    call(monkeypatch, release_command, *words)
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())["release"]
    return found


def test_seeds_become_one_run_that_can_be_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [f"{tmp_path}/seed{seed}" for seed in (0, 1)]
    for seed, run in enumerate(runs):
        call(monkeypatch, train_command, "debug=fast", "data.limit=8", f"seed={seed}", f"run={run}")
    call(monkeypatch, average_command, *runs, f"output={tmp_path}/mean")
    content = json.loads((tmp_path / "mean" / "metrics.json").read_text())
    assert content["averaged"] == runs
    assert "mean of 2 seeds|" in content["signature"]
    each = [load_file(Path(run) / "model" / "model.safetensors") for run in runs]
    found = load_file(tmp_path / "mean" / "model" / "model.safetensors")
    name = next(name for name, value in found.items() if value.is_floating_point())
    torch.testing.assert_close(found[name], (each[0][name] + each[1][name]) / 2)
    released = of_release(monkeypatch, tmp_path / "mean", tmp_path / "soup")
    assert [one["seed"] for one in released["seeds"]] == [0, 1]
    card = (tmp_path / "soup" / "README.md").read_text()
    assert "| mean of 2 seeds, released | mean ± sd |" in card
    each_run = [json.loads((Path(run) / "metrics.json").read_text()) for run in runs]
    # Its items are as clean as those of its runs.
    clean, *cleans = (
        {k: v for k, v in one["clean"].items() if k != "accuracy"} for one in (content, *each_run)
    )
    assert cleans == [clean, clean]
    costs, cost = [one["training"] for one in each_run], content["training"]
    assert cost["peak_memory_mb"] == max(one["peak_memory_mb"] for one in costs)
    read = sum(one["tokens_per_second"] * one["seconds"] for one in costs)
    assert cost["tokens_per_second"] * cost["seconds"] == pytest.approx(read)
    assert "s of training, 2 seeds together," in card
    # A mean is made again from its seeds only.
    for command in (*(one["command"] for one in each_run), content["command"]):
        assert command.replace(f"{tmp_path}/", "") in card
    other = Path(runs[1]) / "model" / "figlang.json"
    other.write_text(json.dumps({**json.loads(other.read_text()), "base_sha256": "another"}))
    damaged = tmp_path / "damaged"
    shutil.copytree(runs[1], damaged)
    (damaged / "recipe.json").write_text("{")
    for words, said in (
        ([runs[0], str(damaged), f"output={tmp_path}/again"], f"{damaged}/recipe.json is damaged"),
        ([*runs, f"output={tmp_path}/again"], "are for different networks"),
        ([runs[0], f"output={tmp_path}/again"], "give two runs or more"),
        ([runs[0], f"output={tmp_path}/again", "start=1"], "start=1.0 must be at least 0 and below 1"),
        (
            [runs[0], f"output={tmp_path}/again", "start=0.5"],
            "which is not a run or checkpoint; start= also takes LoRA adapters without a head",
        ),
        ([*runs, f"output={tmp_path}/mean"], "already exists"),
        ([runs[0], f"{tmp_path}/mean", f"output={tmp_path}/again"], "differs from"),
        ([runs[0], f"{tmp_path}/seed1/../seed0", f"output={tmp_path}/again"], "are of the same seed"),
    ):
        with pytest.raises(SystemExit):
            call(monkeypatch, average_command, *words)
        assert said in capsys.readouterr().err


def test_seeds_that_are_each_averaged_with_their_start_are_released_as_one_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    call(monkeypatch, train_command, "debug=fast", "data.limit=8", f"run={tmp_path}/before")
    words = ["debug=fast", "data.limit=8", "model.init=pretrained", "model.name_or_path=before"]
    for seed in (0, 1):
        monkeypatch.chdir(tmp_path)  # where the relative path leads
        call(monkeypatch, train_command, *words, f"seed={seed}", f"run={tmp_path}/on/seed{seed}")
        monkeypatch.chdir(tmp_path / "elsewhere")
        call(
            monkeypatch,
            average_command,
            f"{tmp_path}/on/seed{seed}",
            "start=0.5",
            f"output={tmp_path}/half/seed{seed}",
        )
    before, after, half = (
        load_file(tmp_path / one / "model" / "model.safetensors")
        for one in ("before", "on/seed1", "half/seed1")
    )
    for name in (name for name, value in half.items() if value.is_floating_point()):
        torch.testing.assert_close(half[name], (before[name] + after[name]) / 2)
    released = of_release(monkeypatch, tmp_path / "half" / "seed1", tmp_path / "wise")
    each = [json.loads((tmp_path / "half" / f"seed{seed}" / "metrics.json").read_text()) for seed in (0, 1)]
    expected = [(seed, one["metrics"]["accuracy"]["value"]) for seed, one in enumerate(each)]
    assert [(one["seed"], one["accuracy"]) for one in released["seeds"]] == expected
    card = (tmp_path / "wise" / "README.md").read_text()
    assert "Method contrastive, 0.5 × start + 0.5 × one seed," in card
    assert "Averaged in weights: 0.5 × start + 0.5 × one seed." in card
    assert "| seed 1, released | mean ± sd | seed 0 | seed 1 |" in card
    assert "start=0.5" in card


@pytest.mark.every
def test_a_mean_is_released_from_another_folder_than_that_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    for seed in (0, 1):
        call(monkeypatch, train_command, "debug=fast", "data.limit=8", f"seed={seed}", f"run=on/seed{seed}")
    call(monkeypatch, average_command, "on/seed0", "on/seed1", "output=mean")
    monkeypatch.chdir(tmp_path / "elsewhere")
    words = [f"run={tmp_path}/mean", "name=m", "output=out", "against=[figqa_sample]"]
    call(monkeypatch, release_command, *words)
    released = json.loads(Path("out/m/metrics.json").read_text())["release"]
    assert [one["seed"] for one in released["seeds"]] == [0, 1]
    shutil.rmtree(tmp_path / "on" / "seed1")
    with pytest.raises(SystemExit):
        call(monkeypatch, release_command, *words, "overwrite=true")
    assert f"{tmp_path}/mean is the mean of on/seed1 and others, which is not here" in capsys.readouterr().err


def test_adapters_over_a_network_as_it_comes_shrink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = masked_models.word_pieces()
    for part in (masked_models.network("bert", tokenizer), tokenizer):
        part.save_pretrained(tmp_path / "plain")
    words = ["debug=fast", "data.limit=8", "model.init=pretrained", f"model.name_or_path={tmp_path}/plain"]
    words += ["peft=lora", "method.lr=0.01", "model.max_length=64"]
    for seed in (0, 1):
        seeded = [f"seed={seed}", f"run={tmp_path}/seed{seed}", "method.format=dual"]
        call(monkeypatch, train_command, *words, *seeded)
    runs = [f"{tmp_path}/seed{seed}" for seed in (0, 1)]
    call(monkeypatch, average_command, *runs, "start=0.25", f"output={tmp_path}/mean")
    mean = sum(query(Path(run) / "model") for run in runs) / 2
    assert mean.abs().max() > 0
    torch.testing.assert_close(query(tmp_path / "mean" / "model"), 0.75 * mean)
    card = (tmp_path / "mean" / "model" / "README.md").read_text()
    assert "Averaged in weights: 0.25 × start + 0.75 × mean of 2 seeds." in card
    # A head was random before, so a share of what it began from says nothing.
    call(monkeypatch, train_command, *words, f"run={tmp_path}/headed", "method.format=pair")
    with pytest.raises(SystemExit):
        call(monkeypatch, average_command, f"{tmp_path}/headed", "start=0.25", f"output={tmp_path}/no")
    assert "LoRA adapters without a head" in capsys.readouterr().err


@pytest.mark.every
def test_new_adapters_over_a_run_of_whole_weights_shrink_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["debug=fast", "data.limit=8", "method.format=dual", "model.max_length=64"]
    call(monkeypatch, train_command, *words, f"run={tmp_path}/whole")
    words += ["model.init=pretrained", f"model.name_or_path={tmp_path}/whole", "peft=lora", "method.lr=0.01"]
    call(monkeypatch, train_command, *words, f"run={tmp_path}/over")
    call(monkeypatch, average_command, f"{tmp_path}/over", "start=0.5", f"output={tmp_path}/half")
    whole, half = (query(tmp_path / name / "model") for name in ("over", "half"))
    assert whole.abs().max() > 0
    torch.testing.assert_close(half, whole / 2)


def test_adapters_of_an_embedding_are_refused(tmp_path: Path) -> None:
    folders = [adapters(tmp_path / str(seed), seed) for seed in (0, 1)]
    for folder in folders:
        file = folder / "adapter_model.safetensors"
        save_file({**load_file(file), "words.lora_embedding_A": torch.ones(2, 3)}, file)
    with pytest.raises(FiglangError, match="lora_embedding_A"):
        averaging.mean(folders, None)


def query(folder: Path) -> torch.Tensor:
    """What adapters add to the first query matrix."""
    settings = json.loads((folder / CONFIG_NAME).read_text())
    weights = load_file(folder / "adapter_model.safetensors")
    down = min(name for name in weights if "layer.0" in name and "query.lora_A" in name)
    return added({A: weights[down], B: weights[down.replace("lora_A", "lora_B")]}, settings)


def dense(folder: Path) -> torch.Tensor:
    settings = json.loads((folder / CONFIG_NAME).read_text())
    return added(load_file(folder / "adapter_model.safetensors"), settings)


@pytest.mark.parametrize(
    ("way", "reference"), [("ties", ties), ("dare_ties", dare_ties), ("dare", dare_linear)]
)
def test_what_adapters_add_is_merged_as_peft_merges_it(tmp_path: Path, way: str, reference: Any) -> None:
    folders = [adapters(tmp_path / str(seed), seed) for seed in range(3)]
    torch.manual_seed(5)
    factors = torch.full((3,), 1 / 3 if way == "dare" else 1.0)
    expected = reference([dense(folder) for folder in folders], factors, 0.6)
    torch.manual_seed(5)
    weights, settings = averaging.mean(folders, None, way=way, density=0.6)
    assert settings is not None
    assert weights[A].shape[0] == weights[B].shape[1] == settings["r"] == 6
    torch.testing.assert_close(added(weights, settings), expected)
    heads = [load_file(folder / "adapter_model.safetensors")[HEAD] for folder in folders]
    torch.testing.assert_close(weights[HEAD], torch.stack(heads).mean(0))


@pytest.mark.filterwarnings("ignore:The density 1.0")  # the option is below 1
def test_dare_that_drops_nothing_is_the_mean(tmp_path: Path) -> None:
    folders = [adapters(tmp_path / str(seed), seed) for seed in range(2)]
    merged, mean = averaging.mean(folders, None, way="dare", density=1.0), averaging.mean(folders, None)
    assert merged[1] is not None
    assert mean[1] is not None
    torch.testing.assert_close(added(merged[0], merged[1]), added(mean[0], mean[1]))


def test_ties_of_whole_networks_is_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        save_file({"weight": torch.ones(2)}, tmp_path / name / "model.safetensors")
    with pytest.raises(FiglangError, match="way=ties merges what adapters add"):
        averaging.mean([tmp_path / "a", tmp_path / "b"], None, way="ties")
    with pytest.raises(FiglangError, match="leave start= out"):
        AverageConfig(runs=["a", "b"], output="c", way="dare", start=0.5)


def test_the_words_for_a_mean_name_what_was_dropped() -> None:
    runs = AverageConfig(runs=["a", "b"], output="c", way="ties", density=0.3)
    assert made_by(runs, False) == ["mean of 2 seeds", "ties at density 0.3"]
    assert made_by(AverageConfig(runs=["a", "b"], output="c", rank=8), True) == [
        "mean of 2 seeds",
        "rank 8",
    ]

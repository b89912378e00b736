"""The mean of runs of several recipes, and what is measured of a mean of causal networks."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from figlang.commands.average import main as average_command
from figlang.commands.release import main as release_command
from tests.calls import call
from tests.documents import metrics_of
from train import main as train_command

CAUSAL = ["debug=fast", "model=gpt2", "data.limit=8", "method.direction=both", "method.lr=0.01"]
ANCHORED = ["method.anchor=positive", "method.anchor_weight=5"]


def test_runs_of_two_recipes_with_shares_become_one_that_can_be_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [tmp_path / "anchored", tmp_path / "plain"]
    call(monkeypatch, train_command, *CAUSAL, *ANCHORED, f"run={runs[0]}")
    call(monkeypatch, train_command, *CAUSAL, f"run={runs[1]}")
    two, mean = list(map(str, runs)), tmp_path / "mean"
    with pytest.raises(SystemExit):
        call(monkeypatch, average_command, *two, f"output={mean}")
    assert "or say how much of each with shares=" in capsys.readouterr().err
    call(monkeypatch, average_command, *two, "shares=[0.75,0.25]", f"output={mean}")
    first, second, found = (load_file(folder / "model" / "model.safetensors") for folder in (*runs, mean))
    name = next(name for name, value in first.items() if not torch.equal(value, second[name]))
    torch.testing.assert_close(found[name], 0.75 * first[name] + 0.25 * second[name])
    assert metrics_of(mean)["shares"] == [0.75, 0.25]
    assert "contrastive-anchored, 0.75 × run 1 + 0.25 × run 2|" in metrics_of(mean)["signature"]

    call(
        monkeypatch,
        release_command,
        f"run={mean}",
        "name=soup",
        f"output={tmp_path}",
        "against=[figqa_sample]",
    )
    card = (tmp_path / "soup" / "README.md").read_text()
    assert "Averaged in weights: 0.75 × run 1 + 0.25 × run 2." in card
    assert "| of the runs | mean, released | run 1 | run 2 |" in card
    assert "- run 1: 8 items" in card
    assert "s of training, 2 runs together" in card
    for run in runs:
        assert metrics_of(run)["command"].replace(f"{tmp_path}/", "") in card
    with pytest.raises(SystemExit):
        call(
            monkeypatch, release_command, f"run={mean}", "name=no", f"output={tmp_path}", f"seeds=[{runs[0]}]"
        )
    assert "is a mean of several recipes and has no seeds; leave seeds= out" in capsys.readouterr().err


@pytest.mark.every
def test_a_share_of_one_run_is_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [str(tmp_path / "seed0"), str(tmp_path / "seed1")]
    for seed, run in enumerate(runs):
        call(monkeypatch, train_command, *CAUSAL, f"seed={seed}", f"run={run}")
    call(monkeypatch, average_command, *runs, "shares=[1,0]", f"output={tmp_path}/mean")
    of_mean, of_run = metrics_of(tmp_path / "mean"), metrics_of(tmp_path / "seed0")
    assert of_mean["training"]["log_probs"]["before"] == of_run["training"]["log_probs"]["before"]
    for kind in ("gold", "wrong"):
        expected = of_run["training"]["log_probs"]["after"][kind]
        assert of_mean["training"]["log_probs"]["after"][kind] == pytest.approx(expected, abs=1e-4)


def test_shares_of_less_than_one_leave_the_rest_to_the_network_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    adapters = [*CAUSAL, "peft=lora", "peft.target_modules=[c_attn]"]
    for name, words in (("anchored", [*adapters, *ANCHORED]), ("plain", adapters), ("whole", CAUSAL)):
        call(monkeypatch, train_command, *words, f"run={tmp_path}/{name}")
    two = [f"{tmp_path}/anchored", f"{tmp_path}/plain"]
    call(monkeypatch, average_command, *two, "shares=0.3,0.2", f"output={tmp_path}/mean")
    first, second, found = (added(tmp_path / name) for name in ("anchored", "plain", "mean"))
    for layer, update in found.items():
        torch.testing.assert_close(update, 0.3 * first[layer] + 0.2 * second[layer], rtol=1e-4, atol=1e-7)
    signature = metrics_of(tmp_path / "mean")["signature"]
    assert "0.3 × run 1 + 0.2 × run 2 + 0.5 × the network as it comes|" in signature

    call(monkeypatch, average_command, f"{tmp_path}/mean", "shares=0.5", f"output={tmp_path}/half")
    for layer, update in added(tmp_path / "half").items():
        torch.testing.assert_close(update, 0.5 * found[layer])
    released = [f"run={tmp_path}/half", "name=half", f"output={tmp_path}/rel", "against=[figqa_sample]"]
    call(monkeypatch, release_command, *released)
    card = (tmp_path / "rel" / "half" / "README.md").read_text()
    assert "Averaged in weights: 0.5 × run 1 + 0.5 × the network as it comes." in card
    assert "One run was trained, in %" in card

    with pytest.raises(SystemExit):
        call(monkeypatch, average_command, f"{tmp_path}/whole", "shares=0.5", f"output={tmp_path}/no")
    assert "whole/model is not LoRA without a head, which alone can leave" in capsys.readouterr().err


def added(run: Path) -> dict[str, torch.Tensor]:
    """What the adapters of a run add to each layer."""
    settings = json.loads((run / "model" / "adapter_config.json").read_text())
    weights = load_file(run / "model" / "adapter_model.safetensors")
    scale = settings["lora_alpha"] / settings["r"]
    return {
        name: scale * weights[name.replace(".lora_A.", ".lora_B.")] @ down
        for name, down in weights.items()
        if ".lora_A." in name
    }


def test_the_likelihood_of_a_mean_is_measured_and_not_that_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [tmp_path / "seed0", tmp_path / "seed1"]
    for seed, run in enumerate(runs):
        call(monkeypatch, train_command, *CAUSAL, f"seed={seed}", f"run={run}")
    call(monkeypatch, average_command, *map(str, runs), f"output={tmp_path}/mean")
    gold = [metrics_of(run)["training"]["log_probs"]["after"]["gold"] for run in (*runs, tmp_path / "mean")]
    assert len(set(gold)) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shares=[0.5]"], "shares= has 1 number for 2 runs; give one for each"),
        (
            ["shares=[0.5,0.6]"],
            "the numbers of shares= are 1.1 together; give numbers that are 1, or less if",
        ),
        (["shares=[0,0]"], "the numbers of shares= are 0 together; give numbers that are 1, or less if"),
        (["shares=[1.5,-0.5]"], "must be at least 0 and at most 1"),
        (["shares=[0.5,0.5]", "start=0.5"], "shares= cannot be used with start="),
    ],
)
def test_shares_that_are_none_are_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        call(monkeypatch, average_command, "a", "b", *words, f"output={tmp_path}/mean")
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data.limit=6"], "have other training or validation items; average runs of the same data"),
        (["scoring=pmi"], "differ in scoring and have no mean; average runs of one network and one scoring"),
    ],
)
def test_runs_that_do_not_measure_the_same_have_no_mean(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [str(tmp_path / "one"), str(tmp_path / "other")]
    call(monkeypatch, train_command, *CAUSAL, f"run={runs[0]}")
    call(monkeypatch, train_command, *CAUSAL, *words, f"run={runs[1]}")
    with pytest.raises(SystemExit):
        call(monkeypatch, average_command, *runs, "shares=[0.5,0.5]", f"output={tmp_path}/mean")
    assert said in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


def test_released_checkpoints_of_two_recipes_have_a_mean_whatever_settings_came_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    adapters = [*CAUSAL, "peft=lora", "peft.target_modules=[c_attn]"]
    call(monkeypatch, train_command, *adapters, *ANCHORED, f"run={tmp_path}/anchored")
    call(monkeypatch, train_command, *adapters, f"run={tmp_path}/plain")
    other = ["model=minilm", "method.direction=forward", f"run={tmp_path}/other"]
    call(monkeypatch, train_command, *CAUSAL, *other)
    for name in ("anchored", "plain"):
        words = [f"run={tmp_path}/{name}", f"name={name}", f"output={tmp_path}/rel", "against=[figqa_sample]"]
        call(monkeypatch, release_command, *words)
    released = [str(tmp_path / "rel" / name) for name in ("anchored", "plain")]
    document = metrics_of(Path(released[0]))
    del document["data"]["settings"]["fold"]  # an older version had no such setting
    (Path(released[0]) / "metrics.json").write_text(json.dumps(document))

    call(monkeypatch, average_command, *released, "shares=[0.5,0.5]", f"output={tmp_path}/mean")
    assert metrics_of(tmp_path / "mean")["shares"] == [0.5, 0.5]
    files = {path.name for path in (tmp_path / "mean" / "model").iterdir()}
    assert not files & {"metrics.json", "config.yaml", "predictions.jsonl"}
    for words, said in (
        ([released[0], str(tmp_path / "other"), "shares=[0.5,0.5]"], "are for different networks"),
        ([released[0], str(tmp_path / "nothing"), "shares=[0.5,0.5]"], "there is no folder"),
        ([released[0], "start=0.5"], "does not say what it began from"),
    ):
        with pytest.raises(SystemExit):
            call(monkeypatch, average_command, *words, f"output={tmp_path}/no")
        assert said in capsys.readouterr().err

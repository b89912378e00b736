"""What a multirun says of each run."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra

from figlang.config.multirun import check_folder, composed_once, searched, typed
from figlang.errors import FiglangError
from tests.running import run

QUIET = ["model=minilm", "model.init=tiny", "blind=false", "trainer.progress=false"]


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        (r"model.endpoint=http\://localhost\:8000/v1", "model.endpoint=http://localhost:8000/v1"),
        (r"prompt.template='a \(b\)'", "prompt.template='a (b)'"),
        ("seed=1", "seed=1"),
        ("method.lr=0.0001", "method.lr=1e-4"),
        ("method.lr=1.5e-05", "method.lr=1.5e-5"),
        ("method.lr=0.01", "method.lr=0.01"),
        ("name=0.0001b", "name=0.0001b"),
    ],
)
def test_words_are_shown_as_they_are_typed(word: str, plain: str) -> None:
    assert typed(word) == plain


@pytest.mark.parametrize(
    ("words", "several"),
    [
        ("-m method.lr=1e-5,3e-5 seed=0,1", True),
        ("--multirun data=figqa_small,figqa_medium", True),
        ("-m seed=0,1", False),
        ("-m peft.targets=[q,v] seed=0,1", False),
        ("-m peft.targets=[q,v],[q,k]", True),
        ("-m name='a,b' seed=0", False),
        ("method.lr=1e-5,3e-5", False),
    ],
)
def test_several_values_of_a_setting_are_a_search(words: str, several: bool) -> None:
    assert searched(words.split()) is several


def test_a_search_without_a_selection_is_told_so_before_its_first_training(tmp_path: Path) -> None:
    words = ["model=minilm", "debug=fast", "data=figqa_small", "data.limit=8", "method.epochs=1", "-m"]
    ended = run(tmp_path, "train.py", *words, "method.lr=1e-5,1e-4", "seed=0")
    assert ended.returncode == 0, ended.stderr
    assert "method.lr=1e-4 seed=0" in ended.stderr, "as it was typed"
    assert "no setting will be marked as the best: method.selection=heldout" in ended.stderr
    assert ended.stderr.count("no setting will be marked") == 1
    assert ended.stderr.index("no setting will be marked") < ended.stderr.index("#2: ")


def test_one_folder_for_several_trainings_is_refused_before_the_first(tmp_path: Path) -> None:
    ended = run(tmp_path, "train.py", "-m", *QUIET, "debug=fast", "run=runs/all", "seed=0,1")
    assert ended.returncode == 2
    assert "run=runs/all is one folder for several runs; leave it out, or give" in ended.stderr
    assert not (tmp_path / "runs" / "all").exists()
    with pytest.raises(FiglangError, match=r"'run=a/model\$\{model.name\}-lr\$\{method.lr\}'"):
        check_folder(["-m", "run=a", "model=bert,roberta", "method.lr=1e-5,1e-4"])
    for words in ("run=a seed=0,1", "-m run=a seed=0", "-m run=a/${seed} seed=0,1", "-m run=a,b seed=0"):
        check_folder(words.split())


def test_each_run_takes_at_most_five_lines(tmp_path: Path) -> None:
    words = ["-m", *QUIET, "data=figqa_sample,miqa_sample", "data.limit=10", "seed=0"]
    ended = run(tmp_path, "evaluate.py", *words)
    assert ended.returncode == 0, ended.stderr
    heads = [line for line in ended.stderr.splitlines() if line.startswith("#")]
    assert [line.split(":")[0] for line in heads] == ["#1", "#2"]
    assert "Launching" not in ended.stderr
    assert "data=miqa_sample" in heads[1]
    assert len((ended.stdout + ended.stderr).splitlines()) <= 2 * 5
    told = [line for line in ended.stdout.splitlines() if "accuracy" in line]
    assert len(told) == 2
    assert all(re.search(r": accuracy \d+\.\d\d % \(\d+\.\d – \d+\.\d\)", line) for line in told)


def test_a_run_that_fails_says_that_it_ended_the_sweep(tmp_path: Path) -> None:
    ended = run(tmp_path, "evaluate.py", "-m", *QUIET, "data.limit=10", "max_length=1,32")
    assert ended.returncode == 2
    *_, error, told = ended.stderr.splitlines()
    assert error.startswith("error: ")
    assert told == "#1 failed and ended the sweep; mend its cause, and the same command goes on from there"


def test_a_single_run_has_its_tables(tmp_path: Path) -> None:
    ended = run(tmp_path, "evaluate.py", *QUIET, "data.limit=10")
    assert ended.returncode == 0, ended.stderr
    assert "signature" in ended.stdout
    assert "95 % CI" in ended.stdout


@pytest.mark.parametrize(
    ("words", "times"),
    [
        ("seed=1", 1),
        ("-m seed=0", 3),  # the sweep, whether its run is valid, and the run
        ("hydra.verbose=false", 2),
        ("experiment=figqa_zero_shot_gpt2", 2),
    ],
)
def test_options_are_composed_once_unless_they_can_ask_for_several_runs(
    tmp_path: Path, words: str, times: int
) -> None:
    compose = ConfigLoaderImpl.load_configuration
    fast = [*QUIET[1:], "debug=fast", *words.split()]
    with patch.object(ConfigLoaderImpl, "load_configuration", autospec=True, side_effect=compose) as composed:
        ended = run(tmp_path, "evaluate.py", *fast)
    assert (ended.returncode, composed.call_count) == (0, times), ended.stderr


@pytest.mark.parametrize(
    "word", ["experiment=x", "+experiment=x", "hydra/sweeper=optuna", "--config-dir=x", "-cd"]
)
def test_hydra_looks_for_several_runs_where_a_word_can_ask_for_them(word: str) -> None:
    find = Hydra.get_mode
    with composed_once(["seed=1", word]):
        assert Hydra.get_mode is find
    with composed_once(["-m", "seed=1", "data.experiments=x"]):
        assert Hydra.get_mode is not find
        assert Hydra.get_mode(None, "", []) is None
        assert Hydra.get_mode is find, "a command within the command looks for itself"

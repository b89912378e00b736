"""Results that are not there are answered with those that are."""

from pathlib import Path

import pytest

from figlang.errors import FiglangError
from figlang.runs.predictions import read_predictions


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("mine-validation", "did you mean {0}/mine-validation-2f595e4613e3? "),
        ("as_it_cmes", "did you mean {0}/as_it_comes? "),
        ("notes", ""),  # beside it, but no results
        ("other", ""),
        ("absent/seed0", ""),
    ],
)
def test_a_folder_that_is_not_there_is_answered_with_the_nearest(
    asked: str, meant: str, tmp_path: Path
) -> None:
    for name in ("mine-validation-2f595e4613e3", "as_it_comes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "predictions.jsonl").touch()
    (tmp_path / "notes2").mkdir()
    with pytest.raises(FiglangError) as raised:
        read_predictions(tmp_path / asked)
    expected = f"no predictions file {tmp_path / asked}; {meant.format(tmp_path)}figlang evaluate writes one"
    assert str(raised.value) == expected


def test_a_folder_of_seeds_is_answered_with_the_seeds(tmp_path: Path) -> None:
    for seed in range(3):
        (tmp_path / f"seed{seed}").mkdir()
        (tmp_path / f"seed{seed}" / "predictions.jsonl").touch()
    with pytest.raises(FiglangError) as raised:
        read_predictions(tmp_path / "predictions.jsonl")
    assert str(raised.value) == (
        f"no predictions file {tmp_path}/predictions.jsonl; the folder holds 3 results; name each of them: "
        f"{tmp_path}/seed0 {tmp_path}/seed1 …"
    )


def test_a_folder_of_the_harness_is_answered_with_its_samples(tmp_path: Path) -> None:
    (tmp_path / "samples_mine_2026.jsonl").touch()
    with pytest.raises(FiglangError, match=r"name the samples of the task: .*samples_mine_2026\.jsonl$"):
        read_predictions(tmp_path / "predictions.jsonl")


def test_an_unfinished_run_is_answered_with_the_command_that_resumes_it(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "recipe.json").write_text("{}")
    (tmp_path / "checkpoints" / "command.txt").write_text("figlang train seed=1\n")
    with pytest.raises(FiglangError, match=r"is an unfinished run; it is resumed by: figlang train seed=1$"):
        read_predictions(tmp_path / "predictions.jsonl")

"""The sentence about pair accuracy beside accuracy, and the command that scores two systems alike."""

import json
from pathlib import Path

import pytest

from figlang.reports import differences, pairs
from figlang.runs.systems import Pool, System
from figlang.statistics.metrics import Estimate


def share(value: float, chance: float | None) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, 100, chance)


@pytest.mark.parametrize(
    ("accuracy", "chances", "wanted"),
    [
        (0.595, (0.5, 0.25), 0.354),
        (0.5, (0.5, 0.125), 0.125),
        (0.9, (0.5, None), None),
        (0.9, (0.5, 0.3), None),
    ],
)
def test_pairs_to_expect_are_those_of_independent_answers(
    accuracy: float, chances: tuple[float, float | None], wanted: float | None
) -> None:
    found = pairs.expected(share(accuracy, chances[0]), share(0.2, chances[1]))
    assert found == (None if wanted is None else pytest.approx(wanted, abs=5e-4))


def test_the_sentence_has_the_numbers() -> None:
    said = pairs.sentence(share(0.595, 0.5), share(0.2, 0.25))
    assert "gets no pair right. At an accuracy of 59.5 %, 35.4 % of the pairs" in said
    assert said.endswith("independent; 20.0 % are.")
    assert pairs.sentence(share(0.595, 0.5), None) == ""


def pool(folder: Path, name: str, scoring: str, command: str = "", norm: str = "mean") -> Pool:
    content = {
        "facts": {"scoring": f"{scoring}(a=1)", "norm": norm},
        **({"command": command} if command else {}),
    }
    return Pool(name, (System(name, folder, content, (), name),))


def test_systems_that_were_scored_in_different_ways_get_the_command_that_scores_them_alike(
    tmp_path: Path,
) -> None:
    first = pool(tmp_path, "a", "clean")
    by_command = pool(
        tmp_path, "b", "pmi", "python evaluate.py model=gpt2 scoring=pmi scoring.norm=mean name=x"
    )
    *_, scored, command = differences.notes([first, by_command], ())
    assert scored.startswith("Scored in different ways: a by clean, mean; b by pmi, mean.")
    wanted = "figlang evaluate model=gpt2 scoring=clean scoring.norm=mean name=clean_mean"
    assert command == f"To score b like the first: {wanted}"
    (tmp_path / "figlang.json").write_text(json.dumps({}))
    *_, command = differences.notes([first, pool(tmp_path, "b", "pmi")], ())
    assert f"figlang evaluate checkpoint={tmp_path} scoring=clean" in command
    alike = " ".join(differences.notes([first, pool(tmp_path, "b", "clean")], ()))
    assert "Scored in different ways" not in alike
    *_, scored, command = differences.notes([first, pool(tmp_path, "b", "clean", norm="byte")], ())
    assert "a by clean, mean; b by clean, byte" in scored

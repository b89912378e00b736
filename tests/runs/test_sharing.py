"""Systems of different items: how many each has, and the comparison on the items that all share."""

from pathlib import Path

import pytest

from figlang.api.comparing import of_paths
from figlang.errors import FiglangError
from figlang.runs.predictions import write_predictions
from figlang.types import Prediction


def written(path: Path, first: int, last: int, wrong: int, gold: int = 0) -> str:
    rows = [
        Prediction(f"i{n}", f"g{n // 2}", gold, (0.0, 1.0) if n % wrong == 0 else (1.0, 0.0))
        for n in range(first, last)
    ]
    write_predictions(path, rows)
    return str(path)


def test_different_items_are_refused_with_the_numbers_and_the_way_out(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one.jsonl", 0, 60, 3), written(tmp_path / "two.jsonl", 20, 100, 4)
    with pytest.raises(FiglangError, match=r"one has 60, two has 80, and they share 40; add common=true"):
        of_paths([one, two])
    apart = written(tmp_path / "three.jsonl", 200, 260, 3)
    with pytest.raises(FiglangError, match=r"they share 0; evaluate them on the same data"):
        of_paths([one, apart])
    other = written(tmp_path / "four.jsonl", 0, 60, 3, gold=1)
    with pytest.raises(FiglangError, match="with other answers"):
        of_paths([one, other], common=True)


def test_shared_items_are_compared_as_if_there_were_no_others(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one.jsonl", 0, 60, 3), written(tmp_path / "two.jsonl", 20, 100, 4)
    (tmp_path / "cut").mkdir()
    same = [
        written(tmp_path / "cut" / f"{name}.jsonl", 20, 60, wrong) for name, wrong in (("one", 3), ("two", 4))
    ]
    found, wanted = of_paths([one, two], common=True), of_paths(same)
    assert found.pairs == wanted.pairs
    assert found.notes[-1] == "Compared on the 40 items that all systems have: 60 of one, 80 of two."
    assert of_paths(same, common=True).lines() == wanted.lines()

"""Systems of different items: how many each has, and the comparison on the items that all share."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from figlang.api.comparing import of_paths
from figlang.config import PathsConfig
from figlang.errors import FiglangError
from figlang.reports import unread
from figlang.runs import sharing, systems
from figlang.runs.predictions import write_predictions
from figlang.runs.systems import System
from figlang.statistics.metrics import ratio
from figlang.tasks import registry
from figlang.tasks.overlap_table import SAMPLES
from figlang.types import Prediction
from tests.report_runs import SAMPLE, run


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


def test_ids_with_other_answers_are_counted_where_they_are_left_out(tmp_path: Path) -> None:
    """Items named by the number of their row are other items after a row was put in."""
    one = written(tmp_path / "one.jsonl", 0, 60, 3)
    rows = [Prediction(f"i{n}", f"g{n // 2}", int(n % 10 == 0), (1.0, 0.0)) for n in range(60)]
    write_predictions(tmp_path / "two.jsonl", rows)
    note = of_paths([one, str(tmp_path / "two.jsonl")], common=True).notes[-1]
    assert note.startswith("Compared on the 54 items that all systems have: ")
    assert " 6 ids have another answer in another system and are left out. If ids are numbers of rows" in note


def test_replies_to_all_items_are_no_number_of_shared_ones(tmp_path: Path) -> None:
    """The share of unread replies of all items stood beside the accuracy on the shared ones."""
    sample = registry.load("validation", SAMPLE, PathsConfig())
    paths = [run(tmp_path / name, sample, 4, prompt=name) for name in "ab"]
    shares = {"invalid": asdict(ratio([1, 0], [1, 1]))}
    read = [replace(one, content={**one.content, "replies": shares}) for one in systems.read(paths)]
    half = replace(read[1], predictions=read[1].predictions[::2])
    (whole, _), (cut, _) = sharing.common(read), sharing.common([read[0], half])
    assert [unread.shares(systems.pooled(some)) != [] for some in (whole, cut)] == [True, False]


def test_files_that_differ_are_named_and_a_sample_shares_nothing() -> None:
    """Ids are often numbers of rows, so other items can have the same ones."""

    def system(name: str, first: int = 0, root: str | None = None) -> System:
        rows = tuple(Prediction(f"i{n}", f"g{n}", 0, (1.0, 0.0)) for n in range(first, first + 9))
        data = {"dev": {"sha256": name * 8}, "settings": {"root": root}}
        return System(name, Path(name), {"split": "dev", "data": data}, rows, name)

    real, part, sample = system("real"), system("part", 3), system("sample", root=SAMPLES)
    assert sharing.check_files([real, real]) == ""
    assert "different files (realreal, partpart)" in sharing.check_files([real, part])
    assert sharing.check_files([real, system("other", 50, SAMPLES)])  # other ids: nothing is mistaken
    with pytest.raises(FiglangError, match="part and sample were evaluated on different files"):
        sharing.check_files([real, part, sample])

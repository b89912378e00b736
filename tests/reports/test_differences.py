"""The tables that set every two systems beside each other."""

from pathlib import Path

from figlang.config import PathsConfig
from figlang.reports import differences
from figlang.runs import systems
from figlang.statistics.comparison import every_pair
from figlang.tables import Table
from figlang.tasks import registry
from tests.report_runs import SAMPLE, run

RIGHT = "only A right / only B right"


def tables(folder: Path, *wrong: tuple[int, ...]) -> tuple[Table, Table]:
    """The table of systems and that of their pairs, for systems of one seed or several."""
    sample = registry.load("validation", SAMPLE, PathsConfig())
    runs = [
        run(
            folder / str(number) / f"seed{seed}",
            sample,
            every,
            seed=seed,
            items=560 + number,
            prompt=str(number),
        )
        for number, seeds in enumerate(wrong)
        for seed, every in enumerate(seeds)
    ]
    pools = systems.pooled(systems.read(runs))
    found = every_pair([pool.runs for pool in pools])
    return differences.ranking(pools, found), differences.table(pools, found)


def test_a_column_without_a_value_in_any_row_is_left_out_with_its_note(tmp_path: Path) -> None:
    _, single = tables(tmp_path / "single", (4,), (3,))
    _, several = tables(tmp_path / "several", (4, 5), (3, 6))
    assert {RIGHT, f"pairs: {RIGHT}"} <= set(single.columns)
    assert differences.DISCORDANT in single.notes
    assert not [column for column in several.columns if RIGHT in column]
    assert differences.DISCORDANT not in several.notes
    assert len(several.rows[0]) == len(several.columns) == len(single.columns) - 2


def test_a_row_of_several_seeds_is_said_to_be_their_mean(tmp_path: Path) -> None:
    single, _ = tables(tmp_path / "single", (4,), (3,))
    several, _ = tables(tmp_path / "several", (4, 5), (3,))
    assert differences.SEEDS not in single.notes
    assert differences.SEEDS in several.notes

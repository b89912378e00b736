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


def test_a_single_training_is_said_to_leave_seeds_out(tmp_path: Path) -> None:
    _, single = tables(tmp_path / "single", (4,), (3,))
    _, several = tables(tmp_path / "several", (4, 5), (3, 6))
    _, mixed = tables(tmp_path / "mixed", (4, 5), (3,))
    said = [[note for note in each.notes if "about other seeds" in note] for each in (single, several, mixed)]
    assert [len(notes) for notes in said] == [1, 0, 1]
    assert f"Single sets of weights: {single.rows[0][1]}; {single.rows[0][0]}. " in said[0][0]
    assert f"A single set of weights: {mixed.rows[0][0]}. " in said[2][0]


def test_systems_with_the_same_predictions_are_named(tmp_path: Path) -> None:
    sample = registry.load("validation", SAMPLE, PathsConfig())
    runs = [run(tmp_path / str(number), sample, wrong) for number, wrong in enumerate((3, 3, 4))]
    pools = systems.pooled(systems.read(runs), None)
    notes = differences.notes(pools, every_pair([pool.runs for pool in pools]))
    first, second, _ = (pool.name for pool in pools)
    assert [note for note in notes if "dentical" in note] == [f"Identical predictions: {first}; {second}."]


def test_what_is_untrained_beside_trained_systems_is_named(tmp_path: Path) -> None:
    sample = registry.load("validation", SAMPLE, PathsConfig())
    trained = run(tmp_path / "trained" / "seed0", sample, 4, seed=0)
    as_they_come = []
    for wrong, model in ((3, "mine"), (5, "other")):
        folder = Path(run(tmp_path / model, sample, wrong, trained="nothing@none"))
        known = (folder / "metrics.json").read_text(encoding="utf-8")
        (folder / "metrics.json").write_text(known.replace('"model": "tiny"', f'"model": "{model}"'))
        as_they_come.append(str(folder))

    def notes(*runs: str) -> tuple[str, ...]:
        pools = systems.pooled(systems.read(list(runs)))
        return differences.ranking(pools, every_pair([pool.runs for pool in pools])).notes

    said = "Trained: tiny (sample). Untrained: other, mine."  # the best first, as in the table
    assert said in notes(trained, *as_they_come)
    assert not [note for note in notes(*as_they_come) if "ntrained: " in note]

"""Conclusions of sweeps: what varies, means over seeds, the best by held-out loss, its command."""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from figlang import tables
from figlang.reports import sweep_figure, sweeping
from figlang.reports.sweeping import Run
from figlang.statistics.metrics import Estimate
from figlang.types import Split
from tests.report_runs import run as evaluated

pytestmark = pytest.mark.drawn

SETTINGS = {"data.name": "sample", "data.size": "medium", "method.lr": "0.001", "peft.r": "16"}


def run(
    seed: int,
    loss: float | None,
    accuracy: float,
    changed: Mapping[str, str] | None = None,
    command: str = "figlang train model=minilm -m method.lr=1e-3,1e-4 seed=0,1",
    groups: int = 100,
    selection: str = "heldout",
) -> Run:
    estimate = asdict(Estimate(accuracy, 0.0, 1.0, 10, 0.5, 0.5))
    content: dict[str, Any] = {
        "metrics": {"accuracy": estimate},
        "command": command,
        "data_name": "sample",
        "training": {"selection": selection},
    }
    selected = {} if loss is None else {"loss": loss, "accuracy": accuracy, "groups": groups}
    return Run(Path("run"), {**SETTINGS, **(changed or {})}, seed, selected, content)


SMALL = {"method.lr": "0.0001"}
FOUR = [run(0, 0.5, 0.8), run(1, 0.7, 0.9), run(0, 0.4, 0.6, SMALL), run(1, 0.6, 0.6, SMALL)]


def test_a_row_has_means_over_seeds_by_hand() -> None:
    table = sweeping.table(FOUR)
    assert table.columns == (
        *("method.lr", "seeds", "held-out loss", "held-out accuracy", "accuracy"),
        "",
    ), "no run has pairs"
    first, second = table.rows
    # 0.5 and 0.7 have the mean 0.6 and the standard deviation 0.1 · √2.
    assert first[:3] == ("0.001", "0, 1", "0.6000 ± 0.1414")
    assert second[:3] == ("0.0001", "0, 1", "0.5000 ± 0.1414")
    assert getattr(first[4], "value", None) == pytest.approx(0.85)


def test_runs_on_different_numbers_of_items_are_named() -> None:
    """`-m data.limit=14,28` set accuracies on 14 and on 20 items beside each other without a word."""
    few = {"metrics": {"accuracy": asdict(Estimate(0.5, 0.0, 1.0, 4, 0.5, 0.5))}}
    cut = replace(FOUR[0], content={**FOUR[0].content, **few})
    (note,) = [note for note in sweeping.table([cut, *FOUR[2:]]).notes if "different numbers" in note]
    assert "different numbers of items (4, 10)" in note
    other = replace(cut, content={**cut.content, "data_name": "other"})
    for runs in (FOUR, [other, *FOUR[2:]]):
        assert not any("different numbers" in note for note in sweeping.table(runs).notes)


def test_a_row_has_blind_accuracy_if_all_of_its_runs_have_it() -> None:
    blind = [asdict(Estimate(value, 0.0, 1.0, 10)) for value in (0.5, 0.6)]
    both = [
        replace(one, content={**one.content, "blind": {"accuracy": share}})
        for one, share in zip(FOUR, blind, strict=False)
    ]
    table = sweeping.table([*both, *FOUR[2:]])
    place = table.columns.index("blind accuracy")
    assert getattr(table.rows[0][place], "value", None) == pytest.approx(0.55)
    assert table.rows[1][place] is None
    assert "blind accuracy" not in sweeping.table([both[0], *FOUR[1:]]).columns, "one of two seeds has it"


def test_a_sweep_of_one_setting_is_one_table_at_80_columns() -> None:
    screen = Console(file=io.StringIO(), width=80)
    tables.show([sweeping.table(FOUR)], [], screen)
    assert isinstance(screen.file, io.StringIO)
    shown = screen.file.getvalue()
    assert shown.count("method.lr") == 1
    assert "4 runs of seeds 0, 1, evaluated on sample" in shown
    assert [line.split()[-1] for line in shown.splitlines() if line.startswith(" 0.0001 ")] == ["best"]


def test_seeds_that_differ_between_settings_stay_in_the_table() -> None:
    screen = Console(file=io.StringIO(), width=80)
    tables.show([sweeping.table(FOUR[:3])], [], screen)
    assert isinstance(screen.file, io.StringIO)
    assert "seeds" in screen.file.getvalue()
    assert "3 runs, evaluated" in screen.file.getvalue()


def test_the_lowest_held_out_loss_is_best_whatever_the_accuracy() -> None:
    assert [row[-1] for row in sweeping.table(FOUR).rows] == ["", "best"]


def test_without_a_held_out_loss_nothing_is_marked() -> None:
    runs = [*FOUR[:3], run(1, None, 0.99, SMALL)]
    table = sweeping.table(runs)
    assert table.columns[-1] == "accuracy", "without a mark its column says nothing"
    assert "held-out loss" in table.columns, "three runs have one"
    assert any("No setting is marked" in note for note in table.notes)
    assert sweeping.command(runs) is None


def test_columns_that_are_empty_in_all_rows_are_left_out() -> None:
    table = sweeping.table([run(0, None, 0.8), run(0, None, 0.6, SMALL)])
    assert table.columns == ("method.lr", "seeds", "accuracy")
    assert {len(row) for row in table.rows} == {3}


def test_the_command_has_the_best_value_and_all_its_seeds() -> None:
    assert sweeping.command(FOUR) == "figlang train model=minilm method.lr=0.0001 -m seed=0,1"
    assert sweeping.command(FOUR[::2]) == "figlang train model=minilm method.lr=0.0001 seed=0"


def test_a_search_that_names_no_values_gets_them_added() -> None:
    words = "figlang train model=minilm -m hydra/sweeper=optuna hydra.sweeper.file=conf/sweep/lm_lr.yaml"
    runs = [run(0, 0.5, 0.8, command=words), run(0, 0.4, 0.6, SMALL, command=words)]
    assert sweeping.command(runs) == "figlang train model=minilm method.lr=0.0001 seed=0"


def test_the_command_has_a_name_that_no_path_tells_and_no_setting_that_the_best_lacks() -> None:
    words = "figlang train model=minilm data=sample"
    runs = [
        run(0, 0.5, 0.8, {"model.name": "a", "method.scale": "3"}, command=words.replace("minilm", "a")),
        run(0, 0.4, 0.8, {"model.name": "b"}, command=words.replace("data=sample", "").strip()),
    ]
    assert sweeping.command(runs) == "figlang train model=b seed=0"
    named = [
        run(0, loss, 0.8, {"model.name": name, "peft.r": name}, command="figlang train data=sample peft.r=1")
        for name, loss in (("a", 0.5), ("b", 0.4))
    ]
    assert sweeping.command(named) == "figlang train data=sample peft.r=b model.name=b seed=0"


def test_seeds_that_began_from_seeds_of_another_training_are_one_row() -> None:
    def on(seed: int, first: str, start: int) -> Run:
        return run(
            seed,
            0.5,
            0.8,
            {"model.name_or_path": f"runs/{first}/seed{start}", "model.name": f"{first}-seed{start}"},
        )

    both = [on(0, "a", 0), on(1, "a", 1), on(0, "b", 0), on(1, "b", 1)]
    assert list(sweeping.grouped(both[:2])) == [()]
    assert sweeping.varying(both) == ["model.name"]
    assert [len(members) for members in sweeping.grouped(both).values()] == [2, 2]
    # One start for all, and starts that are not those of the seed.
    assert list(sweeping.grouped([on(0, "a", 0), on(1, "a", 0)])) == [()]
    assert len(sweeping.grouped([on(0, "a", 1), on(1, "a", 0)])) == 2
    # One start for all beside starts of each seed's own.
    mixed = sweeping.grouped([*both[:2], on(0, "b", 0), on(1, "b", 0)])
    assert [[run.seed for run in members] for members in mixed.values()] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("starts", "values"),
    [
        ([(0, 0)], ["r/seed0"]),
        ([(0, 0), (1, 1)], ["r/seed*", "r/seed*"]),
        # One start for several seeds stays as it is, also for the run of that very seed.
        ([(0, 0), (1, 0)], ["r/seed0", "r/seed0"]),
        ([(0, 0), (1, 1), (1, 0)], ["r/seed0", "r/seed1", "r/seed0"]),
        ([(0, 0), (1, 1), (2, 2), (1, 0)], ["r/seed0", "r/seed*", "r/seed*", "r/seed0"]),
    ],
)
def test_paths_to_seeds_by_hand(starts: list[tuple[int, int]], values: list[str]) -> None:
    runs = [run(seed, 0.5, 0.8, {"model.name_or_path": f"r/seed{start}"}) for seed, start in starts]
    assert sweeping._values(runs, "model.name_or_path") == values


def test_files_of_one_name_are_two_settings(tmp_path: Path, sample: Split) -> None:
    """A recipe does not hold the path of the items, so the second run was said to repeat the first."""
    for name in ("x", "y"):
        path = Path(evaluated(tmp_path / name, sample, 4, seed=0)) / "metrics.json"
        content = json.loads(path.read_text())
        content["data"]["settings"]["file"] = f"{name}/mine.csv"
        path.write_text(json.dumps(content))
    runs, _ = sweeping.below([tmp_path])
    assert sweeping.once(runs) == (runs, [])
    assert list(sweeping.grouped(runs)) == [("x/mine.csv",), ("y/mine.csv",)]
    assert sweeping.varying(runs) == ["data.file"]


def test_a_mean_of_weights_is_no_run(tmp_path: Path, sample: Split) -> None:
    """It has the recipe of its first run, which was then left out as a repetition of the mean."""
    for name, wrong in (("mean", 9), ("seed0", 4)):
        evaluated(tmp_path / name, sample, wrong, seed=0)
    path = tmp_path / "mean" / "metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"averaged": ["seed0", "seed1"]}))
    runs, unfinished = sweeping.below([tmp_path])
    assert ([run.folder.name for run in runs], unfinished) == (["seed0"], 0)


@pytest.mark.parametrize("names", ["mine mine", "one two"])
def test_the_command_has_the_file_of_the_best_setting(names: str) -> None:
    """A name that follows from a path was given as a preset: `data=one`."""
    runs = [
        run(
            0,
            loss,
            0.8,
            {"data.name": name, "data.file": f"{folder}/{name}.csv"},
            command=f"figlang train data=own data.file={folder}/{name}.csv run={folder}",
        )
        for folder, name, loss in zip("xy", names.split(), (0.5, 0.4), strict=True)
    ]
    assert sweeping.command(runs) == f"figlang train data=own data.file=y/{names.split()[1]}.csv seed=0"


def test_the_command_leads_each_seed_to_its_own_start() -> None:
    def on(first: str, seed: int, loss: float) -> Run:
        path, typed = f"runs/{first}/seed{seed}", "figlang train data=sample model.name_or_path="
        start = {"model.name_or_path": path, "model.name": f"{first}-seed{seed}"}
        return run(seed, loss, 0.8, start, command=f"{typed}{path} seed={seed}")

    wanted = "figlang train data=sample 'model.name_or_path=runs/a/seed${seed}' -m seed=0,1"
    seeds = [on("a", 0, 0.5), on("a", 1, 0.5)]
    assert sweeping.command(seeds) == wanted
    assert sweeping.command([*seeds, on("b", 0, 0.7), on("b", 1, 0.7)]) == wanted
    # A single run has its own path.
    assert sweeping.command(seeds[:1]) == wanted.replace("'", "").replace("${seed} -m seed=0,1", "0 seed=0")


def test_the_name_of_a_preset_stands_for_what_it_determines() -> None:
    large = {"data.name": "large", "data.size": "large"}
    assert sweeping.varying([run(0, 0.5, 0.8), run(0, 0.5, 0.8, large)]) == ["data.name"]
    other = {**large, "peft.r": "8"}
    assert sweeping.varying([run(0, 0.5, 0.8), run(0, 0.5, 0.8, other)]) == ["data.name", "peft.r"]
    # The same preset with another size: its name does not tell it.
    sizes = [run(0, 0.5, 0.8), run(0, 0.5, 0.8, large), run(0, 0.5, 0.8, {**large, "data.size": "small"})]
    assert sweeping.varying(sizes) == ["data.name", "data.size"]


@pytest.mark.parametrize(("groups", "small"), [(49, True), (50, False)])
def test_few_held_out_groups_are_said_to_be_too_small(groups: int, small: bool) -> None:
    runs = [run(0, 0.5, 0.8, groups=groups), run(0, 0.4, 0.6, SMALL, groups=groups)]
    assert any("only 49 clusters" in note for note in sweeping.table(runs).notes) == small


def test_a_selection_by_the_evaluated_items_is_said_to_be_optimistic() -> None:
    runs = [run(0, 0.5, 0.8, selection="validation"), run(0, 0.4, 0.6, SMALL, selection="validation")]
    assert any("optimistic" in note for note in sweeping.table(runs).notes)


@pytest.mark.parametrize("runs", [FOUR, [*FOUR[:3], run(1, None, 0.99, SMALL)]])
def test_the_figure_has_a_line_for_each_seed(tmp_path: Path, runs: list[Run]) -> None:
    sweep_figure.draw(runs, tmp_path / "sweep")
    svg = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    assert "seed 0" in svg
    assert "seed 1" in svg
    assert (tmp_path / "sweep.pdf").read_bytes().startswith(b"%PDF")

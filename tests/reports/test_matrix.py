"""Laws of the transfer matrix: rows, columns, empty cells, what is written; and the command that takes
several values."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from figlang.config import EvaluateConfig
from figlang.config.combining import combinations
from figlang.config.signature import program
from figlang.errors import FiglangError
from figlang.files.ownership import OWN
from figlang.reports import matrix
from figlang.reports.matrix import Matrix, MatrixCell
from figlang.runs.outputs import place
from figlang.statistics.comparison import Difference
from figlang.statistics.metrics import Estimate

pytestmark = pytest.mark.drawn

CLEAR, POOR = Estimate(0.8, 0.75, 0.85, 100, 0.5, 0.0), Estimate(0.4, 0.3, 0.5, 50, 1 / 3, 0.1)


def content(trained: str, accuracy: Estimate, model: str = "minilm", seed: int | None = 0) -> dict[str, Any]:
    facts = {"trained": f"{trained}@abc", "train_seed": seed}
    return {
        "facts": facts,
        "model": model,
        "metrics": {"accuracy": vars(accuracy)},
        "signature": f"data:{trained}",
    }


def cells() -> list[MatrixCell]:
    return [
        matrix.measured("checkpoint=a", "figqa", content("figqa", CLEAR)),
        MatrixCell("checkpoint=a", "snli", "a", reason="it reads pairs"),
        MatrixCell("checkpoint=b", "figqa", "b", reason="it is gone"),
        matrix.measured("checkpoint=b", "snli", content("snli", POOR)),
    ]


def test_rows_and_columns_keep_the_order_they_came_in() -> None:
    found = Matrix.of(cells())
    assert list(found.rows.values()) == ["figqa (minilm, seed 0)", "snli (minilm, seed 0)"]
    assert found.columns == ("figqa", "snli")
    assert found.estimates("accuracy") == [[CLEAR, None], [None, POOR]]
    assert found.reasons == [
        "figqa (minilm, seed 0) on snli: it reads pairs",
        "snli (minilm, seed 0) on figqa: it is gone",
    ]


def test_a_reason_of_several_cells_stands_once_with_all_of_them() -> None:
    of_both = [MatrixCell(row, "snli", row, reason="it reads pairs") for row in "ab"]
    found = Matrix.of([of_both[0], MatrixCell("a", "mnli", "a", reason="it reads pairs"), of_both[1]])
    assert found.reasons == ["a on snli, mnli; b on snli: it reads pairs"]


def test_rows_of_the_same_training_are_told_apart_by_what_was_chosen() -> None:
    same = [
        matrix.measured(f"nli.score={score}", "figqa", content("snli", CLEAR, seed=None))
        for score in ("entail", "not_contradict")
    ]
    assert list(Matrix.of(same).rows.values()) == [
        "snli (minilm), nli.score=entail",
        "snli (minilm), nli.score=not_contradict",
    ]


def test_what_a_served_model_was_trained_on_is_not_known() -> None:
    served = content("figqa", CLEAR, "llama") | {"facts": {"protocol": "chat"}}
    assert matrix.measured("model=served", "figqa", served).trained == "as it comes (llama)"


def test_a_network_that_could_be_tested_nowhere_keeps_its_own_name() -> None:
    assert list(Matrix.of([MatrixCell("checkpoint=b", "figqa", "b", reason="it is gone")]).rows.values()) == [
        "b"
    ]


def test_what_is_written_can_be_read_and_found_again(tmp_path: Path) -> None:
    found = Matrix.of(cells())
    folder = matrix.write(found, tmp_path)
    assert matrix.write(found, tmp_path) == folder
    assert {path.name for path in folder.iterdir()} == {
        "matrix.json",
        "matrix.md",
        "tables",
        "accuracy.svg",
        "accuracy.png",
        OWN,
    }
    table = (folder / "matrix.md").read_text()
    assert "| figqa (minilm, seed 0) | 80.0 (75.0 – 85.0) | – |" in table
    assert "it reads pairs" in table
    assert {path.name for path in (folder / "tables").iterdir()} == {
        "accuracy.md",
        "accuracy.csv",
        "accuracy.tex",
        "accuracy-column.tex",
    }
    first = json.loads((folder / "matrix.json").read_text())[0]
    assert first["metrics"]["accuracy"]["n"] == 100
    assert first["signature"] == "data:figqa"


def test_every_matrix_has_a_folder_of_its_own(tmp_path: Path) -> None:
    # One checkpoint has no key that was swept: only the signatures tell that another one was tested.
    one, other = ([matrix.measured("", "figqa", content("figqa", CLEAR, seed=seed))] for seed in (0, 1))
    other = [replace(cell, signature="data:figqa|train_seed:1") for cell in other]
    folder = matrix.write(Matrix.of(one), tmp_path)
    assert matrix.write(Matrix.of(other), tmp_path) != folder
    (folder / "mine.txt").write_text("the user's own")
    matrix.write(Matrix.of(one), tmp_path)
    assert (folder / "mine.txt").read_text() == "the user's own"


def test_a_cell_of_hidden_labels_says_so() -> None:
    hidden = content("figqa", CLEAR) | {"metrics": {"items": 12}, "split": "test"}
    assert matrix.measured("", "figqa", hidden).reason.startswith("every label of split=test is hidden")


def test_the_tables_say_why_cells_are_empty(tmp_path: Path) -> None:
    console = Console(record=True, width=120)
    matrix.show(Matrix.of(cells()), tmp_path, console)
    shown = console.export_text()
    for part in (
        "tested on",
        "80.0 (75.0 – 85.0)",
        "–: figqa (minilm, seed 0) on snli: it reads pairs",
        str(tmp_path),
    ):
        assert part in shown


def crowded() -> Matrix:
    """As many networks and data sets as a study may have, with the gain over blind in each cell but one."""
    gain = Difference(0.333, -0.113, 0.583, 42, 0.2, 20, 6, 9)
    data = ("figqa_medium", "mabl", "miqa", "munch_paraphrase", "impli_choice", "winogrande_l")
    return Matrix.of(
        [
            replace(
                matrix.measured(f"checkpoint={run}", column, content(run, CLEAR)),
                column=column,
                blind=POOR,
                gain=gain if (run, column) != ("figqa_large", "mabl") else None,
            )
            for run in ("figqa_large", "figqa_medium", "snli_dev_test", "winogrande_l", "multitask", "impli")
            for column in data
        ]
    )


def test_a_gain_stands_below_its_accuracy_in_the_same_column() -> None:
    (first, *others) = matrix.shown(crowded())
    assert first.name == "accuracy_and_gain"
    assert {table.name for table in others} == {"blind"}
    assert first.columns[1:] == crowded().columns
    assert [row[0] for row in first.rows[:2]] == ["figqa_large (minilm, seed 0)", "gain over blind"]
    assert first.rows[0][2] == CLEAR
    assert first.rows[1][2] is None
    assert all(cell is not None for row in first.rows[2:] for cell in row)


def test_a_matrix_of_six_data_sets_fits_a_terminal_of_80_columns(tmp_path: Path) -> None:
    console = Console(record=True, width=80)
    matrix.show(crowded(), tmp_path, console)
    shown = console.export_text()
    tables_shown = shown.partition("†")[0]  # a terminal folds the notes below
    assert max(map(len, tables_shown.splitlines())) <= 80
    assert "…" not in shown
    assert shown.count("+33.3") == 35


def test_every_combination_is_composed_as_a_multirun_would() -> None:
    found = combinations(
        "evaluate", EvaluateConfig, ["checkpoint=runs/a,runs/b", "data=figqa_small,snli", "split=validation"]
    )
    assert [(each.config.checkpoint, each.config.data.dataset) for each in found] == [
        ("runs/a", "figqa"),
        ("runs/a", "snli"),
        ("runs/b", "figqa"),
        ("runs/b", "snli"),
    ]
    assert [each.but("data") for each in found] == ["checkpoint=runs/a"] * 2 + ["checkpoint=runs/b"] * 2
    assert {each.config.name for each in found} == {"figqa_small-validation", "snli-validation"}


def test_a_value_that_is_given_twice_is_one() -> None:
    found = combinations(
        "evaluate", EvaluateConfig, ["checkpoint=runs/a,runs/a", "data=figqa_small,snli,figqa_small"]
    )
    assert [each.config.data.name for each in found] == ["figqa_small", "snli"]


def test_sources_of_one_name_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = combinations(
        "evaluate", EvaluateConfig, ["model.name_or_path=/a/wino/seed0,/b/wino/seed0", "data=figqa_small"]
    )
    assert {each.config.model.name for each in found} == {"wino-seed0"}
    assert len({place(each.config) for each in found}) == 2
    for folder in ("a/model", "b/a/model"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b")
    words = "checkpoint=a/model,../a/model,${oc.env:PWD}/a/model".replace("${oc.env:PWD}", str(tmp_path))
    folders = [
        place(each.config) for each in combinations("evaluate", EvaluateConfig, [words, "data=figqa_small"])
    ]
    assert folders[1] == folders[2] != folders[0], "one checkpoint by two names, and another of its name"
    revised = combinations(
        "evaluate", EvaluateConfig, ["checkpoint=some/model", "revision=main,old", "data=figqa_small"]
    )
    assert len({place(each.config) for each in revised}) == 2


@pytest.mark.parametrize(
    ("named", "names"), [([], ["figqa_medium", "figqa_medium-large"]), (["data.name=mine"], ["mine", "mine"])]
)
def test_another_size_is_not_reported_under_a_presets_name(named: list[str], names: list[str]) -> None:
    words = ["checkpoint=runs/a", "data=figqa_medium", "data.size=medium,large", *named]
    assert [each.config.data.name for each in combinations("evaluate", EvaluateConfig, words)] == names


def test_a_list_is_one_value() -> None:
    words = ["checkpoint=runs/a", "data=snli", "nli.labels=[neutral,entailment,contradiction]"]
    (only,) = combinations("evaluate", EvaluateConfig, words)
    assert list(only.config.nli.labels or ()) == ["neutral", "entailment", "contradiction"]
    assert only.choices == ()


@pytest.mark.parametrize(
    ("file", "typed"),
    [
        ("evaluate.py", "python evaluate.py"),
        ("/x/figlang/commands/transfer.py", "figlang transfer"),
        ("/x/figlang/commands/report.py", "figlang report"),
    ],
)
def test_the_command_beside_a_number_can_be_typed_again(
    monkeypatch: pytest.MonkeyPatch, file: str, typed: str
) -> None:
    monkeypatch.setattr(sys, "argv", [file])
    assert program() == typed


def test_a_mistake_is_the_one_that_evaluate_makes() -> None:
    with pytest.raises(FiglangError, match="brings its own model"):
        combinations("evaluate", EvaluateConfig, ["checkpoint=runs/a", "method.format=pair"])

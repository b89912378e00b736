"""What a person sees of an evaluation in the terminal (figlang/reports/terminal.py), and the curves of a
training."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from figlang.machine.several import shortly
from figlang.reports import figures
from figlang.reports import terminal as report
from figlang.runs.predictions import write_predictions
from figlang.statistics import metrics
from figlang.statistics.metrics import measure
from figlang.tasks.reference import Comparison, Published
from figlang.types import Prediction

pytestmark = pytest.mark.drawn


def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def text(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def words(screen: Console) -> str:
    """Everything on the screen; a title that is wider than its table is broken at any space."""
    return " ".join(text(screen).split())


def line(screen: Console, start: str) -> str:
    """The first line whose first words are `start`, runs of spaces and rules taken as one space."""
    lines = [" ".join(row.replace("│", " ").replace("┃", " ").split()) for row in text(screen).splitlines()]
    found = next(row for row in lines if row.startswith(f"{start} "))
    return found.removeprefix(start).strip()


def row(number: int, group: str, gold: int | None, chosen: int, **attributes: tuple[str, ...]) -> Prediction:
    return Prediction(str(number), group, gold, (1.0 - chosen, float(chosen)), attributes)


# Two pairs, three of four items right.
ROWS = [
    row(1, "a", 0, 0, genre=("NEWS",)),
    row(2, "a", 1, 1),
    row(3, "b", 0, 0, genre=("NEWS",)),
    row(4, "b", 1, 0, genre=("FICTION",)),
]


def number(
    model: str, metric: str, value: float | None, comparable: bool = True, reason: str = ""
) -> Comparison:
    published = Published(
        "p", "Table 4", "Fig-QA", model, {"regime": "finetuned", "train": "L"}, metric, value, "percent", ""
    )
    return Comparison(published, comparable, reason)


def summary(rows: list[Prediction], *comparisons: Comparison) -> Console:
    screen = console()
    report.summary({"metrics": measure(rows)}, comparisons, "minilm on mine, validation", screen)
    return screen


@pytest.mark.parametrize(("share", "shown"), [(0.5, "50.00 %"), (1, "100.00 %"), (0.98765, "98.77 %")])
def test_a_share_is_shown_in_per_cent(share: float, shown: str) -> None:
    assert report.percent(share) == shown


def test_the_summary_has_the_title() -> None:
    assert "minilm on mine, validation" in words(summary(ROWS))


def test_accuracy_is_shown_with_interval_n_chance_and_p() -> None:
    found = metrics.accuracy(ROWS)
    assert found is not None
    shown = f"75.00 % {100 * found.low:.1f} – {100 * found.high:.1f} † 4 50.00 % {found.p:.3f}"
    assert line(summary(ROWS), "accuracy").startswith(shown)


def test_too_few_clusters_are_said_to_be_too_few() -> None:
    many = [
        replace(one, id=f"{one.id}{copy}", group=f"{one.group}{copy}") for one in ROWS for copy in range(5)
    ]
    assert "Fewer than 10 clusters" in words(summary(ROWS))
    assert "Fewer than 10 clusters" not in words(summary([replace(one, attributes={}) for one in many]))


def test_pair_accuracy_is_shown_with_the_number_of_pairs() -> None:
    # 1 of 2 pairs right: P(X >= 1) = 1 − (3/4)² = 0.4375, and twice that. The interval of two pairs holds
    # next to everything.
    assert line(summary(ROWS), "pair accuracy").startswith("50.00 % 1.3 – 98.7 † 2 25.00 % 0.875")


def test_a_metric_without_chance_shows_none() -> None:
    assert line(summary(ROWS), "same answer").startswith("50.00 % 1.3 – 98.7 † 2 – –")


@pytest.mark.parametrize(
    ("category", "shown"), [("NEWS", "100.00 % 15.8 – 100.0 † 2"), ("FICTION", "0.00 % 0.0 – 97.5 † 1")]
)
def test_every_category_has_a_line_with_its_n(category: str, shown: str) -> None:
    assert line(summary(ROWS), category).startswith(shown)


def test_metrics_without_pairs_have_no_pair_lines() -> None:
    assert "pair accuracy" not in text(summary([row(1, "1", 0, 0), row(2, "2", 1, 1)]))


@pytest.mark.parametrize(
    ("unknown", "items", "said"),
    [
        (1, 1, "The tokenizer does not know 1 of 900 tokens, in 1 item, '🍝' for example."),
        (3, 2, "The tokenizer does not know 3 of 900 tokens, in 2 items, '🍝' for example."),
    ],
)
def test_a_number_stands_with_its_own_form_of_a_word(unknown: int, items: int, said: str) -> None:
    found = {"unknown": unknown, "tokens": 900, "items": items, "scripts": [], "words": ["🍝"]}
    assert report.cautions({"metrics": measure(ROWS), "unknown_tokens": found}) == [said]


def test_a_tie_and_several_ties() -> None:
    for ties, said in ((1, "1 of 4 choices is a tie: no option"), (2, "2 of 4 choices are ties: no option")):
        (line,) = report.cautions({"metrics": {**measure(ROWS), "ties": ties}})
        assert line.startswith(said)


def test_refused_items_have_a_share_and_their_number_and_none_has_no_row() -> None:
    content = {"metrics": measure(ROWS), "refused": {"n": 8, "items": 1, "blind": 0}}
    report.summary(content, (), "minilm on mine, validation", screen := console())
    assert line(screen, "refused items") == "12.50 – 8 – –"
    assert "refused blind items" not in text(screen)


def test_hidden_labels_are_said_to_be_hidden() -> None:
    screen = summary([row(1, "a", None, 0), row(2, "a", None, 1)])
    assert "2 items, labels hidden" in text(screen)
    assert "accuracy" not in text(screen)


def test_where_there_is_no_room_beside_the_metric_the_best_number_stands_below() -> None:
    screen = Console(file=io.StringIO(), width=80)
    model = "a model of a long name that would be folded, letter by letter"
    report.summary(
        {"metrics": measure(ROWS)}, [number(model, "accuracy", 83.16)], "minilm on mine, validation", screen
    )
    assert line(screen, "accuracy").startswith("75.00 % 0.5 – 99.9 † 4 50.00 % 0.608")
    assert line(screen, "best published accuracy:") == f"83.16 % {model}, finetuned L"
    # Why none is comparable is said once, with the published numbers.
    assert "none comparable" not in text(screen)


def test_the_best_published_number_is_that_of_a_system() -> None:
    screen = Console(file=io.StringIO(), width=80)
    rows = [number("Human", "accuracy", 94.42), number("GPT-3", "accuracy", 68.41)]
    report.summary({"metrics": measure(ROWS)}, rows, "minilm on mine, validation", screen)
    assert line(screen, "best published accuracy:").startswith("68.41 % GPT-3")


def test_no_number_is_cut_in_a_terminal_of_80_columns() -> None:
    share = {"value": 1, "low": 0.991, "high": 1, "n": 10_940, "chance": 0.5, "p": 1e-9, "clusters": 9}
    gain = {"value": 0.5, "low": -0.4567, "high": 0.5678, "n": 10_940, "clusters": 9, "p": 1e-9}
    values = {"objects": share, "knowledge of a culture and of its sayings": share}
    metrics = {**measure(ROWS), "accuracy": share, "items": 10_940, "accuracy_by": {"commonsense": values}}
    screen = Console(file=io.StringIO(), width=80)
    clean = {"accuracy": share, "touched": ["1"], "training_items": 9, "stages": 1}
    content = {"metrics": metrics, "gain": gain, "blind": {"accuracy": share}, "clean": clean}
    report.summary(content, [], "minilm", screen)
    assert "…" not in text(screen)
    numbers = "100.00 % 99.1 – 100.0 † {} 50.00 % < 0.001"
    assert line(screen, "accuracy").startswith(numbers.format("10940"))
    assert line(screen, "objects") == numbers.format("10940 of 10940")
    assert line(screen, "gain over blind") == "+50.00 -45.7 – +56.8 † 10940 – < 0.001"
    assert report.UNCORRECTED in text(screen)
    metrics["accuracy_by"] = {"commonsense": {"objects": share}}
    assert report.UNCORRECTED not in words(summary_of(content)), "a single test needs no correction"


def summary_of(content: dict[str, Any]) -> Console:
    screen = console()
    report.summary(content, [], "minilm", screen)
    return screen


def test_the_best_comparable_number_stands_beside_the_metric() -> None:
    screen = summary(
        ROWS,
        number("weaker", "accuracy", 70.0),
        number("best", "accuracy", 83.16),
        number("unfit", "accuracy", 99.0, False, "measured on test"),
        number("blank", "accuracy", None),
        number("pairs", "pair_accuracy", 90.0),
    )
    assert line(screen, "accuracy").endswith("83.16 % best, finetuned L")


@pytest.mark.parametrize("name", ["accuracy", "pair accuracy"])
def test_a_metric_without_a_comparable_number_says_so(name: str) -> None:
    screen = summary(ROWS, number("unfit", "accuracy", 99.0, False, "measured on test"))
    assert line(screen, name).endswith("none comparable")


def test_data_without_published_numbers_have_no_line_about_them() -> None:
    assert "comparable" not in text(summary(ROWS))


def test_a_category_in_square_brackets_is_shown_as_it_is() -> None:
    assert "[/b] odd" in text(summary([row(1, "1", 0, 0, genre=("[/b] odd",))]))


# Published numbers


MIXED = (
    number("fit", "pair_accuracy", 80.4),
    number("one", "accuracy", 50.0, False, "measured on test"),
    number("two", "accuracy", None, False, "measured on test"),
    number("three", "accuracy", 60.0, False, "a copied cell"),
)


def test_comparable_numbers_are_listed_with_model_regime_and_place() -> None:
    screen = console()
    report.published(MIXED, screen)
    assert line(screen, "fit") == "finetuned L pair accuracy 80.40 % Table 4"


def test_the_other_numbers_are_one_sentence_with_the_usual_reason() -> None:
    screen = console()
    report.published(MIXED, screen)
    said = (
        "Other published numbers are not comparable: measured on test, or other reasons. `figlang report` "
        "lists them."
    )
    assert said in text(screen)
    assert "three" not in text(screen)


def test_without_comparable_numbers_there_is_no_table() -> None:
    screen = console()
    report.published(MIXED[1:], screen)
    assert text(screen).startswith(
        "Published numbers are not comparable: measured on test, or other reasons."
    )


# Seeds


def run(
    folder: Path, seed: int, right: int, health: list[dict[str, Any]] | None = None, lr: float = 1e-4
) -> None:
    """A finished run of three epochs with `right` of ten items right."""
    rows = [row(item, str(item), 0, int(item >= right)) for item in range(10)]
    (folder / f"seed{seed}").mkdir(parents=True)
    write_predictions(folder / f"seed{seed}" / "predictions.jsonl", rows)
    about = {
        "signature": "a:b",
        "model": "tiny",
        "data_name": "sample",
        "split": "validation",
        "published_file": False,
    }
    findings = [{"message": "", **finding} for finding in health or []]
    content = {**about, "seed": seed, "metrics": measure(rows), "training": {"epochs": 3}, "health": findings}
    (folder / f"seed{seed}" / "metrics.json").write_text(json.dumps(content))
    (folder / f"seed{seed}" / "recipe.json").write_text(
        json.dumps(
            {"settings": {"method": {"lr": lr}, "seed": seed}, "data": {"train": "a", "validation": "b"}}
        )
    )


def seeds(folder: Path, own: int = 0) -> Console:
    screen = console()
    report.seeds(folder / f"seed{own}", screen)
    return screen


def test_seeds_show_mean_standard_deviation_and_extremes(tmp_path: Path) -> None:
    for seed, right in enumerate((6, 7, 8)):
        run(tmp_path, seed, right)
    # Mean 70; deviations −10, 0, 10: √(200 / 2) = 10.
    assert line(seeds(tmp_path), "accuracy") == "70.00 ± 10.00 60.00 % 80.00 %"


def test_seeds_are_named(tmp_path: Path) -> None:
    for seed in (0, 3):
        run(tmp_path, seed, 7)
    assert "2 seeds (0, 3)" in words(seeds(tmp_path))


def test_seeds_come_in_the_order_of_numbers(tmp_path: Path) -> None:
    for seed in (10, 9, 100):
        run(tmp_path, seed, 7)
    assert "3 seeds (9, 10, 100)" in words(seeds(tmp_path, own=9))


def test_seeds_of_one_of_several_settings_name_their_folder(tmp_path: Path) -> None:
    for seed, right in enumerate((6, 8)):
        run(tmp_path / "minilm-lr", seed, right)
    with shortly():
        said = words(seeds(tmp_path / "minilm-lr"))
    assert f"{tmp_path}/minilm-lr, 2 seeds (0, 1): accuracy 70.00 ± 14.14" in said


def test_a_single_run_has_no_table_of_seeds(tmp_path: Path) -> None:
    run(tmp_path, 0, 7)
    assert text(seeds(tmp_path)) == ""


def test_a_run_of_another_recipe_is_no_seed(tmp_path: Path) -> None:
    for seed, lr in enumerate((1e-4, 1e-4, 1e-6)):
        run(tmp_path, seed, 7, lr=lr)
    assert "2 seeds (0, 1)" in words(seeds(tmp_path))
    assert text(seeds(tmp_path, own=2)) == ""


def test_a_copy_and_a_mean_are_no_seeds(tmp_path: Path) -> None:
    for seed, right in enumerate((6, 8)):
        run(tmp_path, seed, right)
    shutil.copytree(tmp_path / "seed0", tmp_path / "seed0-copy")
    shutil.copytree(tmp_path / "seed1", tmp_path / "seeds-mean")
    mean = tmp_path / "seeds-mean" / "metrics.json"
    mean.write_text(json.dumps(json.loads(mean.read_text()) | {"averaged": ["seed0", "seed1"], "seed": 7}))
    assert "2 seeds (0, 1)" in words(seeds(tmp_path))
    assert line(seeds(tmp_path), "accuracy") == "70.00 ± 14.14 60.00 % 80.00 %"


def test_an_unfinished_run_is_not_counted(tmp_path: Path) -> None:
    for seed in (0, 1):
        run(tmp_path, seed, 7)
    (tmp_path / "seed2").mkdir()
    assert "2 seeds (0, 1)" in words(seeds(tmp_path))


def test_a_seed_at_chance_to_the_end_is_counted_and_named(tmp_path: Path) -> None:
    run(tmp_path, 0, 9)
    run(tmp_path, 1, 5, [{"code": "collapsed", "epoch": 1}, {"code": "collapsed", "epoch": 3}])
    screen = seeds(tmp_path)
    assert line(screen, "accuracy").startswith("70.00 ±")
    assert "these seeds stayed at chance in training, and the mean includes them: seed 1" in words(screen)


@pytest.mark.parametrize("finding", [{"code": "collapsed", "epoch": 1}, {"code": "head_frozen", "epoch": 3}])
def test_a_seed_that_left_chance_is_not_named(tmp_path: Path, finding: dict[str, Any]) -> None:
    run(tmp_path, 0, 9)
    run(tmp_path, 1, 8, [finding])
    assert "at chance" not in words(seeds(tmp_path))


# Figures


HISTORY = [
    (1, 0, "train", "step_loss", 0.7),
    (2, 0, "train", "loss", 0.69),
    (2, 0, "validation", "accuracy", 0.5),
]


def test_curves_are_drawn_as_vector_and_pixels(tmp_path: Path) -> None:
    figures.curves(HISTORY, 0.5, tmp_path / "figures", "dev")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "loss.svg",
        "loss.png",
        "accuracy.svg",
        "accuracy.png",
    }


def test_a_curve_has_the_name_of_the_split(tmp_path: Path) -> None:
    figures.curves(HISTORY, 0.5, tmp_path / "figures", "dev")
    drawn = (tmp_path / "figures" / "accuracy.svg").read_text()
    assert ">dev items</text>" in drawn
    assert "validation" not in drawn


def test_the_axes_of_a_figure_are_named(tmp_path: Path) -> None:
    figures.curves(HISTORY, 0.5, tmp_path / "figures", "dev")
    drawn = (tmp_path / "figures" / "loss.svg").read_text()
    assert ">optimizer step</text>" in drawn
    assert ">loss</text>" in drawn

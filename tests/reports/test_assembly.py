"""`figlang report`: the page, tables and figures beside it."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from figlang.commands.describe import counts
from figlang.commands.report import main
from figlang.errors import FiglangError
from figlang.reports import elsewhere, figures, hardness, learning, page, plots
from figlang.reports.parts import Chapter, Prose, Section
from figlang.runs import recomputed, results, systems
from figlang.runs.predictions import write_predictions
from figlang.runs.systems import Pool, System
from figlang.statistics.metrics import Estimate
from figlang.tables import Mean, Table
from figlang.tasks import registry as data
from figlang.types import Prediction, Split
from tests.report_runs import report, run

pytestmark = pytest.mark.drawn


# The page


def test_the_page_is_alone(written: Path) -> None:
    whole = (written / "report.html").read_text()
    outside = [
        address
        for address in re.findall(r"https?://[^\s\"'<)]+", whole)
        if not address.startswith("http://www.w3.org/")
    ]
    assert not outside
    assert "<link" not in whole.replace('<link rel="icon" href="data:,">', "")
    assert not re.search(r"<script[^>]+src=|<img|@import|url\((?!#)", whole)


def test_the_page_has_every_section(written: Path) -> None:
    headings = re.findall(r"<h3>([^<]+)</h3>", (written / "report.html").read_text())
    assert headings[:2] == ["Summary", "Where systems differ"]
    assert {
        "Published results",
        "Comparison",
        "Prompts",
        "Calibration",
        "How to make it again",
        "Items",
    } <= set(headings)


def test_the_summary_stands_beside_chance_and_on_published_items_beside_people(
    written: Path, sample: Split
) -> None:
    whole = list(csv.DictReader((written / "tables" / "summary.csv").read_text().splitlines()))
    assert [row["system"].partition(":")[0] for row in whole][2:] == [
        "chance",
        "best rule without a model",
        "people, published",
        "best published, other items",
    ]
    said = (written / "tables" / "summary.md").read_text()
    assert "not on these items of figqa_sample" in said, "people were not asked about the bundled sample"
    known = {
        "data_name": "figqa_medium",
        "split": "validation",
        "published_file": True,
        "metrics": {"accuracy_by": {}},
    }
    chapter = Chapter("t", (Pool("s", (System("s", written, known, (), ""),)),), {})
    half = Estimate(0.5, 0.4, 0.6, 10, 0.5)
    rows, notes = elsewhere.beside(
        chapter, [("accuracy", [half]), ("pair accuracy", [half]), ("consistency", [half])]
    )
    assert rows == [
        ("chance", None, Mean(0.5), Mean(0.5), Mean(0.5)),
        ("people, published", None, Mean(0.9442), Mean(0.897), None),
        ("best published", None, Mean(0.7916), None, None),
        ("best published, other items", None, Mean(0.9032), None, None),
    ]
    assert notes[0] == "people, published: figqa2022, Table 4; measured on test, this is dev."
    assert "GPT-3 Curie, finetuned train.csv, figqa-repo" in notes[2]


def test_published_numbers_are_those_of_the_benchmark() -> None:
    known = {
        "data_name": "munch_paraphrase",
        "split": "validation",
        "published_file": False,
        "metrics": {"accuracy_by": {}},
    }
    chapter = Chapter("t", (Pool("s", (System("s", Path(), known, (), ""),)),), {}, data.task("munch"))
    assert elsewhere.sections(chapter) == []


@pytest.mark.parametrize(("dataset", "beside"), [("figqa", True), ("miqa", False), ("winogrande", False)])
def test_correlations_of_figqa_stand_beside_its_own_items_only(
    sample: Split, dataset: str, beside: bool
) -> None:
    rows = tuple(
        Prediction(item.id, item.group, item.gold, (0.0, float(len(item.id) % 2))) for item in sample.items
    )
    items = {item.id: item for item in sample.items}
    section = hardness.likelihood(
        Chapter("t", (Pool("s", (System("s", Path(), {}, rows, ""),)),), items, data.task(dataset))
    )
    assert section is not None
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert any("published" in str(row[0]) for row in table.rows) == beside
    said = " ".join((table.title, *table.columns, *table.notes))
    assert ("paper" in said, "§6.2" in said, "metaphor" in said) == (beside, beside, beside)


def test_the_legend_says_what_systems_were_trained_on(tmp_path: Path, sample: Split) -> None:
    runs = [
        run(tmp_path / "one", sample, 4, seed=0),
        run(tmp_path / "two", sample, 3, prompt="x", trained="nothing@none"),
    ]
    report(tmp_path / "out", *runs)
    rows = list(csv.DictReader((tmp_path / "out" / "tables" / "legend.csv").read_text().splitlines()))
    assert [row["trained on"] for row in rows] == ["sample, 560 items", "untrained"]


def test_table_6_has_the_number_of_items_and_the_recomputed_rows(written: Path, sample: Split) -> None:
    rows = list(csv.reader((written / "tables" / "commonsense.csv").read_text().splitlines()))
    n = [
        sum(name in item.attributes["commonsense"] for item in sample.items)
        for name in ("objects", "visual", "social", "cultural")
    ]
    assert [int(cell) for cell in rows[1][2:] if cell] == n
    published = next(place for place, row in enumerate(rows) if row[1] == "test, published")
    assert [cell for cell in rows[published] if cell][2:] == ["784", "169", "316", "190"]
    assert rows[published + 1][0] == "Human"
    ways = [row[1] for row in rows if row[0] == "GPT-3 Curie"]
    assert ways == [
        "untrained, published",
        "untrained, recomputed",
        "trained, published",
        "trained, recomputed",
    ]
    assert next(row for row in rows if row[1] == "trained, recomputed")[2] == "0.8074"


def test_systems_are_named_as_their_pools_everywhere(tmp_path: Path, sample: Split) -> None:
    runs = [run(tmp_path / name, sample, wrong, seed) for name, wrong, seed in (("a", 4, 0), ("b", 3, 1))]
    runs.append(run(tmp_path / "c", sample, 5, prompt="suffix(suffix='x')", trained="nothing@none"))
    pools = systems.pooled(systems.read(runs))
    assert [pool.name for pool in pools] == ["tiny, 2 seeds", "tiny, untrained"]
    assert [one.name for pool in pools for one in pool.systems] == [
        "tiny, seed 0",
        "tiny, seed 1",
        "tiny, untrained",
    ]


def test_items_of_data_sets_of_one_benchmark_are_named_after_it(tmp_path: Path, sample: Split) -> None:
    one, two = Path(run(tmp_path / "one", sample, 4)), Path(run(tmp_path / "two", sample, 3, prompt="x"))
    content = json.loads((two / "metrics.json").read_text())
    (two / "metrics.json").write_text(json.dumps(content | {"data_name": "figqa_large"}))
    assert f"<h1>Fig-QA, dev, {len(sample.items)} items</h1>" in report(tmp_path / "out", str(one), str(two))


def test_published_rows_that_are_not_comparable_are_folded(sample: Split) -> None:
    known = {
        "data_name": "figqa_medium",
        "split": "validation",
        "published_file": True,
        "metrics": {"accuracy_by": {}},
    }
    chapter = Chapter("t", (Pool("s", (System("s", Path(), known, (), ""),)),), {})
    assert [(section.title.split(",")[0], section.folded) for section in elsewhere.sections(chapter)] == [
        ("Published results", False),
        ("Published", True),
    ]


def test_calibration_leaves_out_letters_of_replies(sample: Split) -> None:
    named = tuple(Prediction(item.id, item.group, item.gold, (1.0, 0.0)) for item in sample.items)
    scored = tuple(Prediction(item.id, item.group, item.gold, (0.4, 0.0)) for item in sample.items)
    pools = [
        Pool(name, (System(name, Path(), {}, rows, ""),))
        for name, rows in (("chat", named), ("encoder", scored))
    ]
    section = hardness.confidence(Chapter("t", tuple(pools), {}))
    assert section is not None
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert [row[0] for row in table.rows] == ["encoder"]
    assert table.notes[-1].endswith("left out: chat.")
    assert hardness.confidence(Chapter("t", tuple(pools[:1]), {})) is None


def test_prompts_of_figqa_stand_beside_figure_2(tmp_path: Path, sample: Split) -> None:
    prompts = ("none", "suffix(suffix='x')", "k3(k=3,source=train)")
    runs = [
        run(tmp_path / str(wrong), sample, wrong, prompt=prompt)
        for wrong, prompt in enumerate(prompts, start=3)
    ]
    page = report(tmp_path / "out", *runs)
    rows = list(csv.DictReader((tmp_path / "out" / "tables" / "prompts-1.csv").read_text().splitlines()))
    assert [row["prompt"] for row in rows] == ["none", "suffix", "k = 3", "mean ± sd of 3"]
    assert [row["GPT-2, published"] for row in rows] == ["0.5401", "0.5585", "0.5383", ""]
    assert [row["GPT-neo 1.3B, published"] for row in rows][:2] == ["0.5733", "0.5942"]
    assert "They are of the test split" in page


def test_prompts_have_short_labels_that_tell_them_apart(tmp_path: Path, sample: Split) -> None:
    def labels(*prompts: str) -> list[str]:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        found = systems.read(
            [
                run(place / str(wrong), sample, wrong, prompt=each)
                for wrong, each in enumerate(prompts, start=3)
            ]
        )
        ((_, bars),) = figures.prompt_series([system.content for system in found])
        return [label for label, *_ in bars]

    assert labels("none", "suffix(suffix='x')", "k3(k=3,source=train)") == ["none", "suffix", "k = 3"]
    assert labels("or(reply=statement,case=first)", "qa(reply=statement,case=first)") == ["or", "qa"]
    own = labels("no_questions(reply=statement,case=first)", f"no_questions(template='{'long ' * 99}')")
    assert len(set(own)) == 2
    assert all(len(label.splitlines()) <= 6 and max(map(len, label.splitlines())) <= 18 for label in own)


def test_nothing_is_told_of_how_a_figure_is_written(
    written: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        report(tmp_path / "out", str(written.parent / "one"))
    assert not [record for record in caplog.records if record.name.startswith("fontTools")]


def test_every_table_and_figure_is_a_file_too(written: Path) -> None:
    stems = {path.stem for path in (written / "tables").iterdir()}
    assert {"summary", "comparison", "calibration", "by_commonsense", "commonsense"} <= stems
    assert {path.suffix for path in (written / "tables").iterdir()} == {".md", ".csv", ".tex"}
    assert {path.suffix for path in (written / "figures").iterdir()} == {".svg", ".pdf"}


def test_a_second_report_leaves_nothing_of_the_first_and_all_else(tmp_path: Path, sample: Split) -> None:
    runs = [run(tmp_path / "one", sample, 4), run(tmp_path / "two", sample, 3)]
    out = tmp_path / "out"
    report(out, *runs)
    (out / "figures" / "mine.svg").write_text("drawn by hand")
    assert (out / "tables" / "comparison.csv").is_file()
    report(out, runs[0])
    assert not list((out / "tables").glob("comparison.*"))
    assert (out / "tables" / "summary.csv").is_file()
    assert (out / "figures" / "mine.svg").is_file()


def test_what_stands_in_data_is_text_and_never_markup(tmp_path: Path) -> None:
    bad = "</script><script>alert(1)</script>"
    section = Section(bad, (Prose(f"`{bad}`"), Table("t", bad, (bad, "n"), ((bad, 1),), (bad,))))
    columns = {"name": bad, "systems": [bad], "ids": [bad], "texts": [bad]}
    page.write(tmp_path / "page.html", bad, bad, [(bad, [section], columns)])
    whole = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in whole
    embedded = re.findall(
        r'<script type="application/json" class="data">(.*?)</script>', whole, flags=re.DOTALL
    )
    assert json.loads(embedded[0]) == columns


def test_runs_of_one_recipe_are_pooled_and_the_same_seed_is_not(tmp_path: Path, sample: Split) -> None:
    runs = [
        run(tmp_path / name, sample, wrong, seed)
        for name, wrong, seed in (("a", 4, 0), ("b", 3, 1), ("c", 5, 1))
    ]
    pools = systems.pooled(systems.read(runs))
    assert [[system.seed for system in pool.systems] for pool in pools] == [[0, 1], [1]]
    assert pools[0].name.endswith("2 seeds")


def test_data_that_are_gone_leave_ids(
    tmp_path: Path, sample: Split, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(run(tmp_path / "one", sample, 4))
    content = json.loads((folder / "metrics.json").read_text())
    content["data"]["settings"]["root"] = str(tmp_path)
    (folder / "metrics.json").write_text(json.dumps(content))
    whole = report(tmp_path / "out", str(folder))
    assert "the report does not show the texts of the items" in caplog.text
    assert sample.items[0].id in whole
    assert sample.items[0].context not in whole


def test_a_bare_predictions_file_has_a_report(tmp_path: Path) -> None:
    rows = [Prediction(f"x{n}", f"g{n // 2}", n % 2, (1.0, 0.0)) for n in range(8)]
    write_predictions(tmp_path / "mine.jsonl", rows)
    page = report(tmp_path / "out", str(tmp_path / "mine.jsonl"))
    assert re.search(r"50\.0 \(\d+\.\d – \d+\.\d\) †", page), "four clusters are too few"


def test_hidden_labels_have_a_report(tmp_path: Path) -> None:
    write_predictions(
        tmp_path / "hidden.jsonl", [Prediction(f"x{n}", "g", None, (1.0, 0.0)) for n in range(2)]
    )
    assert "Labels are hidden" in report(tmp_path / "out", str(tmp_path / "hidden.jsonl"))


def test_the_command_takes_bare_words_and_says_where_the_page_is(
    tmp_path: Path, sample: Split, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["report.py", run(tmp_path / "it's", sample, 4), "analysis=off", "title=Mine"]
    )
    main()
    assert capsys.readouterr().out.strip() == str(tmp_path / "it's" / "report" / "report.html")


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "at least one run"), (["x", "runs=[y]"], "one way"), (["x", "x"], "given twice")],
)
def test_what_cannot_be_reported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["report.py", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


# Learning curves


def test_sizes_of_one_recipe_are_a_curve(tmp_path: Path, sample: Split) -> None:
    for name, wrong, seed, items in (("s", 3, 0, 200), ("m", 4, 0, 1458), ("m1", 5, 1, 1458)):
        run(tmp_path / name / f"seed{seed}", sample, wrong, seed, items)
    found = learning.around(tmp_path / "m" / "seed0")
    assert [(point.items, len(point.metrics["accuracy"])) for point in found["tiny"]] == [(200, 1), (1458, 2)]
    assert learning.series([tmp_path / "m" / "seed0", tmp_path / "m1" / "seed1"]) == {}
    assert learning.around(tmp_path) == {}
    shutil.copytree(tmp_path / "m1", tmp_path / "m2")
    again = learning.around(tmp_path / "m" / "seed0")
    assert [len(point.metrics["accuracy"]) for point in again["tiny"]] == [1, 2], "a copy is not another seed"
    shutil.rmtree(tmp_path / "m2")
    averaged = recomputed.read(tmp_path / "m1" / "seed1" / "metrics.json") | {"averaged": ["seed1", "seed2"]}
    results.write(tmp_path / "m1" / "seed1" / "metrics.json", averaged)
    found = learning.around(tmp_path / "m" / "seed0")
    assert [(point.items, len(point.metrics["accuracy"])) for point in found["tiny"]] == [
        (200, 1),
        (1458, 1),
    ], "no seed is a mean"
    plots.learning_curve_beside(tmp_path / "m" / "seed0")
    assert {path.suffix for path in tmp_path.glob("learning-curve-tiny-*")} == {".svg", ".png"}


def test_a_grid_of_prompts_says_how_to_name_one(tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    write_predictions(tmp_path / "predictions" / "CTWT52.jsonl", [Prediction("x", "g", 0, (1.0, 0.0))])
    with pytest.raises(
        FiglangError, match=r"holds 1 prompts; give the wanted ones, for example .*CTWT52\.jsonl"
    ):
        systems.read([str(tmp_path)])


def test_a_run_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="no predictions file"):
        systems.read([str(tmp_path)])


def test_a_data_set_is_counted_by_attribute(sample: Split) -> None:
    found = {row[:2]: row[2] for row in counts(sample).rows}
    assert found["items", ""] == len(sample.items)
    assert found["clusters", ""] == len(sample.items) // 2
    assert found["commonsense", "objects"] == sum(
        "objects" in item.attributes["commonsense"] for item in sample.items
    )

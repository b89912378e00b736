"""Reports about many systems: the same numbers however they are computed, small pages, whole tables in
files."""

import csv
import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from benchmarks import evaluations
from figlang.reports import browser, plots
from figlang.reports import page as page_of
from figlang.reports.parts import ROWS, Long, fitted
from figlang.reports.ranked import Kind, Line
from figlang.statistics.common import every_two, in_common
from figlang.statistics.correlation import pearson, pearsons
from figlang.statistics.metrics import Estimate, accuracies, accuracy
from figlang.tables import Table
from figlang.types import Prediction
from tests.report_runs import report

SYSTEMS, ITEMS = 13, 40


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [
        str(folder) for folder in evaluations.write(tmp_path_factory.mktemp("many") / "runs", SYSTEMS, ITEMS)
    ]


@pytest.fixture(scope="module")
def page(runs: list[str]) -> str:
    return report(Path(runs[0]).parent / "report", *runs)


def drawn(seed: int, n: int = 60) -> list[Prediction]:
    draw = np.random.default_rng(seed)
    return [Prediction(f"i{place}", f"g{place // 2}", 0, tuple(draw.normal(size=2))) for place in range(n)]


def test_accuracies_at_once_are_those_one_by_one() -> None:
    several = [drawn(0), [], drawn(1, 7), [Prediction("h", "h", None, (1.0, 0.0))], drawn(2, 300)]
    for at_once, alone in zip(accuracies(several), map(accuracy, several), strict=True):
        if alone is None:
            assert at_once is None
            continue
        assert at_once is not None
        found, wanted = (
            [one.value, one.low, one.high, one.n, one.chance, one.p, one.clusters] for one in (at_once, alone)
        )
        assert found == pytest.approx(wanted, abs=1e-9)


def test_correlations_at_once_are_those_one_by_one() -> None:
    draw = np.random.default_rng(0)
    x_N, groups = draw.normal(size=50), [f"g{place // 3 % 9}" for place in range(50)]
    y_BN = np.stack([draw.normal(size=50), np.ones(50), x_N > 0, -2 * x_N, draw.random(50) > 0.9]).astype(
        float
    )
    found = pearsons(x_N, y_BN, groups)
    assert found == [pearson(list(x_N), list(y_N), groups) for y_N in y_BN]
    assert found[1] is None
    assert found[3] is not None
    assert (found[3].r, found[3].p) == (pytest.approx(-1), pytest.approx(2**-8)), "nine groups"
    assert found[0] is not None
    assert found[0].r == pytest.approx(np.corrcoef(x_N, y_BN[0])[0, 1])


def test_errors_of_every_two_are_those_of_two() -> None:
    missed = {str(seed): {row.id: not row.correct for row in drawn(seed)} for seed in range(5)}
    groups = {row.id: row.group for row in drawn(0)}
    found = list(every_two(missed, groups))
    assert [one[:2] for one in found][:5] == [("0", "1"), ("0", "2"), ("0", "3"), ("0", "4"), ("1", "2")]
    assert all(common == in_common(missed[one], missed[other], groups) for one, other, common in found)
    with pytest.raises(ValueError, match="not of the same items"):
        list(every_two({**missed, "part": {"i0": True}}, groups))


def test_scores_are_packed_in_steps_that_no_one_sees() -> None:
    scores = [-81.25, 0.5, float("nan"), -3.75, float("-inf"), 1e-3]
    packed = browser.packed(scores)
    codes = np.frombuffer(b64decode(packed["codes"]), "<u2")
    assert codes.tolist().count(browser.NO_SCORE) == 2
    known = np.isfinite(scores)
    assert np.abs(packed["low"] + packed["step"] * codes[known] - np.array(scores)[known]).max() < 0.001
    assert browser.packed([float("nan")])["low"] == 0
    assert set(np.frombuffer(b64decode(browser.packed([2.0, 2.0])["codes"]), "<u2")) == {0}


def test_many_systems_are_ranked_on_the_page_and_all_pairs_are_in_the_files(
    runs: list[str], page: str
) -> None:
    tables = Path(runs[0]).parent / "report" / "tables"
    pairs = SYSTEMS * (SYSTEMS - 1) // 2

    def rows(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((tables / f"{name}.csv").read_text().splitlines()))

    assert (
        len(rows("comparison"))
        == len(rows("errors_in_common")) - len(shown_published(rows("errors_in_common")))
        == pairs
    )
    assert f": all {pairs} rows are in comparison.csv" in page
    ranking = rows("systems")
    assert len(ranking) == SYSTEMS
    assert [float(row["accuracy"]) for row in ranking] == sorted(
        (float(row["accuracy"]) for row in ranking), reverse=True
    )
    assert ranking[0]["group"].startswith("a")
    errors = rows("errors_in_common")[len(shown_published(rows("errors_in_common"))) :]
    phi = [float(row["phi"]) for row in errors if row["phi"]]
    assert phi == sorted(phi, reverse=True)
    assert f"The first {ROWS} rows. Errors in common" in page


def shown_published(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row for row in rows if "published" in row["system"]]


def test_accuracy_by_attribute_is_a_spread_over_many_systems(runs: list[str], page: str) -> None:
    tables = Path(runs[0]).parent / "report" / "tables"
    whole = list(csv.reader((tables / "by_commonsense.csv").read_text().splitlines()))
    first = next(csv.DictReader((tables / "by_commonsense_over_systems.csv").read_text().splitlines()))
    shares = [
        float(cell)
        for heading, cell in zip(whole[0], whole[1], strict=True)
        if re.fullmatch(r"model-\d+", heading)
    ]
    assert len(shares) == SYSTEMS
    assert float(first[f"mean ± sd of {SYSTEMS} systems"]) == pytest.approx(np.mean(shares))
    assert (float(first["lowest"]), float(first["highest"])) == (min(shares), max(shares))
    assert whole[0][
        2
        + 6
        * [heading for heading in whole[0] if re.fullmatch(r"model-\d+", heading)].index(first["its system"])
    ]
    assert "Accuracy by commonsense, over systems" in page


def test_the_page_grows_by_little_with_each_system(page: str) -> None:
    data = re.search(r'class="data">(.*?)</script>', page, flags=re.DOTALL)
    assert data is not None
    columns = json.loads(data[1])
    assert {len(letters) for letters in columns["choices"]} == {ITEMS}
    assert sum(len(one["codes"]) for one in columns["scores"]) <= SYSTEMS * (2 * ITEMS * 2 * 4 / 3 + 4)
    most = max(
        page.count(f'data-label="{heading}"') for heading in ("pair accuracy", "phi", "ECE", "system B")
    )
    assert most <= max(3 * SYSTEMS, ROWS)


def test_long_tables_are_cut_on_the_page_only() -> None:
    short, long = (
        Table("t", "T", ("a",), tuple((str(row),) for row in range(rows))) for rows in (ROWS, ROWS + 1)
    )
    assert fitted(short) is short
    assert fitted(long) == Long(long, ROWS)


def test_the_ranking_has_as_many_systems_as_a_table_beside_people_and_published_ones() -> None:
    def line(name: str, value: float, kind: Kind) -> Line:
        return Line(name, {"accuracy": Estimate(value, value, value, 50, 0.5)}, kind)

    systems = [line(f"s{place}", place / 100, "system") for place in range(ROWS + 2)]
    shown = page_of.ranked([*systems, line("people", 0.99, "people"), line("best", 0.001, "published")])
    assert [each.name for each in shown] == ["people", *(f"s{n}" for n in range(ROWS + 1, 1, -1)), "best"]


def test_systems_without_room_for_their_names_are_drawn_by_rank() -> None:
    shares = [Estimate(place / 50, place / 60, (place + 9) / 60, 50, 0.5) for place in range(50)]
    figure = plots.unnamed([Line(f"s{n}", {"accuracy": share}) for n, share in enumerate(shares)])
    (line,) = [one for one in figure.axes[0].lines if len(one.get_xdata()) == 50]
    assert list(line.get_ydata()) == sorted((place / 50 for place in range(50)), reverse=True)
    assert max(figure.get_size_inches()) < 8

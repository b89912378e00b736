"""Rating sheets (figlang/rating/): blind, read back with errors by row, statistics by hand, a page that needs
nothing else."""

import csv
import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from figlang.errors import FiglangError
from figlang.rating import ratings, sheets
from figlang.tasks.figqa.free_text import SCALE as FIGQA
from figlang.tasks.miqa.free_text import SCALE as MIQA
from figlang.tasks.scales import Rated
from figlang.types import Generation
from tests.statistics.test_agreement import KRIPPENDORFF

nan = float("nan")


def generation(item: str, answer: str = "No, it means x.", sample: int = 0) -> Generation:
    return Generation(item, item.split("-")[0], "no", sample, f"Does {item}?", f"{answer}\nmore", answer)


MODELS = {
    "tiny": [generation(f"a{n}-1") for n in range(6)],
    "huge": [generation(f"a{n}-1", 'Yes, "so", </script>') for n in range(6)],
}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rate(folder: Path, name: str, by_row: dict[int, str]) -> Path:
    filled = rows(folder / sheets.SHEET)
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, sheets.COLUMNS)
        writer.writeheader()
        writer.writerows(row | {"rating": by_row.get(place, "")} for place, row in enumerate(filled))
    return folder / name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sheets.write(tmp_path, MODELS, "miqa")
    return tmp_path


def test_a_sheet_is_blind(folder: Path) -> None:
    sheet = rows(folder / sheets.SHEET)
    assert [row["id"][:4] for row in sheet] == [f"r{number:02}-" for number in range(1, 13)]
    text = (folder / sheets.SHEET).read_text() + (folder / sheets.PAGE).read_text()
    assert not any(model in text for model in MODELS)
    answers = [row["answer"] for row in sheet]
    assert sorted(answers) == sorted(one.answer for several in MODELS.values() for one in several)
    assert answers != [one.answer for several in MODELS.values() for one in several]


def test_raters_see_no_examples(tmp_path: Path) -> None:
    shown = Generation("a1-1", "a1", "no", 0, "Q? No.\n\nIs it?", "No", "No")
    sheets.write(tmp_path, {"m": [shown]}, "miqa")
    assert rows(tmp_path / sheets.SHEET)[0]["prompt"] == "Is it?"


def test_the_order_follows_the_seed(folder: Path, tmp_path: Path) -> None:
    before = (folder / sheets.SHEET).read_text()
    for seed in (0, 1):
        sheets.write(tmp_path / str(seed), MODELS, "miqa", seed)
        assert ((tmp_path / str(seed) / sheets.SHEET).read_text() == before) == (seed == 0)


def test_ratings_come_back_to_their_answers(folder: Path) -> None:
    one = rate(folder, "ann.csv", dict.fromkeys(range(12), "correct"))
    two = rate(folder, "ben.csv", {0: "Wrong ", 1: "ambiguous"})
    scale, rated = sheets.read(folder, [one, two])
    assert scale == "miqa"
    assert {(each.model, each.generation) for each in rated} == {
        (m, one) for m, several in MODELS.items() for one in several
    }
    assert [each.codes[0] for each in rated] == [1] * 12
    assert rated[0].codes[1] == 0
    assert rated[1].codes[1] == 0.5
    assert np.isnan([each.codes[1] for each in rated[2:]]).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("r01,p,a,good", r"row 1 has the rating 'good'; use correct, wrong, ambiguous"),
        ("r99,p,a,wrong", r"row 1 is for 'r99', which is not an answer of this sheet"),
        ("r01,p,a,wrong\nr01,p,a,wrong", "row 2 rates r01 a second time"),
        ("r01,p,a,", "the column rating is empty"),
    ],
)
def test_what_is_no_rating_is_named(folder: Path, line: str, message: str) -> None:
    path = folder / "ann.csv"
    first = rows(folder / sheets.SHEET)[0]["id"]
    path.write_text(f"id,prompt,answer,rating\n{line.replace('r01', first)}\n")
    with pytest.raises(FiglangError, match=message.replace("r01", first)) as error:
        sheets.read(folder, [path])
    assert str(error.value).startswith(str(path))


def test_a_folder_without_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        FiglangError, match=r"has no sheet, since there is no key\.json in it; make one by figlang rate runs="
    ):
        sheets.read(tmp_path, [])


def test_a_sheet_of_other_answers_is_refused(folder: Path, tmp_path: Path) -> None:
    sheets.write(tmp_path / "other", {"tiny": MODELS["huge"], "huge": MODELS["tiny"]}, "miqa")
    sheet = rate(tmp_path / "other", "ann.csv", {0: "correct"})
    with pytest.raises(FiglangError, match="not an answer of this sheet"):
        sheets.read(folder, [sheet])


def test_a_sheet_given_twice_is_refused(folder: Path) -> None:
    sheet = rate(folder, "ann.csv", {0: "correct"})
    with pytest.raises(FiglangError, match="names a sheet twice"):
        sheets.read(folder, [sheet, folder / "." / "ann.csv"])


def test_a_sheet_is_not_written_over(folder: Path) -> None:
    with pytest.raises(FiglangError, match="has a sheet that people may have rated"):
        sheets.write(folder, MODELS, "miqa")


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"scale": "miqa", "answers": [1]}', '{"scale": "miqa", "answers": {"r1": {}}}']
)
def test_a_damaged_key_is_one_line(folder: Path, text: str) -> None:
    (folder / sheets.KEY).write_text(text)
    with pytest.raises(FiglangError, match=r"key\.json cannot be read") as error:
        sheets.read(folder, [])
    assert "\n" not in str(error.value)


def test_spreadsheets_run_nothing_and_may_write_semicolons(tmp_path: Path) -> None:
    sheets.write(tmp_path, {"m": [generation("a1-1", "=HYPERLINK(1)")]}, "miqa")
    (row,) = rows(tmp_path / sheets.SHEET)
    assert row["answer"] == "'=HYPERLINK(1)"
    (tmp_path / "ann.csv").write_text(f"id;prompt;answer;rating\n{row['id']};p, q;a;correct\n")
    assert sheets.read(tmp_path, [tmp_path / "ann.csv"])[1][0].codes == (1,)


def test_rows_left_out_are_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    sheet = rate(folder, "ann.csv", {0: "correct"})
    sheet.write_text(sheet.read_text() + "r02,too,few\n")
    sheets.read(folder, [sheet])
    assert "ann.csv row 13: 3 cells under 4 columns, row left out" in caplog.text


# Statistics


def rated(codes: list[list[float]], items: list[str] | None = None) -> list[Rated]:
    names = items or [f"a{place}-1" for place in range(len(codes))]
    return [
        Rated("m", generation(name, sample=place), tuple(row))
        for place, (name, row) in enumerate(zip(names, codes, strict=True))
    ]


def test_a_score_is_the_mean_of_means() -> None:
    # 1, 0.75 and 0; the last is unrated
    found = MIQA.summarise(rated([[1, 1, nan], [1, 0.5, nan], [nan, nan, 0], [nan, nan, nan]]))
    assert found["score"] == pytest.approx(1.75 / 3)
    assert 0 < found["low"] < found["score"] < found["high"] < 1
    assert found["rated"] == 3


def test_agreement_by_hand() -> None:
    found = ratings.agreement(rated([[1, 1], [1, 0], [0, 0], [0.5, 0.5], [nan, 1]]), "miqa")
    assert (found["unanimous"], found["rated_by_several"]) == (3, 4)
    assert found["icc_complete"]["items"] == 4
    assert (found["icc_incomplete"]["items"], found["icc_incomplete"]["ratings"]) == (5, 9)
    assert found["alpha_nominal"] is not None


def test_codes_have_no_icc_and_each_level_its_alpha() -> None:
    found = ratings.agreement(rated(KRIPPENDORFF.tolist()), "figqa")
    assert (found["icc_complete"], found["icc_incomplete"]) == (None, None)
    assert (found["alpha_nominal"], found["alpha_interval"]) == pytest.approx((0.743, 0.849), abs=5e-4)


def test_agreement_on_every_answer() -> None:
    content = ratings.statistics(rated([[1, 1, 0], [1, 1, 1], [1, nan, nan], [nan, nan, nan]]), "miqa")
    assert [(one["raters"], one["agreeing"]) for one in content["by_answer"]] == [
        (3, 2 / 3),
        (3, 1),
        (1, None),
        (0, None),
    ]


def test_a_scores_interval_resamples_rows() -> None:
    # Nine answers to each of two rows that all agree say no more than one answer to each.
    found = MIQA.summarise(
        rated([[1]] * 9 + [[0]] * 9, [f"a-{n}" for n in range(9)] + [f"b-{n}" for n in range(9)])
    )
    once = MIQA.summarise(rated([[1], [0]], ["a-0", "b-0"]))
    assert 0 < found["low"] <= once["low"] < once["high"] <= found["high"] < 1


def test_only_metaphors_with_several_answers_all_rated_are_counted() -> None:
    found = FIGQA.summarise(rated([[1], [1], [1], [nan], [1]], ["a-1", "a-1", "b-1", "b-1", "c-1"]))
    assert (found["all_correct"], found["any_correct"], found["metaphors"], found["incomplete"]) == (
        1,
        1,
        1,
        1,
    )
    assert found["majority"]["correct"] == 4


def test_majorities_of_figqa_by_hand() -> None:
    # Two metaphors, two answers each. a: correct (2 of 3) and incorrect (a three-way tie falls to the
    # smallest code but ambiguous). b: literal, ambiguous.
    found = FIGQA.summarise(
        rated([[1, 1, 0], [0, 1, 2], [2, 2, 1], [-1, 1, -1]], ["a-1", "a-1", "b-1", "b-1"])
    )
    assert found["majority"] == {"correct": 1, "incorrect": 1, "literal": 1, "ambiguous": 1}
    assert found["correct_of_unambiguous"] == pytest.approx(1 / 3)
    assert found["correct_of_figurative"] == pytest.approx(1 / 2)
    assert (found["contradictory"], found["any_correct"], found["all_correct"], found["metaphors"]) == (
        1,
        1,
        0,
        2,
    )


def test_what_all_raters_found_correct_by_kind() -> None:
    some = rated([[1, 1], [1, 0], [1, nan], [nan, nan]])
    assert ratings.found_correct(some, "m") == {"no": [some[0].generation]}
    assert ratings.found_correct(rated([[1], [0]]), "m") == {"no": [some[0].generation]}
    with pytest.raises(FiglangError, match="the sheet has answers of other; examples for m"):
        ratings.found_correct([*some, Rated("other", some[0].generation, (1,))], "m")


def test_every_measure_can_be_read_in_a_narrow_terminal() -> None:
    out = io.StringIO()
    ratings.show(ratings.statistics(rated([[1], [2]]), "figqa"), Console(file=out, width=80))
    shown = out.getvalue()
    assert "1 correct, 0 incorrect, 1 literal, 0 ambiguous" in shown
    assert "correct of unambiguous" in shown
    assert "…" not in shown


def test_nothing_rated_is_no_score() -> None:
    assert MIQA.summarise(rated([[nan]])) == {"rated": 0}
    assert FIGQA.summarise(rated([[nan]]))["correct_of_figurative"] is None


# The page


def test_the_page_needs_nothing_else(folder: Path) -> None:
    text = (folder / sheets.PAGE).read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|https?://|@import|url\(", text)
    assert text.count("</script>") == 2
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    content = json.loads(data)
    assert [row["answer"] for row in content["rows"]] == [
        row["answer"] for row in rows(folder / sheets.SHEET)
    ]
    assert content["codes"] == ["correct", "wrong", "ambiguous"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the page's script")
def test_the_page_rates_by_keys_and_saves_a_sheet(folder: Path) -> None:
    page = (folder / sheets.PAGE).read_text(encoding="utf-8")
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, flags=re.DOTALL)
    driver = (Path(__file__).parents[1] / "data" / "rating_page_driver.js").read_text()
    run = subprocess.run(
        ["node", "-e", driver],
        input=json.dumps({"data": data, "script": script}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    saved = folder / "ann.csv"
    saved.write_bytes(run.stdout.encode())
    _, found = sheets.read(folder, [saved])
    # The driver presses 1 and 2, goes back to press 3 instead, presses 3 on the third answer, and takes that
    # back.
    assert [each.codes[0] for each in found[:2]] == [1, 0.5]
    assert np.isnan([each.codes[0] for each in found[2:]]).all()


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
KEYS = """<script>
window.addEventListener("load", async () => {
  let saved = null;
  URL.createObjectURL = blob => { saved = blob.text(); return "blob:x"; };
  HTMLAnchorElement.prototype.click = () => {};
  const rater = document.getElementById("rater");
  rater.value = "ann";
  rater.dispatchEvent(new Event("input"));
  for (const key of ["1", "2", "ArrowLeft", "3", "3", "ArrowLeft", "3", "s"])
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const shown = [document.getElementById("count").textContent, document.getElementById("message").textContent];
  document.body.textContent = JSON.stringify({sheet: await saved, shown, title: document.title});
});
</script></html>"""


@pytest.mark.skipif(BROWSER is None, reason="needs a chromium or chrome to open the page in")
def test_the_page_in_a_browser(folder: Path, tmp_path: Path) -> None:
    page = (folder / sheets.PAGE).read_text(encoding="utf-8").replace("</html>", KEYS)
    (tmp_path / "pressed.html").write_text(page, encoding="utf-8")
    words = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        "--virtual-time-budget=5000",
    ]
    command = [str(BROWSER), *words, "--dump-dom", (tmp_path / "pressed.html").as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    (body,) = re.findall(r"<body[^>]*>(.*?)</body>", run.stdout, flags=re.DOTALL)
    found = json.loads(html.unescape(body))
    assert found["shown"] == ["3 of 12, 2 rated", "Saved ann.csv, 2 of 12 rated."]
    assert found["title"] == "12 answers to rate"
    (folder / "ann.csv").write_bytes(found["sheet"].encode())
    _, read = sheets.read(folder, [folder / "ann.csv"])
    assert [each.codes[0] for each in read[:2]] == [1, 0.5]
    assert np.isnan([each.codes[0] for each in read[2:]]).all()

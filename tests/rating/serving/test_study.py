"""What people are asked, in which order, what is kept of their answers, and the files made of them."""

import csv
import io
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from figlang.config import DataConfig, RateServeConfig
from figlang.errors import FiglangError
from figlang.rating import ratings, sheets, texts
from figlang.rating.serving import exports, live, order, study
from figlang.rating.serving.store import DATABASE, Store
from figlang.rating.serving.study import Question, Study
from figlang.runs import systems
from figlang.statistics import common
from tests.report_runs import SAMPLE

TEXTS = "model,item,prompt,answer\n" + "".join(
    f"{model},q{n},Question {n}?,Answer {model} {n}.\n" for n in range(6) for model in ("huge", "tiny")
)


def questions(groups: dict[str, int], options: int = 0) -> tuple[Question, ...]:
    made = tuple(f"option {place}" for place in range(options))
    return tuple(
        Question(f"{group}{n}", group, f"text {group}{n}", options=made, gold=0 if options else None)
        for group, count in groups.items()
        for n in range(count)
    )


def config(folder: Path, **more: object) -> RateServeConfig:
    return RateServeConfig(folder=str(folder), **more)  # type: ignore[arg-type]


@pytest.fixture
def coded(tmp_path: Path) -> Study:
    (tmp_path / "texts.csv").write_text(TEXTS)
    return study.of(
        config(tmp_path / "s", texts=[str(tmp_path / "texts.csv")], scale="figqa", checks=2), tmp_path / "s"
    )


def answer_all(store: Store, asked: Study, rater: str, value: str = "correct") -> None:
    for place, one in enumerate(order.of(asked, rater)):
        store.record(rater, one.question.id, one.expected or value, place % 2 == 0, 1.25, f"{place}")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# Order


def test_an_order_is_the_raters_own_and_stays() -> None:
    asked = Study("codes", questions({chr(97 + n): 3 for n in range(10)}), ("a", "b"), checks=3)
    ids = lambda name: [one.question.id for one in order.of(asked, name)]  # noqa: E731
    assert ids("ann") == ids("ann")
    assert ids("ann") != ids("ben")
    assert ids("ann") != [one.question.id for one in order.of(Study(**{**vars(asked), "seed": 1}), "ann")]
    assert Counter(ids("ann")) == Counter(ids("ben"))
    assert set(ids("ann")) == {one.id for one in asked.questions} | {f"{order.CHECK}{n}" for n in (1, 2, 3)}


@pytest.mark.parametrize("seed", range(40))
def test_a_group_is_never_two_in_a_row_while_another_is_left(seed: int) -> None:
    asked = Study("codes", questions({"a": 4, "b": 2, "c": 2, "d": 1}), ("x", "y"), seed=seed)
    found = [one.question.group for one in order.of(asked, "ann")]
    assert all(one != other for one, other in pairwise(found[:7]))
    assert found[7:] == ["a", "a"]  # only a is left


def test_checks_are_spread_and_none_is_first() -> None:
    for seed in range(40):
        asked = Study("codes", questions({f"g{n}": 1 for n in range(30)}), ("x", "y"), seed=seed, checks=3)
        shown = order.of(asked, "ann")
        places = [place for place, one in enumerate(shown) if one.expected is not None]
        assert len(places) == 3
        assert places[0] > 0
        assert [sum(one // 11 == part for one in places) for part in range(3)] == [1, 1, 1]


def test_options_are_shown_in_every_order_but_classes_in_theirs() -> None:
    asked = Study("choice", questions({f"g{n}": 1 for n in range(200)}, options=2))
    counts = Counter(one.options for one in order.of(asked, "ann"))
    assert set(counts) == {(0, 1), (1, 0)}
    assert min(counts.values()) > 60
    fixed = tuple(
        Question(**{**{name: getattr(one, name) for name in Question.__dataclass_fields__}, "fixed": True})
        for one in asked.questions
    )
    assert {one.options for one in order.of(Study("choice", fixed), "ann")} == {(0, 1)}


def test_a_check_is_passed_by_what_it_asks_for() -> None:
    for ask, codes in (("codes", ("good", "bad")), ("choice", ()), ("paraphrase", ())):
        asked = Study(ask, questions({"a": 2}, options=2), codes, checks=1)  # type: ignore[arg-type]
        (check,) = (one for one in order.of(asked, "ann") if one.expected is not None)
        assert check.expected is not None
        said = check.question.options[int(check.expected)] if ask == "choice" else check.expected
        assert f"“{said}”" in check.question.text
        assert order.passed(check, check.expected)
        assert not order.passed(check, "another")
    assert order.passed(check, f" {check.expected.title()}. ")


# The study


def test_a_study_of_a_sheet_is_blind(coded: Study, tmp_path: Path) -> None:
    assert len(coded.questions) == 12
    assert coded.codes == ("correct", "incorrect", "literal", "ambiguous")
    assert "huge" not in str([(one.id, one.group, one.text) for one in coded.questions])
    assert (tmp_path / "s" / sheets.PAGE).is_file()


def test_the_same_command_goes_on_and_another_is_refused(coded: Study, tmp_path: Path) -> None:
    folder, given = tmp_path / "s", {"texts": [str(tmp_path / "texts.csv")], "scale": "figqa"}
    assert study.of(config(folder), folder) == coded
    assert study.of(config(folder, checks=2, **given), folder) == coded
    store = Store(folder, coded.signature)
    store.enrol(["ann"])
    codes = store.codes()
    store.close()
    other = study.of(config(folder, checks=1, **given), folder)  # nobody has answered yet
    assert (other.checks, study.read(folder)) == (1, other)
    store = Store(folder, other.signature)
    assert store.codes() == codes
    store.record("ann", other.questions[0].id, "literal", True, 1, "1")
    store.close()
    with pytest.raises(FiglangError, match="has a study with other questions, checks or seed"):
        study.of(config(folder, checks=2, **given), folder)
    assert study.read(folder) == other
    with pytest.raises(FiglangError, match="has a study with other questions, checks or seed"):
        study.of(config(folder, checks=0, **given), folder)
    (folder / study.STUDY).write_text("{}")
    with pytest.raises(FiglangError, match=r"study\.json is missing or damaged"):
        study.of(config(folder), folder)


def test_what_cannot_be_asked_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="has no sheet and no study"):
        study.of(config(tmp_path), tmp_path)
    with pytest.raises(FiglangError, match="checks=600 is more than the 180 questions"):
        study.of(config(tmp_path, data=SAMPLE, checks=600), tmp_path)
    for more, message in (
        ({"data": SAMPLE, "texts": ["a.csv"]}, "give one of them"),
        ({"data": SAMPLE, "ask": "codes"}, "ask=codes is for answers"),
        ({"texts": ["a.csv"], "ask": "choice"}, "ask=choice is for data="),
        ({"raters": ["ann", "b/n"]}, "raters= has 'b/n'"),
        ({"raters": ["ann", "ann"]}, "names ann twice"),
        ({"host": "0.0.0.0"}, "opens the page to other machines"),
    ):
        with pytest.raises(FiglangError, match=message):
            config(tmp_path, **more)


def test_items_are_drawn_in_whole_groups(tmp_path: Path) -> None:
    asked = study.of(config(tmp_path, data=SAMPLE, limit=20, seed=3), tmp_path)
    assert len(asked.questions) == 20
    assert set(Counter(one.group for one in asked.questions).values()) == {2}
    assert study.of(config(tmp_path), tmp_path) == asked


def test_blanks_of_munch_are_paraphrased(tmp_path: Path) -> None:
    settings = DataConfig(
        name="munch_generation", dataset="munch", question="generation", root="package:figlang/samples"
    )
    asked = study.of(config(tmp_path, data=settings, ask="paraphrase"), tmp_path)
    assert all(one.mark and one.text[slice(*one.mark)] for one in asked.questions)
    store = Store(tmp_path, asked.signature)
    for rater, word in (("ann", "calm"), ("ben", "Calm")):
        store.enrol([rater])
        answer_all(store, asked, rater, word)
    made = exports.files(asked, store)
    assert live.same(live.by_question(asked, store.latest()))["same_words"] == 1
    store.close()
    (tmp_path / "p.csv").write_text(made["paraphrases.csv"])
    back = texts.read(tmp_path / "p.csv", "munch")
    assert set(back) == {"ann", "ben"}
    assert [one.item for one in back["ann"]] == [one.id for one in asked.questions]
    assert {one.answer for one in back["ben"]} == {"Calm"}


def test_open_questions_of_miqa_are_answered_in_words(tmp_path: Path) -> None:
    settings = DataConfig(name="miqa_sample", dataset="miqa", root="package:figlang/samples")
    asked = study.of(config(tmp_path, data=settings, ask="paraphrase", limit=5), tmp_path)
    assert len(asked.questions) == 5
    assert all("Could that imply" in one.text for one in asked.questions)


# The store


def test_answers_survive_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from figlang.rating.serving.store import Store\n"
        "store = Store(Path(sys.argv[1]), 's'); store.enrol(['ann'])\n"
        "for n in range(50): store.record('ann', f'q{n}', 'x', True, 1.0, str(n)); print(n, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == -9, ended.stderr
    store = Store(tmp_path, "s")
    assert [one.question for one in store.latest()] == [f"q{n}" for n in range(50)]
    store.close()


def test_the_last_answer_counts_earlier_ones_are_kept_and_times_are_summed(tmp_path: Path) -> None:
    store = Store(tmp_path, "s")
    store.enrol(["ann"])
    store.record("ann", "q", "a", True, 2.0, "1")
    store.record("ann", "q", "b", False, 3.0, "2")
    store.record("ann", "q", "b", False, 3.0, "2")  # sent again after a reply that did not arrive
    (one,) = store.latest()
    assert (one.value, one.confident, one.seconds, one.revisions) == ("b", False, 5.0, 2)
    store.close()
    with sqlite3.connect(tmp_path / DATABASE) as base:
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert base.execute("SELECT value FROM answers ORDER BY number").fetchall() == [("a",), ("b",)]
    base.close()
    assert (tmp_path / DATABASE).stat().st_mode & 0o077 == 0


def test_codes_stay_and_sessions_are_hashed(tmp_path: Path) -> None:
    store = Store(tmp_path, "s")
    store.enrol(["ann", "ben"])
    codes = store.codes()
    assert list(codes) == ["", "ann", "ben"]
    assert len(set(codes.values())) == 3
    entered = store.enter(codes["ann"].upper().replace("-", " "))
    assert entered is not None
    assert entered[0] == "ann"
    assert store.who(entered[1]) == "ann"
    assert store.enter("") is None
    assert store.join("ben") is None
    store.close()
    assert entered[1] not in (tmp_path / DATABASE).read_bytes().decode("latin-1")
    again = Store(tmp_path, "s")
    again.enrol(["ann", "cleo"])
    assert {name: code for name, code in again.codes().items() if name != "cleo"} == codes
    again.leave(entered[1])
    assert again.who(entered[1]) is None
    again.close()


@pytest.mark.parametrize("raters", [[], ["ann"]])
@pytest.mark.parametrize("ask", ["codes", "choice", "paraphrase"])
def test_the_organiser_may_look_before_anybody_joined(
    ask: str, raters: list[str], coded: Study, tmp_path: Path
) -> None:
    other = Study(ask, questions({"a": 2, "b": 1}, 2))  # type: ignore[arg-type]
    found = live.content(coded if ask == "codes" else other, tmp_path / "s", raters, [])
    assert [one["done"] for one in found["raters"]] == [0] * len(raters)
    assert not found["agreement"].get("rated_by_several")
    assert "missing" not in found


def test_a_database_of_another_study_or_of_nothing_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, "s").close()
    with pytest.raises(FiglangError, match="has answers to another study"):
        Store(tmp_path, "t")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / DATABASE).write_text("no database, " * 100)
    with pytest.raises(FiglangError, match="cannot be used"):
        Store(tmp_path / "x", "s")


# Exports


def test_sheets_come_back_as_they_were_given(coded: Study, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = Store(folder, coded.signature)
    store.enrol(["ann", "ben", "cleo"])
    answer_all(store, coded, "ann", "literal")
    for n, one in enumerate(coded.questions[:5]):
        store.record("ben", one.id, "ambiguous" if n else "correct", True, 1, f"{n}")
    paths = exports.write(coded, store, folder)
    assert {path.name for path in paths} >= {"sheet-ann.csv", "sheet-ben.csv", "answers.csv"}
    assert "sheet-cleo.csv" not in {path.name for path in paths}
    _, rated = sheets.read(folder, [folder / "exports" / f"sheet-{name}.csv" for name in ("ann", "ben")])
    assert [one.codes[0] for one in rated] == [2.0] * 12
    assert [one.codes[1] for one in rated[:5]] == [1, -1, -1, -1, -1]
    assert np.isnan([one.codes[1] for one in rated[5:]]).all()
    shown = live.content(coded, folder, ["ann", "ben", "cleo"], store.latest())
    assert shown["agreement"] == pytest.approx(ratings.agreement(rated, "figqa"))
    assert [(one["done"], one["checks"], one["passed"]) for one in shown["raters"]] == [
        (12, 2, 2),
        (5, 0, 0),
        (0, 0, 0),
    ]
    store.close()


def test_people_stand_in_reports_beside_models(tmp_path: Path) -> None:
    asked = study.of(config(tmp_path, data=SAMPLE, limit=40), tmp_path)
    store = Store(tmp_path, asked.signature)
    store.enrol(["ann", "ben", "cleo"])
    for rater, wrong in (("ann", 4), ("ben", 5), ("cleo", 40)):
        for n, one in enumerate(asked.questions):
            assert one.gold is not None
            store.record(
                rater, one.id, str(1 - one.gold if n % wrong == 0 else one.gold), n % 3 > 0, 1, f"{n}"
            )
    exports.write(asked, store, tmp_path)
    chosen = common.majorities(common.people(tmp_path / "exports" / "people.csv"))
    assert len(chosen) == 40
    wrong = [one.id for one in asked.questions if chosen[one.id] != one.gold]
    assert wrong == [asked.questions[place].id for place in (0, 20)]
    (system,) = systems.read([str(tmp_path / "exports" / "people.jsonl")])
    assert [row.id for row in system.predictions if not row.correct] == wrong
    ceiling = rows((tmp_path / "exports" / "ceiling.csv").read_text())
    assert Counter(row["right"] for row in ceiling) == {"3": 24, "2": 14, "1": 1, "0": 1}
    found = live.right(asked, live.by_question(asked, store.latest()))
    assert found["items"] == {"all": 24, "most": 14, "half or fewer": 1, "none": 1}
    assert found["all"]["value"] == pytest.approx((120 - 10 - 8 - 1) / 120)
    store.close()


def test_tables_for_prolific_and_label_studio(coded: Study, tmp_path: Path) -> None:
    store = Store(tmp_path / "s", coded.signature)
    store.enrol(["ann", "ben", "cleo"])
    answer_all(store, coded, "ann")
    store.record("ben", coded.questions[0].id, "=literal", True, 1, "1")
    made = exports.files(coded, store, "CODE")
    found = {row["Participant id"]: row for row in rows(made["prolific.csv"])}
    assert [found[name]["Status"] for name in ("ann", "ben", "cleo")] == [
        "AWAITING REVIEW",
        "ACTIVE",
        "RESERVED",
    ]
    assert (found["ann"]["Completion code"], found["ben"]["Completion code"]) == ("CODE", "")
    assert (found["ann"]["Attention checks passed"], found["ann"]["Attention checks failed"]) == ("2", "0")
    labels = rows(made["label_studio.csv"])
    assert len(labels) == 13
    assert {row["annotator"] for row in labels} == {"ann", "ben"}
    assert {row["lead_time"] for row in labels if row["annotator"] == "ann"} == {"1.250"}
    assert [row["rating"] for row in labels if row["annotator"] == "ben"] == ["'=literal"]
    every = rows(made["answers.csv"])
    assert Counter(row["check"] for row in every) == {"passed": 2, "": 13}
    assert [row["place"] for row in every if row["rater"] == "ann"] == [str(n) for n in range(1, 15)]
    store.close()


def test_raters_whose_names_differ_in_case_have_files_of_their_own_on_every_file_system(
    tmp_path: Path, coded: Study
) -> None:
    store = Store(tmp_path / "s", coded.signature)
    names = ["Ann", "ann", "ANN", "Ben", "a b", "A b"]
    store.enrol(names)
    answer_all(store, coded, "ann", "wrong")
    alone = [name for name in exports.files(coded, store) if name.startswith("sheet-")]
    for name in names:
        answer_all(store, coded, name, "wrong" if name == "ann" else "correct")
    made = exports.files(coded, store)
    store.close()
    sheets_made = [name for name in made if name.startswith("sheet-")]
    assert len({name.casefold() for name in sheets_made}) == len(names) == len(sheets_made)
    assert "sheet-Ann.csv" in made
    assert alone[0] in made, "a sheet keeps its name when others come"
    assert {row["rating"] for row in rows(made[alone[0]])} == {"wrong"}


@pytest.mark.parametrize("lost", ["answers", "raters", "sessions", "facts"])
def test_a_database_without_a_table_is_damaged_and_stays_as_it_is(tmp_path: Path, lost: str) -> None:
    store = Store(tmp_path, "s")
    store.enrol(["ann"])
    store.close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as base, base:
        base.execute(f"DROP TABLE {lost}")
    with pytest.raises(FiglangError, match=f"has no table {lost}"):
        Store(tmp_path, "s")
    with closing(sqlite3.connect(tmp_path / DATABASE)) as base:
        assert (lost,) not in base.execute("SELECT name FROM sqlite_master").fetchall()


def test_only_a_start_makes_a_database(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="is missing"):
        Store(tmp_path, "s", new=False)
    (tmp_path / DATABASE).touch()
    with pytest.raises(FiglangError, match="has no table answers"):
        Store(tmp_path, "s", new=False)
    Store(tmp_path, "s").close()
    Store(tmp_path, "s", new=False).close()

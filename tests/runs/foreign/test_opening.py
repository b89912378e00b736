"""Results of other tools: every form is read, wrong ones are refused in one line, clusters are adopted."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.runs import foreign, systems
from figlang.runs.predictions import write_predictions
from figlang.statistics import metrics
from figlang.types import Prediction

Row = Mapping[str, Any]


def lines(path: Path, *rows: Row) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sample(number: int, target: str, *values: object, **doc: object) -> Row:
    """A line as lm-evaluation-harness 0.4.13 writes it: numbers of replies are texts."""
    asked = {
        f"gen_args_{place}": {"arg_0": "Time is", "arg_1": f" word{place}"} for place in range(len(values))
    }
    return {
        "doc_id": number,
        "doc": doc,
        "target": target,
        "arguments": asked,
        "resps": [],
        "filtered_resps": [[str(value), "False"] for value in values],
        "filter": "none",
        "acc": 1.0,
    }


def log(*samples: Row) -> Row:
    return {"version": 2, "eval": {"model": "openai/some-model", "task": "x"}, "samples": list(samples)}


def asked(number: int, target: str, answer: str | None, **more: object) -> Row:
    scores = {"choice": {"value": "C" if answer == target else "I", "answer": answer}}
    return {
        "id": number,
        "epoch": 1,
        "choices": ["one", "two", "three"],
        "target": target,
        "scores": scores,
        **more,
    }


# lm-evaluation-harness


def test_samples_of_the_harness_have_its_sums_as_scores(tmp_path: Path) -> None:
    folder = tmp_path / "org__model"
    folder.mkdir()
    path = lines(folder / "samples_x.jsonl", sample(0, "1", -2.5, -1.25), sample(1, "word0", -1.0, -2.0))
    read = foreign.read(path, None)
    assert (read.model, read.tool) == ("org/model", "lm-evaluation-harness")
    assert [(row.id, row.gold, row.scores) for row in read.predictions] == [
        ("0", 1, (-2.5, -1.25)),
        ("1", 0, (-1.0, -2.0)),
    ]


def test_the_id_of_a_document_goes_before_its_number(tmp_path: Path) -> None:
    path = lines(tmp_path / "samples_x.jsonl", sample(0, "0", -1, -2, id="dev-7", name="seven"))
    assert [row.id for row in foreign.read(path, None).predictions] == ["dev-7"]
    assert [row.id for row in foreign.read(path, "doc.name").predictions] == ["seven"]


def test_only_the_first_filter_of_a_task_is_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", sample(0, "0", -1, -2), {**sample(0, "0", -9, -2), "filter": "other"})
    assert [row.scores for row in foreign.read(path, None).predictions] == [(-1.0, -2.0)]


def test_arguments_in_lists_are_read_as_those_in_objects(tmp_path: Path) -> None:
    row = sample(0, "word1", -2.5, -1.25)
    listed = [list(one.values()) for one in row["arguments"].values()]
    read = [
        foreign.read(lines(tmp_path / name, {**row, "arguments": asked}), None).predictions
        for name, asked in (("samples_a.jsonl", row["arguments"]), ("samples_b.jsonl", listed))
    ]
    assert read[0] == read[1]
    assert read[0][0].gold == 1


# inspect_ai


def test_a_log_of_inspect_has_choices(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log(asked(1, "B", "B"), asked(2, "A", "C"), asked(3, "A", None))))
    read = foreign.read(path, None)
    assert read.model == "openai/some-model"
    assert [(row.id, row.gold, row.choice) for row in read.predictions] == [
        ("1", 1, 1),
        ("2", 0, 2),
        ("3", 0, None),
    ]


def test_options_of_an_exported_task_have_their_places_in_the_item(tmp_path: Path) -> None:
    shown = {"options": [2, 0, 1], "group": "1"}
    path = tmp_path / "log.json"
    samples = asked(1, "B", "B", metadata=shown), asked(2, "A", "C", metadata={"options": [7, 0, 1]})
    path.write_text(json.dumps(log(*samples)))
    assert [(row.gold, row.choice) for row in foreign.read(path, None).predictions] == [(0, 0), (0, 2)]


def test_an_archive_of_inspect_is_read_as_its_json_is(tmp_path: Path) -> None:
    samples = [asked(1, "B", "B"), asked(2, "A", "C")]
    path, archive = tmp_path / "log.json", tmp_path / "log.eval"
    path.write_text(json.dumps(log(*samples)))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps({"eval": {"model": "openai/some-model"}}))
        for each in samples:
            file.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
    assert foreign.read(archive, None) == foreign.read(path, None)


def test_epochs_of_a_sample_are_one_cluster(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log(asked(1, "B", "B"), {**asked(1, "B", "A"), "epoch": 2})))
    assert [(row.id, row.group) for row in foreign.read(path, None).predictions] == [
        ("1/1", "1"),
        ("1/2", "1"),
    ]


# Tables


def test_tables_name_an_option_by_number_or_letter_and_keep_attributes(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("id,gold,choice,group,genre\na,0,A,p,news\nb,B,,p,fiction\nc,2,1,,\n")
    rows = foreign.read(path, None).predictions
    assert [(row.id, row.group, row.gold, row.choice) for row in rows] == [
        ("a", "p", 0, 0),
        ("b", "p", 1, None),
        ("c", "c", 2, 1),
    ]
    assert [row.attributes for row in rows] == [{"genre": ("news",)}, {"genre": ("fiction",)}, {}]
    assert {len(row.scores) for row in rows} == {3}, "the file names three options"


def test_a_row_without_a_group_joins_none_that_is_called_like_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("id,gold,choice,group\na,0,0,c\nb,1,1,c\nc,0,1,\n")
    assert [row.group for row in foreign.read(path, None).predictions] == ["c", "c", "c (alone)"]


def test_a_table_that_excel_saved_is_read(tmp_path: Path) -> None:
    """It begins with a byte-order mark, and was refused by data.strict, which nobody had set."""
    path = tmp_path / "mine.csv"
    path.write_text("id;gold;choice\r\na;0;1\r\n", encoding="utf-8-sig", newline="")
    assert [row.choice for row in foreign.read(path, None).predictions] == [1]
    path.write_text("id,gold,choice\na,0\n", encoding="utf-8-sig")
    with pytest.raises(FiglangError, match="2 cells under 3 columns") as raised:
        foreign.read(path, None)
    assert "data.strict" not in str(raised.value)


def test_tables_take_scores_too(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", tmp_path / "long.jsonl"
    wide.write_text("id,gold,score_0,score_1\na,0,0.25,0.75\n")
    lines(long, {"id": "a", "gold": 0, "scores": [0.25, 0.75]})
    assert foreign.read(wide, None).predictions == foreign.read(long, None).predictions
    assert foreign.read(wide, None).predictions[0].choice == 1


WRONG: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no option is the target": (
        lambda folder: lines(folder / "s.jsonl", sample(0, "word7", -1, -2)),
        "line 1: the target 'word7' is not one of its 2 options",
    ),
    "another kind of task": (
        lambda folder: lines(folder / "s.jsonl", {**sample(0, "x"), "filtered_resps": ["a text"]}),
        "not of a multiple-choice task",
    ),
    "scores that are no numbers": (
        lambda folder: lines(folder / "s.jsonl", sample(0, "0", "nan", -2)),
        "no list of two finite scores",
    ),
    "an id twice": (
        lambda folder: lines(
            folder / "s.jsonl", {"id": "a", "gold": 0, "choice": 1}, {"id": "a", "gold": 0, "choice": 1}
        ),
        "the id a occurs twice; name the column .* by join=COLUMN",
    ),
    "neither choice nor scores": (
        lambda folder: lines(folder / "s.jsonl", {"id": "a", "gold": 0}),
        "row 1 has neither choice nor scores",
    ),
    "a gold option that is a word": (
        lambda folder: lines(folder / "s.jsonl", {"id": "a", "gold": "yes", "choice": 0}),
        "gold is 'yes'; write the number of an option",
    ),
    "a log without samples": (
        lambda folder: lines(folder / "log.json", {"eval": {}}),
        "not a log of inspect_ai with samples",
    ),
    "an archive that is none": (
        lambda folder: lines(folder / "log.eval", {"eval": {}}),
        "not a log of inspect_ai",
    ),
    "an empty table": (
        lambda folder: lines(
            folder / "s.csv",
        ),
        "s.csv",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    made, message = WRONG[name]
    path = made(tmp_path)
    with pytest.raises(FiglangError, match=message) as refused:
        foreign.read(path, None)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


# As systems


def test_clusters_and_attributes_are_those_of_the_evaluation_by_figlang(tmp_path: Path) -> None:
    own = [
        Prediction("a", "pair", 0, (1.0, 0.0), {"genre": ("news",)}),
        Prediction("b", "pair", 1, (1.0, 0.0), {"genre": ("news",)}),
    ]
    write_predictions(tmp_path / "predictions.jsonl", own)
    theirs = lines(
        tmp_path / "theirs.jsonl", {"id": "a", "gold": 0, "choice": 1}, {"id": "b", "gold": 1, "choice": 1}
    )
    _, read = systems.read([str(tmp_path / "predictions.jsonl"), str(theirs)])
    assert [(row.id, row.group, row.paired, row.attributes) for row in read.predictions] == [
        ("a", "pair", True, {"genre": ("news",)}),
        ("b", "pair", True, {"genre": ("news",)}),
    ]
    assert read.content["tool"] == "a table"


def owned(folder: Path, *golds: int, options: int = 4) -> Path:
    """Predictions by figlang that are always wrong, in clusters of two items."""
    path = folder / "predictions.jsonl"
    write_predictions(
        path,
        [
            Prediction(
                f"i{place}",
                f"c{place // 2}",
                gold,
                tuple(float(option == (gold + 1) % options) for option in range(options)),
            )
            for place, gold in enumerate(golds)
        ],
    )
    return path


def test_the_interval_of_adopted_results_is_that_of_their_clusters(tmp_path: Path) -> None:
    golds = [place % 2 for place in range(24)]
    choices = [gold if place // 2 % 2 else 1 - gold for place, gold in enumerate(golds)]
    theirs = lines(
        tmp_path / "theirs.jsonl",
        *({"id": f"i{place}", "gold": golds[place], "choice": choices[place]} for place in range(24)),
    )
    (alone,) = systems.read([str(theirs)])
    _, read = systems.read([str(owned(tmp_path, *golds, options=2)), str(theirs)])
    assert alone.content["metrics"]["accuracy"]["clusters"] == 24
    assert read.content["metrics"] == metrics.measure(read.predictions)
    assert read.content["metrics"]["accuracy"]["clusters"] == 12


def test_a_choice_alone_gets_the_number_of_options_of_the_item(tmp_path: Path) -> None:
    theirs = lines(
        tmp_path / "theirs.jsonl",
        {"id": "i0", "gold": 0, "choice": 0},
        {"id": "i1", "gold": 1, "choice": None},
    )
    _, read = systems.read([str(owned(tmp_path, 0, 1)), str(theirs)])
    assert [row.scores for row in read.predictions] == [(1.0, 0.0, 0.0, 0.0), (0.0,) * 4]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"choice": 9}, "the choice of item i0 is number 9, and it has 4 options"),
        ({"scores": [0.5, 0.25, 0.1]}, "item i0 has 3 scores, and 4 options"),
        ({"scores": [1, 1]}, "item i0 has 2 scores, and 4 options"),
    ],
)
def test_results_on_other_options_are_refused(row: Row, said: str, tmp_path: Path) -> None:
    theirs = lines(tmp_path / "theirs.jsonl", {"id": "i0", "gold": 0, **row})
    with pytest.raises(FiglangError, match=f"theirs.jsonl: {said}") as raised:
        systems.read([str(owned(tmp_path, 0)), str(theirs)])
    assert "\n" not in str(raised.value)

"""Reading NLI: every form of the authors' files, rows without agreement, the held-out part, the hub's
copies."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.tasks.nli import reading as nli
from figlang.tasks.nli.task import TITLES
from figlang.tasks.registry import for_training, load
from figlang.types import CLASSES, Inference

SOURCE = "package:figlang/samples"
ROWS = [
    {"gold_label": "entailment", "sentence1": "A dog runs.", "sentence2": "A dog moves.", "pairID": "p1"},
    {"gold_label": "contradiction", "sentence1": "A dog runs.", "sentence2": "A dog sleeps.", "pairID": "p2"},
    {"gold_label": "-", "sentence1": "A dog runs.", "sentence2": "It is fast.", "pairID": "p3"},
    {"gold_label": "neutral", "sentence1": "It rains.", "sentence2": "It is May.", "pairID": "p4"},
]


def lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    return path


def texts(split: Any) -> list[tuple[str, str, int | None]]:
    return [(item.context, item.hypothesis, item.gold) for item in split.items]


EXPECTED = [
    ("A dog runs.", "A dog moves.", 0),
    ("A dog runs.", "A dog sleeps.", 2),
    ("It rains.", "It is May.", 1),
]


def json_lines(folder: Path) -> None:
    lines(folder / "snli" / "snli_1.0_dev.jsonl", ROWS)


def archive(folder: Path) -> None:
    lines(folder / "snli_1.0" / "snli_1.0_dev.jsonl", ROWS)


def tabs(folder: Path) -> None:
    rows = ["gold_label\tparse\tsentence1\tsentence2\tpairID\tlabel1\tlabel2"]
    # A parse with an open quote, and rows that name one or no annotator: both are in the published files.
    rows += [
        f'{row["gold_label"]}\t( "A\t{row["sentence1"]}\t{row["sentence2"]}\t{row["pairID"]}\tneutral'
        for row in ROWS
    ]
    lines(folder / "snli" / "snli_1.0_dev.txt", rows)


def aligned(folder: Path) -> None:
    for stem, column in nli.ALIGNED.items():
        lines(folder / "snli" / f"{stem}.dev", [f"{row[column]} " for row in ROWS])


@pytest.mark.parametrize("form", [json_lines, archive, tabs, aligned])
def test_every_form_gives_the_same_rows(tmp_path: Path, form: Any) -> None:
    form(tmp_path)
    split = nli.load("validation", "snli", str(tmp_path))
    assert texts(split) == EXPECTED
    (note,) = split.notes
    assert "1 row whose annotators did not agree (label -) left out" in note


def test_a_row_is_a_premise_with_a_hypothesis_and_three_classes(tmp_path: Path) -> None:
    json_lines(tmp_path)
    first, second, third = nli.load("validation", "snli", str(tmp_path)).items
    assert first == Inference(
        "snli-snli_1.0_dev-p1",
        "snli-snli_1.0_dev-p1",
        "A dog runs.",
        CLASSES,
        0,
        {"class": ("entailment",)},
        hypothesis="A dog moves.",
    )
    assert second.group == first.group != third.group, "rows of one premise depend on each other"


def test_rows_without_agreement_are_no_problem_in_strict_mode(tmp_path: Path) -> None:
    json_lines(tmp_path)
    assert len(nli.load("validation", "snli", str(tmp_path), strict=True).items) == 3


@pytest.mark.parametrize(
    ("part", "labels"),
    [("R1/dev", ("e", "n", "c")), ("dev_fitems", ("SUPPORTS", "NOT ENOUGH INFO", "REFUTES"))],
)
def test_anli_and_fever_name_their_labels_and_fields_otherwise(
    tmp_path: Path, part: str, labels: tuple[str, ...]
) -> None:
    hypothesis = "hypothesis" if part == "R1/dev" else "query"
    rows = [
        {"uid": f"u{index}", "context": "x", hypothesis: "y", "label": label}
        for index, label in enumerate(labels)
    ]
    path = lines(tmp_path / f"{part}.jsonl", rows)
    assert [item.gold for item in nli.read(path, "mine").items] == [0, 1, 2]


BAD: list[tuple[Any, str, str]] = [
    ("{", "not valid JSON", "write one JSON object on each line"),
    ({**ROWS[0], "sentence1": ""}, "no text under sentence1", "fill the field"),
    ({**ROWS[0], "sentence2": None}, "no text under sentence2", "fill the field"),
    (
        {**ROWS[0], "gold_label": "maybe"},
        "label 'maybe'",
        "use entailment, neutral, contradiction, their first letters",
    ),
    (
        {**ROWS[0], "gold_label": 1},
        "label '1'",
        "use entailment, neutral, contradiction",
    ),  # a number says nothing of its meaning
    ({name: value for name, value in ROWS[0].items() if name != "gold_label"}, "label ''", "use entailment"),
]


@pytest.mark.parametrize(("row", "what", "remedy"), BAD)
def test_a_bad_row_is_left_out_by_number_and_remedy(tmp_path: Path, row: Any, what: str, remedy: str) -> None:
    path = lines(tmp_path / "mine.jsonl", [ROWS[0], row])
    split = nli.read(path, "mine")
    assert len(split.items) == 1
    (note,) = split.notes
    assert note.startswith("mine.jsonl row 2: ")
    assert what in note
    assert remedy in note
    with pytest.raises(FiglangError, match=r"mine\.jsonl row 2"):
        nli.read(path, "mine", strict=True)


def test_tab_separated_rows_that_end_too_early_are_left_out(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine.txt", ["gold_label\tsentence1\tsentence2", "neutral\tx\ty", "neutral\tx"])
    assert "mine.txt row 2: no cell under sentence2" in nli.read(path, "mine").notes[0]


def test_a_table_without_the_columns_names_them(tmp_path: Path) -> None:
    with pytest.raises(
        FiglangError, match=r"no column 'gold_label'.*needed are gold_label, sentence1, sentence2"
    ):
        nli.read(lines(tmp_path / "mine.txt", ["label\tsentence1\tsentence2"]), "mine")


def test_aligned_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    aligned(tmp_path)
    lines(tmp_path / "snli" / "labels.dev", ["neutral"])
    with pytest.raises(FiglangError, match=r"s1\.dev has 4 lines.*labels\.dev has 1 lines"):
        nli.load("validation", "snli", str(tmp_path))


def test_aligned_files_are_all_of_a_split_whatever_its_parts(tmp_path: Path) -> None:
    for stem, text in {"s1": "A dog runs.", "s2": "A dog moves.", "labels": "entailment"}.items():
        lines(tmp_path / "anli" / f"{stem}.dev", [text])
    assert [item.id for item in nli.load("validation", "anli", str(tmp_path)).items] == ["anli-dev-1"]


def test_the_authors_files_go_before_aligned_ones_beside_them(tmp_path: Path) -> None:
    aligned(tmp_path)
    json_lines(tmp_path)
    assert nli.load("validation", "snli", str(tmp_path)).source.endswith("snli_1.0_dev.jsonl")


def test_labels_may_be_missing_in_a_test_part_only(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "mine.jsonl",
        [{"context": "x", "query": "y"}, {"context": "x", "query": "y", "label": "hidden"}],
    )
    assert [item.gold for item in nli.read(path, "mine", hidden=True).items] == [None, None]


def test_an_id_that_occurs_twice_gets_its_row(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine.jsonl", [ROWS[0], {**ROWS[1], "pairID": "p1"}])
    assert [item.id for item in nli.read(path, "mine").items] == ["mine-p1", "mine-p1-row2"]


def test_a_folder_without_the_data_names_both_remedies(tmp_path: Path) -> None:
    with pytest.raises(FiglangError) as error:
        nli.load("train", "mnli", str(tmp_path))
    for part in (
        "no multinli_1.0_train.jsonl or .txt",
        "paths.data=DIR",
        "mnli/",
        "paths.data=null",
        "nyu-mll/multi_nli",
    ):
        assert part in str(error.value)


def test_the_hubs_fever_has_claim_and_evidence_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"fid": "1", "premise": "a claim", "hypothesis": "the evidence", "label": "entailment"}
    monkeypatch.setattr(nli, "hub_rows", lambda *_: ([(1, row)], "digest"))
    assert texts(nli.load("validation", "fever_nli", None)) == [("the evidence", "a claim", 0)]


def test_the_hubs_anli_is_read_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rows(_: str, __: None, part: str) -> Any:
        asked.append(part)
        return [(1, {"uid": part, "premise": "x", "hypothesis": "y", "label": "neutral"})], part

    monkeypatch.setattr(nli, "hub_rows", rows)
    assert len(nli.load("test", "anli", None).items) == 3
    assert asked == ["test_r1", "test_r2", "test_r3"]


@pytest.mark.parametrize("dataset", TITLES)
def test_every_data_set_has_a_sample_with_all_classes(dataset: str) -> None:
    train, validation = for_training(DataConfig(dataset=dataset, root=SOURCE, strict=True), PathsConfig())
    for split in (train, validation):
        assert {item.gold for item in split.items} == {0, 1, 2}
        assert len({item.id for item in split.items}) == len(split.items)


def test_the_mix_is_all_four_corpora() -> None:
    split = load("train", DataConfig(dataset="nli_mix", root=SOURCE), PathsConfig())
    names = Counter(item.id.split("-")[0] for item in split.items)
    assert names == {"snli": 48, "mnli": 12, "anli": 9, "fever_nli": 6}


def test_fevers_test_labels_are_hidden() -> None:
    assert {item.gold for item in nli.load("test", "fever_nli", SOURCE).items} == {None}


def test_what_is_held_out_shares_no_premise_with_what_is_trained_on() -> None:
    train, validation = (nli.load(split, "snli_dev_test", SOURCE) for split in ("train", "validation"))
    assert not {item.context for item in train.items} & {item.context for item in validation.items}
    whole = sum(len(nli.load(split, "snli", SOURCE).items) for split in ("validation", "test"))
    assert len(train.items) + len(validation.items) == whole


def test_snli_dev_test_has_no_test_part() -> None:
    with pytest.raises(FiglangError, match="snli_dev_test has no test part"):
        nli.load("test", "snli_dev_test", SOURCE)


def test_published_snli(snli_root: str) -> None:
    dev = nli.load("validation", "snli", snli_root, strict=True)
    assert Counter(item.gold for item in dev.items) == {0: 3329, 1: 3235, 2: 3278}
    train, validation = (
        nli.load(split, "snli_dev_test", snli_root, strict=True) for split in ("train", "validation")
    )
    assert (len(train.items), len(validation.items)) == (17821, 1845)
    assert not {item.context for item in train.items} & {item.context for item in validation.items}

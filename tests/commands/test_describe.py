"""figlang describe: what is in a data set, said once and within bounds."""

import logging
import sys
import warnings
from pathlib import Path

import pytest

from figlang.commands import describe
from figlang.errors import FiglangError
from figlang.reports import plots
from figlang.tables import drawing
from figlang.tasks.figqa import linguistic, segments
from figlang.types import Item

pytestmark = pytest.mark.drawn

HEADER = "startphrase,ending1,ending2,labels\n"


def items(count: int) -> list[Item]:
    return [Item(f"i{n}", f"g{n // 2}", f"The day was a stone {n}", ("a", "b"), n % 2) for n in range(count)]


def described(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["describe", *words])
    describe.main()


def without_spacy() -> None:
    raise FiglangError("linguistic analyses need spaCy; pip install 'figlang[analysis]'")


@pytest.mark.parametrize(("count", "most"), [(100, 100), (100, 50), (101, 7), (1000, 333), (10, 2)])
def test_a_part_is_whole_pairs_from_all_over_the_split(count: int, most: int) -> None:
    kept = linguistic.every(items(count), most)
    assert most / 3 <= len(kept) <= most
    assert {item.group for item in kept[::2]} == {item.group for item in kept}
    assert kept[0].id == "i0"
    assert int(kept[-1].id[1:]) >= count * (1 - 3 / max(most // 2, 1))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The day was a stone", True),
        ("वह पत्थर है", False),
        ("石だった", False),
        ("O día era pedra", True),
        ("", True),
    ],
)
def test_the_script_is_that_of_most_letters(text: str, answer: bool) -> None:
    assert linguistic.latin([text]) is answer


def test_texts_in_another_script_are_counted_without_a_parser_and_said_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "hindi.csv"
    file.write_text(
        HEADER + "वह पत्थर है,वह भारी है,वह हल्का है,0\nवह पंख है,वह भारी है,वह हल्का है,1\n", encoding="utf-8"
    )
    monkeypatch.setattr(segments, "parser", lambda: pytest.fail("an English parser reads no Hindi"))
    described(monkeypatch, "data=figqa_csv", f"data.train={file}", f"output={tmp_path}/out")
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "without the counts of parts of texts: the parser is English, and most letters of these texts are "
        "not Latin"
    ]
    assert "longest option" in capsys.readouterr().out
    assert (tmp_path / "out" / "surface.csv").is_file()


def test_without_a_parser_the_counts_are_there_and_the_reason_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(segments, "parser", without_spacy)
    described(monkeypatch, "data=figqa_sample", "split=train", f"output={tmp_path}/out")
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "without the counts of parts of texts: linguistic analyses need spaCy; "
        "pip install 'figlang[analysis]'"
    ]
    assert (tmp_path / "out" / "counts.csv").is_file()


def test_no_more_items_are_parsed_than_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []
    monkeypatch.setattr(
        linguistic,
        "frequencies",
        lambda rows: seen.append(len(rows)) or {"subject": {"day": 1}, "object": {"stone": 1}},
    )
    described(monkeypatch, "data=figqa_sample", "split=train", "parsed=100", f"output={tmp_path}/out")
    assert 33 <= seen[0] <= 100
    said = (tmp_path / "out" / "segments.md").read_text(encoding="utf-8")
    assert f"Only {seen[0]} of 560 items were parsed" in said


def test_letters_without_a_font_are_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    drawing._say_letters.cache_clear()
    found = {
        "subject": {"\U00012000\U00012001": 3},
        "object": {"\U00012000": 2},
    }  # cuneiform, which DejaVu Sans has not
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("a", "b"):
            drawing.save(plots.frequencies(found), tmp_path / name, ("svg", "pdf"))
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "figures hold letters that no font of matplotlib has here"
    ]


def test_a_part_that_never_occurs_is_drawn_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing.save(plots.frequencies({"subject": {"day": 1}, "relation": {}}), tmp_path / "a", ("svg",))


@pytest.mark.parametrize(("segmented", "kept"), [(90, False), (170, True)])
def test_texts_in_which_the_parser_finds_little_are_not_set_beside_the_papers_counts(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    segmented: int,
    kept: bool,
) -> None:
    word = segments.Word("day", "NN")
    found = segments.Segments((word,), (word,), (word,))
    monkeypatch.setattr(segments, "stream", lambda texts: iter(range(180)))
    monkeypatch.setattr(segments, "segment", lambda place: found if place < segmented else None)
    described(monkeypatch, "data=figqa_sample", "split=validation", f"output={tmp_path}/out")
    said = "the parser is English, and it finds subject, relation and object in only 90 of 180 texts"
    assert (said in caplog.text) is not kept
    assert (tmp_path / "out" / "segments.md").exists() is kept


def test_other_warnings_about_figures_are_not_swallowed() -> None:
    with pytest.warns(UserWarning, match="tight layout"), drawing.letters_without_font():
        warnings.warn("tight layout is off", UserWarning, stacklevel=1)


def test_the_evaluated_items_are_described_unless_another_split_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(segments, "parser", without_spacy)
    row = "The day was a {},It was {},It was {},0\n"
    for name, words in (("english", ("stone", "long", "short")), ("other", ("rock", "slow", "fast"))):
        (tmp_path / f"{name}.csv").write_text(HEADER + row.format(*words), encoding="utf-8")
    described(monkeypatch, "data=miqa_sample", "output=miqa")  # has no training items
    described(monkeypatch, "data=figqa_csv", "data.train=english.csv", "data.validation=other.csv")
    described(monkeypatch, "data=figqa_csv", "data.train=english.csv")
    said = capsys.readouterr().out
    assert "**other of other.csv**" in said
    assert "**english of english.csv**" in said
    assert [path.name for path in sorted(Path("runs/data").iterdir())] == [
        "figqa_csv-train",
        "figqa_csv-validation",
    ]


def test_a_description_of_training_items_does_not_miss_the_training_items(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(segments, "parser", without_spacy)
    described(monkeypatch, "data=miqa_sample", f"output={tmp_path}/miqa")
    assert "Without the rule that goes by the training split: it was not read." in capsys.readouterr().out
    described(monkeypatch, "data=figqa_sample", "split=train", f"output={tmp_path}/out")
    said = capsys.readouterr().out
    assert "Rules without a model" in said
    assert "the training split" not in said


def test_hidden_labels_are_counted_and_own_items_do_not_stand_beside_the_papers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = segments.Word("day", "NN")
    found = segments.Segments((word,), (word,), (word,))
    monkeypatch.setattr(segments, "stream", lambda texts: iter(list(texts)))
    monkeypatch.setattr(segments, "segment", lambda text: found)
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + "A day was a stone,long,short,-1\nB day was a stone,long,low,0\n")
    described(monkeypatch, f"data={file}", f"output={tmp_path}/out")
    said = capsys.readouterr().out
    assert "| hidden labels |  | 1 | 50.0 % |" in said
    assert "| segment | different |\n" in said
    assert "published" not in said.lower()

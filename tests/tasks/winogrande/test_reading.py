"""WinoGrande: any file in WinoGrande's form, the published ones, the bundled sample, the hub's copy."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.config import DataConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.files.sources import package_path
from figlang.scoring.likelihood import choose, partners_of
from figlang.scoring.requests import Request, Scored
from figlang.scoring.wording import Wording
from figlang.tasks.registry import for_training, load
from figlang.tasks.winogrande import reading as winogrande
from figlang.types import Item

SOURCE = "package:figlang/samples"
FIRST = {
    "qID": "A-1",
    "sentence": "The key stuck in the lock as the _ was bent.",
    "option1": "key",
    "option2": "lock",
    "answer": "1",
}
SECOND = {**FIRST, "qID": "A-2", "sentence": "The key stuck in the lock as the _ was old.", "answer": "2"}


def winogrande_sample() -> Path:
    return package_path(f"{SOURCE}/winogrande/train_m.jsonl")


def write(folder: Path, *rows: Any) -> Path:
    path = folder / "mine.jsonl"
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    return path


def test_an_item_is_cut_at_the_blank(tmp_path: Path) -> None:
    items = winogrande.read(write(tmp_path, FIRST, SECOND)).items
    before = "The key stuck in the lock as the"
    assert items == (
        Item("A-1", "A", before, ("key was bent.", "lock was bent."), 0, cut=True),
        Item("A-2", "A", before, ("key was old.", "lock was old."), 1, cut=True),
    )


def test_context_and_option_make_the_sentence(tmp_path: Path) -> None:
    (item,) = winogrande.read(
        write(tmp_path, {**FIRST, "sentence": "Tim gave Ed the pen, and _'s hand shook."})
    ).items
    assert f"{item.context} {item.options[0]}" == "Tim gave Ed the pen, and key's hand shook."


def test_a_blank_may_begin_the_sentence(tmp_path: Path) -> None:
    (item,) = winogrande.read(write(tmp_path, {**FIRST, "sentence": "_ thanked Ed."})).items
    assert (item.context, item.options[0]) == ("", "key thanked Ed.")


@pytest.mark.parametrize("answer", [{"answer": ""}, {}])
def test_a_row_without_an_answer_is_hidden(tmp_path: Path, answer: dict[str, str]) -> None:
    row = {name: value for name, value in FIRST.items() if name != "answer"} | answer
    assert [item.gold for item in winogrande.read(write(tmp_path, row)).items] == [None]


def test_a_causal_model_reads_the_sentence_as_it_is() -> None:
    (item, twin) = winogrande.read(winogrande_sample()).items[:2]
    wording = Wording(ScoringConfig(), PromptConfig(), item.cut)
    assert "".join(wording.whole("", item.context, item.options[0])) == (
        "The suitcase would not fit under the bed because the suitcase was too tall."
    )
    assert partners_of([item, twin]) == {}, (
        "both contexts are the same, so that nothing can be chosen backward"
    )


@pytest.mark.parametrize(
    ("scoring", "prompt", "named"),
    [
        (ScoringConfig("liu2022", template="{metaphor}. {answer}."), PromptConfig(), "scoring=liu2022"),
        (ScoringConfig("repo", template="{metaphor}. {answer}"), PromptConfig(), "scoring=repo"),
        (ScoringConfig(), PromptConfig("suffix", suffix="That is to say, "), "prompt=suffix"),
        (ScoringConfig(), PromptConfig("mine", template="{metaphor} so {answer}"), "prompt=mine"),
    ],
)
def test_wordings_that_would_tear_a_sentence_are_refused(
    scoring: ScoringConfig, prompt: PromptConfig, named: str
) -> None:
    with pytest.raises(FiglangError, match=f"^{named} puts text .* use scoring=clean"):
        Wording(scoring, prompt, cut=True)
    Wording(scoring, prompt)


class Zeros:
    """A scorer that remembers what it was asked."""

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        self.asked = list(requests)
        return Scored([torch.zeros(2) for _ in self.asked], 0, 0, 0, 0, None)


def test_a_sentence_that_begins_with_its_blank_begins_with_its_option() -> None:
    item = Item("1", "1", "", ("Ann was mad.", "Eve was mad."), 0, cut=True)
    scorer = Zeros()
    found = choose(scorer, [item], Wording(ScoringConfig(), PromptConfig(), cut=True))
    assert scorer.asked == [Request("", option) for option in item.options]
    assert found.measured[0]["metaphor_alone"] is None


def test_what_stands_before_a_blank_is_not_scored_alone() -> None:
    # Of one token and without a bos it has no probability.
    item = Item("1", "1", "So", ("Ann went.", "Eve went."), 0, cut=True)
    scorer = Zeros()
    found = choose(scorer, [item], Wording(ScoringConfig(), PromptConfig(), cut=True))
    assert Request("", "So") not in scorer.asked
    assert found.measured[0]["metaphor_alone"] is None


BAD: list[tuple[Any, str, str]] = [
    ("{", "not valid JSON", "write one JSON object on each line"),
    ([1], "not a JSON object", "write one JSON object on each line"),
    ({**FIRST, "sentence": " "}, "no sentence", "fill the field or delete the row"),
    ({**FIRST, "option2": None}, "no option2", "fill the field or delete the row"),
    ({**FIRST, "sentence": "No blank."}, "0 blanks", "mark one place of the sentence by _"),
    ({**FIRST, "sentence": "_ and _."}, "2 blanks", "mark one place of the sentence by _"),
    ({**FIRST, "answer": "3"}, "answer '3'", "use 1 (option1), 2 (option2) or nothing (hidden)"),
    (SECOND, "qID 'A-2' occurs twice", "give every row its own qID"),
]


@pytest.mark.parametrize(("row", "what", "remedy"), BAD)
def test_a_bad_row_is_left_out_by_number_and_remedy(tmp_path: Path, row: Any, what: str, remedy: str) -> None:
    path = write(tmp_path, SECOND, row)
    split = winogrande.read(path)
    assert [item.id for item in split.items] == ["A-2"]
    (note,) = split.notes
    assert note.startswith("mine.jsonl row 2: ")
    assert what in note
    assert remedy in note
    with pytest.raises(FiglangError, match=r"mine\.jsonl row 2"):
        winogrande.read(path, strict=True)


def test_equal_options_are_kept_and_noted(tmp_path: Path) -> None:
    split = winogrande.read(write(tmp_path, {**FIRST, "option2": "key "}))
    assert len(split.items) == 1
    assert "no choice can be right" in split.notes[0]


@pytest.mark.parametrize("rows", [(), ("{",)])
def test_a_file_without_a_usable_row_is_refused(tmp_path: Path, rows: tuple[str, ...]) -> None:
    with pytest.raises(FiglangError, match="no usable row"):
        winogrande.read(write(tmp_path, *rows))


def test_a_folder_without_the_file_names_both_remedies(tmp_path: Path) -> None:
    with pytest.raises(FiglangError) as error:
        winogrande.load("train", "xl", str(tmp_path))
    for part in ("no train_xl.jsonl", "paths.data=DIR", "paths.data=null", winogrande.HUB):
        assert part in str(error.value)


def test_the_unpacked_archive_is_found_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "winogrande_1.1").mkdir()
    write(tmp_path, FIRST).rename(tmp_path / "winogrande_1.1" / "dev.jsonl")
    assert len(winogrande.load("validation", "xs", str(tmp_path)).items) == 1


def test_the_hubs_rows_are_paired_as_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [
        {name: value for name, value in row.items() if name != "qID"}
        for row in (FIRST, SECOND, FIRST, FIRST, SECOND)
    ]
    asked: list[tuple[str, str | None, str]] = []

    def rows(name: str, configuration: str | None, part: str) -> tuple[list[tuple[int, dict[str, str]]], str]:
        asked.append((name, configuration, part))
        return list(enumerate(plain, start=1)), "digest"

    monkeypatch.setattr(winogrande, "hub_rows", rows)
    split = winogrande.load("train", "debiased", None)
    assert asked == [("allenai/winogrande", "winogrande_debiased", "train")]
    assert [item.group for item in split.items] == ["train-1", "train-1", "train-3", "train-4", "train-4"]
    assert (split.source, split.sha256) == ("allenai/winogrande", "digest")


def test_the_sample_is_paired_and_balanced() -> None:
    data = DataConfig(dataset="winogrande", size="medium", root=SOURCE, strict=True)
    for split in for_training(data, PathsConfig()):
        assert split.notes == ()
        assert set(Counter(item.group for item in split.items).values()) == {2}
        assert Counter(item.gold for item in split.items) == {
            0: len(split.items) // 2,
            1: len(split.items) // 2,
        }


@pytest.mark.parametrize(("size", "items"), [("xs", 160), ("small", 640), ("medium", 2558), ("large", 10234)])
def test_published_training_files(winogrande_root: str, size: str, items: int) -> None:
    split = load(
        "train", DataConfig(dataset="winogrande", size=size, strict=True), PathsConfig(data=winogrande_root)
    )
    assert len(split.items) == items
    assert set(Counter(item.group for item in split.items).values()) == {2}, "every row has its twin"
    assert all(item.cut and item.context for item in split.items)


def test_published_dev_file(winogrande_root: str) -> None:
    split = load(
        "validation",
        DataConfig(dataset="winogrande", size="large", strict=True),
        PathsConfig(data=winogrande_root),
    )
    assert Counter(Counter(item.group for item in split.items).values()) == {1: 699, 2: 284}
    assert Counter(item.gold for item in split.items) == {0: 628, 1: 639}

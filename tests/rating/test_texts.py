"""Answers from elsewhere (figlang/rating/texts.py), MUNCH's unexpected words (substitutions.py), and their
sheets."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from figlang.commands.rate import main as rate_command
from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.rating import ratings, sheets, substitutions, texts
from figlang.runs import results
from figlang.statistics import rankings
from figlang.tasks import registry as data
from figlang.tasks.figqa.free_text import KIND as FIGQA
from figlang.tasks.munch.free_text import SCALE
from figlang.tasks.open import SUBSTITUTION
from figlang.tasks.scales import Rated
from figlang.types import Generation, Ranking
from tests.conftest import published

nan = float("nan")
ROWS = (
    "prompt,answer\nThe lake was a mirror. That is to say:,It was calm\nThe lake was a mirror. That is "
    "to say:,It was a mirror\n"
)
SAMPLES = DataConfig(
    name="munch_generation", dataset="munch", question="generation", root="package:figlang/samples"
)


def test_texts_are_answers_by_model_and_question(tmp_path: Path) -> None:
    path = tmp_path / "gpt.csv"
    path.write_text(ROWS + '"His word was a wall",He kept it\n')
    (found,) = texts.read(path, "figqa").items()
    model, answers = found
    assert model == "gpt"
    assert [one.sample for one in answers] == [0, 1, 0]
    assert answers[0].item == answers[1].item != answers[2].item
    assert {one.kind for one in answers} == {FIGQA}
    assert answers[2] == Generation(
        answers[2].item, answers[2].item, FIGQA, 0, "His word was a wall", "He kept it", "He kept it"
    )


def test_an_answer_may_hold_a_line_separator(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    row = {"prompt": "His word was a wall", "answer": "He kept it.\u2028Always."}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    ((answer,),) = texts.read(path, "figqa").values()
    assert answer.answer.split() == ["He", "kept", "it.", "Always."]


def test_lines_of_json_may_say_more(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    rows = [
        {
            "q": "Is it?",
            "a": f"No {n}",
            "model": f"m{n % 2}",
            "item": "i1",
            "group": "g1",
            "kind": "literal-literal",
        }
        for n in range(3)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    found = texts.read(path, "miqa", "q", "a")
    assert {model: [one.sample for one in several] for model, several in found.items()} == {
        "m0": [0, 1],
        "m1": [0],
    }
    assert (found["m0"][0].group, found["m0"][0].kind) == ("g1", "literal-literal")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "prompt,answer\nx,\n", "row 1 has no answer"),
        ("a.csv", "prompt,answer\n", "has no answer; give a row"),
        ("a.csv", "prompt,answer\nx,y,z\n", "a.csv row 1"),
        ("a.csv", "question,answer\nx,y\n", "prompt"),
        ("a.csv", "prompt,answer,kind\nx,y,z\n", "row 1 has the kind 'z'"),
        ("a.jsonl", '{"prompt": "x"}\n', "row 1 is not an object with prompt and answer"),
        ("a.jsonl", '{"prompt": "x", "answer": 3}\n', "row 1 has a answer that is not a text"),
        ("b.jsonl", None, "cannot be read"),
    ],
)
def test_what_is_not_a_text_is_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(FiglangError, match=message):
        texts.read(tmp_path / name, "figqa")


def test_the_authors_own_completions_can_be_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = "figqa/generations/davinci_generation.csv"
    path = Path(published(file)) / file
    arguments = [
        f"folder={tmp_path}",
        f"texts=[{path}]",
        "prompt_column=startphrase",
        "answer_column=completion",
        "limit=10",
    ]
    monkeypatch.setattr(sys, "argv", ["rate.py", *arguments])
    rate_command()
    scale, rated = sheets.read(tmp_path, [])
    assert scale == "figqa"
    assert len(rated) == 40
    assert len({one.generation.item for one in rated}) == 10
    assert {one.model for one in rated} == {"davinci_generation"}


@pytest.fixture
def ranked(tmp_path: Path) -> Path:
    """A folder of table=munch_generate whose model gives people's first word for all sentences but the
    first two."""
    split = data.load("validation", SAMPLES, PathsConfig())
    rows = []
    for place, item in enumerate(split.items):
        word = "qqq" if place == 0 else " " if place == 1 else f" {item.options[0].upper()}"
        ranks = tuple(1 if place > 1 and not n else None for n in range(len(item.options)))
        rows.append(Ranking(item.id, item.group, item.options, ranks, word, (word,)))
    rankings.write(tmp_path / "words" / "rankings" / "PTGS54.jsonl", rows)
    content = {
        "best": "PTGS54",
        "split": "validation",
        "data": results.about_data(SAMPLES, {"validation": split}, ()),
    }
    results.write(tmp_path / "words" / "metrics.json", content)
    return tmp_path / "words"


def test_words_that_no_person_gave_are_put_into_categories(
    ranked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = substitutions.unexpected(ranked, PathsConfig())
    first = data.load("validation", SAMPLES, PathsConfig()).items[0]
    assert (one.answer, one.kind, one.item) == ("qqq", SUBSTITUTION, first.id)
    assert one.prompt.endswith(f"\nPeople: {', '.join(first.options)}")
    assert one.prompt.count("*") >= 2
    monkeypatch.setattr(sys, "argv", ["rate.py", f"folder={tmp_path / 'sheet'}", f"runs=[{ranked}]"])
    rate_command()
    scale, _ = sheets.read(tmp_path / "sheet", [])
    assert scale == "munch"
    for word in SCALE.codes:
        assert word in (tmp_path / "sheet" / "rate.html").read_text()


def test_shares_of_categories_by_hand() -> None:
    codes = [(1, 1, 2), (4, 4, nan), (1, 2, nan), (4, nan, nan), (nan, nan, nan)]
    rated = [
        Rated("m", Generation(f"i{n}", f"g{n}", SUBSTITUTION, 0, "p", "w", "w"), given)
        for n, given in enumerate(codes)
    ]
    found = ratings.statistics(rated, "munch")
    of_model = found["models"]["m"]
    assert (of_model["decided"], of_model["undecided"]) == (3, 1)
    shares = {word: of_model[word]["value"] for word in SCALE.codes}
    assert shares == pytest.approx(
        {"nonsensical": 1 / 3, "context": 0, "ungrammatical": 0, "preference": 2 / 3}
    )
    # Agreement of three answers with several ratings: 1/3, 1, 0. Shares of codes over four answers: 1: 7/24,
    # 2: 5/24, 4: 1/2.
    shares_C = np.array([2 / 3 + 1 / 2, 1 / 3 + 1 / 2, 2]) / 4
    chance = (shares_C * (1 - shares_C)).sum() / 3
    assert found["agreement"]["gwet_ac1"] == pytest.approx((4 / 9 - chance) / (1 - chance))


def test_a_source_given_twice_and_a_folder_of_something_else_are_named(
    ranked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_text(ROWS)
    (ranked / "metrics.json").write_text("{}")
    for overrides, message in (
        ([f"texts=[{tmp_path}/a.csv,{tmp_path}/a.csv]"], "names one twice"),
        ([f"texts=[{tmp_path}/a.csv,{tmp_path}/sub/a.csv]"], "has answers of a, and so has another source"),
        ([f"runs=[{ranked}]"], "is not a folder of figlang reproduce with rankings"),
    ):
        monkeypatch.setattr(sys, "argv", ["rate.py", f"folder={tmp_path / 'x'}", *overrides])
        with pytest.raises(SystemExit):
            rate_command()
        assert message in capsys.readouterr().err


def test_a_scale_that_no_task_has_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(ROWS)
    with pytest.raises(FiglangError, match="scale=stars is not a choice; choose one of figqa, miqa, munch"):
        texts.read(tmp_path / "own.csv", "stars")

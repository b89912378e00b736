"""Overlap of training and evaluation text (figlang/tasks/overlap.py), the command, and what a card says of
it."""

import json
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.contamination import main as contamination_command
from figlang.config import DataConfig, PathsConfig
from figlang.config.composing import data_presets
from figlang.errors import FiglangError
from figlang.runs import stages
from figlang.tasks import overlap
from figlang.tasks.overlap_table import by_cleanness, evaluated, ids, table
from figlang.tasks.registry import for_training, load
from figlang.text.likeness import Twins
from figlang.types import CLASSES, Inference, Item, Prediction, Split

LONG = "the old clock in the hall had swallowed another hour"
SAMPLES = "package:figlang/samples"


def item(identifier: str, context: str, *options: str, cut: bool = False) -> Item:
    return Item(identifier, identifier, context, options or ("It was dull.", "It was bright."), 0, cut=cut)


def found(trained: list[Item], evaluated: list[Item], n: int = 8) -> dict[str, Any]:
    train, other = (
        Split(name, tuple(items), name, name) for name, items in (("train", trained), ("dev", evaluated))
    )
    whole = overlap.check(train, [("own", "validation", other)], n)["evaluated"][0]
    return {"context": dict(whole["context"]), "option": dict(whole["option"])}


def test_a_run_of_words_overlaps_whatever_its_case_and_punctuation() -> None:
    ours = item("ours", f"She said: {LONG}, and left.")
    assert found([item("theirs", LONG.upper())], [ours])["context"] == {"ours": "theirs"}
    assert found([item("theirs", LONG.replace("swallowed", "eaten"))], [ours])["context"] == {}


def test_fewer_words_than_n_are_no_overlap_and_n_can_be_lowered() -> None:
    trained, ours = (
        [item("theirs", f"{LONG} again and again")],
        [item("ours", "the old clock in the hall was broken last winter")],
    )
    assert found(trained, ours)["context"] == {}
    assert found(trained, ours, n=6)["context"] == {"ours": "theirs"}


def test_a_short_text_has_to_be_equal_and_a_very_short_one_does_not_count() -> None:
    trained = [item("theirs", "The room was an oven")]
    assert found(trained, [item("ours", "the room was an oven!")])["context"] == {"ours": "theirs"}
    assert found(trained, [item("ours", "The room was an oven today")])["context"] == {}
    assert found([item("theirs", "Oh no")], [item("ours", "oh no")])["context"] == {}


def test_options_are_told_from_contexts() -> None:
    trained = [item("theirs", "Her smile was a knife", "It was sharp and cold", "It was warm and soft")]
    ours = [item("ours", "His word was a blade", "It was sharp and cold.", "It was of no use")]
    assert found(trained, ours) == {"context": {}, "option": {"ours": "theirs"}}


def test_a_cut_sentence_is_compared_as_a_whole() -> None:
    trained = [
        item("theirs", "The trophy did not fit since the", "trophy was too big", "case was too big", cut=True)
    ]
    other = item("ours", "The trophy did not fit since the", "shelf was low", "door was low", cut=True)
    assert found(trained, [other])["context"] == {}, "the part before the blank alone says nothing"
    assert found(trained, [item("ours", "The trophy did not fit since the trophy was too big")])[
        "context"
    ] == {"ours": "theirs"}


def test_of_an_inference_the_hypothesis_is_compared_and_no_names_of_classes() -> None:
    one = Inference("a", "a", "A man sleeps on a bench", CLASSES, 0, hypothesis="A man is asleep")
    other = Inference("b", "b", "A dog runs on a beach", CLASSES, 0, hypothesis="a man is asleep.")
    assert found([one], [other]) == {"context": {}, "option": {"b": "a"}}


def test_training_text_is_found_in_itself() -> None:
    train = load("train", DataConfig(root=SAMPLES), PathsConfig())
    whole = overlap.check(train, [("own", "train", train)])["evaluated"][0]
    assert len(whole["context"]) == len(train.items)


def test_munch_is_looked_at_whole_unless_it_was_trained_on() -> None:
    against = data_presets(["munch_paraphrase"])
    munch = DataConfig("munch_paraphrase", "munch", question="paraphrase", root=SAMPLES)
    [(_, _, held_out)] = evaluated(munch, against, PathsConfig())
    [(_, _, whole)] = evaluated(DataConfig(root=SAMPLES), against, PathsConfig())
    train, validation = for_training(munch, PathsConfig())
    assert [one.id for one in held_out.items] == [one.id for one in validation.items]
    assert len(whole.items) == len(train.items) + len(validation.items)


def test_a_table_counts_and_names_without_text() -> None:
    train = Split("train", (item("theirs", LONG),), "a", "b", dropped=("gone",))
    document = overlap.check(
        train,
        [
            (
                "own",
                "validation",
                Split("dev", (item("ours", LONG), item("x", "a b c", "d e f", "g h i")), "a", "b"),
            )
        ],
    )
    made = table(document, "1 training item")
    assert made.rows == (("own", "validation", 2, "1 (50.0 %)", "1 (50.0 %)", "1 (50.0 %)"),)
    assert "1 training item whose metaphor" in made.notes[0]
    assert ids(document) == ["own validation: ours = theirs"]
    many = {"data": "own", "split": "test", "context": {f"i{n}": "theirs" for n in range(14)}}
    (line,) = ids({"evaluated": [many]})
    assert line.endswith("i11 = theirs and 2 more")
    assert "clock" not in json.dumps(document)


def test_words_are_told_apart_in_every_script() -> None:
    # Vowel signs are part of a word; these texts differ in nothing else.
    assert found([item("theirs", "कि का की")], [item("ours", "कु के को")])["context"] == {}
    assert found([item("theirs", "कि का की।")], [item("ours", "कि का की")])["context"] == {"ours": "theirs"}
    # Without spaces, two characters count as a word: eight words are sixteen characters.
    room = "その部屋はまるで燃える炉のようだった"
    assert found([item("theirs", f"昨日、{room}と言う")], [item("ours", f"彼女には{room}。")])["context"] == {
        "ours": "theirs"
    }
    assert (
        found([item("theirs", f"昨日、{room[:12]}と言う")], [item("ours", f"彼女には{room}。")])["context"]
        == {}
    )


def test_near_duplicates_are_found() -> None:
    train, dev = (
        Split(name, (item(name, text),), name, name)
        for name, text in (("theirs", LONG), ("ours", LONG.replace("hour", "day")))
    )
    [one] = overlap.check(train, [("own", "validation", dev)], n=12)["evaluated"]
    assert (one["context"], one["near"]) == ({}, {"ours": "theirs"})  # 8 of 10 different words are the same
    assert overlap.near_duplicates([train], dev, least=0.81) == {}


def test_of_several_contexts_the_most_similar_training_item_is_named() -> None:
    words = [f"word{place}" for place in range(19)]
    ours = item("ours", " ".join(words), "mine", "yours", cut=True)
    near, equal = item("near", " ".join([*words[1:], "mine"])), item("equal", " ".join([*words, "yours"]))
    for stage in ((near, equal), (equal, near)):
        train, dev = (Split("x", rows, "x", "x") for rows in (stage, (ours,)))
        assert overlap.near_duplicates([train], dev) == {"ours": "equal"}


def test_twins_are_those_of_comparing_all() -> None:
    draw = random.Random(0)
    sets = [frozenset(draw.choices("abcdefghij", k=draw.randint(1, 7))) for _ in range(300)]
    ours, theirs = (
        {str(place): one for place, one in enumerate(sets[:100])},
        [(str(place), one) for place, one in enumerate(sets[100:])],
    )
    for least in (0.4, 0.75, 1.0):
        best: dict[str, tuple[str, float]] = {}
        for name, one in ours.items():
            for other, some in theirs:
                alike = len(one & some) / len(one | some)
                if alike >= least and alike > best.get(name, ("", 0.0))[1]:
                    best[name] = (other, alike)
        search = Twins(ours, least)
        for name, one in theirs:
            search.see(name, one)
        assert search.found == best


def test_accuracy_on_the_clean_items_stands_beside_the_whole() -> None:
    items = tuple(
        item(name, text)
        for name, text in (("a", LONG), ("b", "a thing of its own kind"), ("c", "one more of another kind"))
    )
    split = Split("dev", items, "a", "b")
    document = overlap.check(Split("train", items[:1], "a", "b"), [("own", "validation", split)])
    predictions = [
        Prediction.of(one, scores)
        for one, scores in zip(items, ((1.0, 0.0), (1.0, 0.0), (0.0, 1.0)), strict=True)
    ]
    measured = overlap.by_cleanness(document["evaluated"][0], predictions)
    values = {name: one and (one.value, one.n) for name, one in measured.items()}
    assert values == {"whole": (pytest.approx(2 / 3), 3), "clean": (0.5, 2), "others": (1.0, 1)}
    [row] = by_cleanness(document, [("own", "validation", split)], [("mine", predictions)]).rows
    assert row[:3] == ("mine", "own", "validation")


def test_all_stages_of_a_training_count(tmp_path: Path) -> None:
    data = DataConfig("figqa_sample", root=SAMPLES)
    train, _ = for_training(data, PathsConfig())
    for name, source in (
        ("first", "package:x/y"),
        ("second", str(tmp_path / "first" / "model")),
        ("third", str(tmp_path / "second")),
    ):
        settings = {"data": asdict(data), "model": {"name_or_path": source, "init": "pretrained"}}
        (tmp_path / name / "model").mkdir(parents=True)
        (tmp_path / name / "recipe.json").write_text(
            json.dumps({"settings": settings, "data": {"train": train.sha256, "validation": "none"}})
        )
    assert [len(stages.before(tmp_path / name, PathsConfig())) for name in ("first", "second", "third")] == [
        0,
        1,
        2,
    ]
    own = Split("own", (item("own", "nothing of the kind here"),), "a", "b")
    found_in = overlap.check(
        own, [("own", "train", train)], before=stages.before(tmp_path / "second", PathsConfig())
    )
    assert len(found_in["evaluated"][0]["context"]) == len(train.items)
    assert (found_in["stages"], found_in["training_items"]) == (2, len(train.items) + 1)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["contamination.py", *words])
    contamination_command()


def test_the_command_writes_table_and_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    against = "against=[figqa_sample,miqa_sample,munch_paraphrase]"
    run(
        monkeypatch,
        "data=figqa_sample",
        against,
        "n=5",
        f"output={tmp_path}/found",
        "data.drop_near_duplicates=false",
    )
    written = json.loads((tmp_path / "found" / "overlap.json").read_text())
    assert written["n"] == 5
    assert [(one["data"], one["split"]) for one in written["evaluated"]] == [
        ("figqa_sample", "validation"),
        ("figqa_sample", "test"),
        ("miqa_sample", "validation"),
        ("munch_paraphrase, bundled sample", "validation"),
    ]
    assert {"contamination.md", "contamination.csv", "contamination.tex"} <= {
        path.name for path in (tmp_path / "found").iterdir()
    }
    assert "| miqa_sample | validation |" in capsys.readouterr().out


def test_a_file_that_is_named_alone_is_searched_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is every split, and a training leaves out what other splits have."""
    monkeypatch.chdir(tmp_path)
    text = load("validation", data_presets(["miqa_sample"])[0], PathsConfig()).items[0].context
    (tmp_path / "mine.csv").write_text(f'context,option1,option2,label\n"{text}",It is so,It is not,0\n')
    run(monkeypatch, "data=mine.csv", "against=[miqa_sample]", "output=found")
    one = json.loads((tmp_path / "found" / "overlap.json").read_text())
    assert one["training_items"] == 1
    assert one["evaluated"][0]["context"]


@pytest.mark.parametrize("header", ["context,option1,option2,label", "startphrase,ending1,ending2,labels"])
def test_files_of_one_s_own_are_looked_for_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    monkeypatch.chdir(tmp_path)
    train, _ = for_training(data_presets(["figqa_sample"])[0], PathsConfig())
    (tmp_path / "mine").mkdir()
    text = f'{header}\n"{train.items[3].context}",It is so,It is not,0\n'
    (tmp_path / "mine" / "sayings.csv").write_text(text, encoding="utf-8")
    run(monkeypatch, "data=figqa_sample", "against=mine/sayings.csv,miqa_sample", "output=found")
    own, other = json.loads((tmp_path / "found" / "overlap.json").read_text())["evaluated"]
    assert (own["data"], own["items"], len(own["context"])) == ("sayings", 1, 1)
    assert other["data"] == "miqa_sample"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["against=[gone.csv]"], "evaluation text of gone cannot be looked for: no such file: gone.csv"),
        (["against=[figqa]"], "figqa is neither a preset"),
        (["against=[]"], "against= is empty"),
        (["n=0"], "n=0 must be above 0"),
        (["data=miqa_sample"], "MiQA has no training questions"),
    ],
)
def test_mistakes_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "data=figqa_sample", *words)
    assert stopped.value.code == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error


def test_what_fig_qa_large_shares_with_dev(figqa_root: str) -> None:
    data, paths = DataConfig(size="large"), PathsConfig(data=figqa_root)
    train, dev = for_training(data, paths)
    whole = overlap.check(train, [("figqa_large", "validation", dev)])
    assert len(whole["dropped"]) == 4
    [one] = whole["evaluated"]
    assert (len(one["context"]), len(one["option"]), len(one["near"])) == (2, 96, 22)


def test_bundled_samples_are_not_named_as_the_data_sets_that_they_stand_for() -> None:
    sample = DataConfig("figqa_sample", root=SAMPLES)
    looked = evaluated(sample, [sample, *data_presets(["figqa_large", "miqa", "miqa_sample"])], PathsConfig())
    assert {name for name, _, _ in looked} == {"figqa_sample", "miqa, bundled sample"}


def test_a_preset_with_a_folder_of_its_own_is_read_there(tmp_path: Path) -> None:
    own = DataConfig("mine", root=str(tmp_path))  # nothing is in it
    assert [name for name, _, _ in evaluated(own, data_presets(["miqa_sample"]), PathsConfig())] == [
        "miqa_sample"
    ]


def test_a_data_set_that_is_not_here_is_named_with_the_way_to_leave_it_out(tmp_path: Path) -> None:
    own = DataConfig("mine", root=str(tmp_path))
    with pytest.raises(FiglangError, match=r"^evaluation text of miqa cannot .*leave miqa out of against=\["):
        evaluated(own, data_presets(["miqa"]), PathsConfig())

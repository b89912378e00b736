"""Judges and their ratings of every damage: nothing is believed that no judge said."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack import damage, world
from tests.attack.attacker import MODULES, QUIET, Attack, cases, check
from tests.attack.damage import Damage
from tests.processes import preload
from tests.victims import Victim, half_files

JUDGE = ("folder=sheet", *QUIET, "chrf=false")
ASKED = (*JUDGE, "model=gpt2", "model.init=tiny", "name=tiny")
PLACE = "sheet/judges/tiny"
RATINGS = f"{PLACE}/ratings.jsonl"
ABOUT = f"{PLACE}/metrics.json"
WORDS = ("correct", "incorrect", "literal", "ambiguous")
KINDS = damage.ANY | damage.JSON | {"a pipe": damage.pipe}


def hidden(spoil: Damage) -> Damage:
    """Damage to the ratings that whoever did it covered up: the hashes are gone."""

    def both(home: Path) -> None:
        spoil(home)
        damage.entries(ABOUT, files=...)(home)

    return both


# What a line of ratings.jsonl may hold instead, and what the error names; None where it is a rating.
ROWS: dict[str, tuple[dict[str, Any], str | None]] = {
    "word unknown": ({"word": "good"}, "good"),
    "word number": ({"word": 1}, "ratings.jsonl"),
    "word of the scale": ({"word": "correct"}, None),
    "id of another": ({"id": "r9-000000"}, "answers of this sheet"),
    "id number": ({"id": 1}, "ratings.jsonl"),
    "values nan": ({"values": {"correct": float("nan")}}, "ratings.jsonl"),
    "values inf": ({"values": {"correct": float("inf")}}, "ratings.jsonl"),
    "values huge": ({"values": dict.fromkeys(WORDS, 10**400)}, "ratings.jsonl"),
    "values of some words": ({"values": {"correct": 1.0}}, "values"),
    "values of other words": ({"values": dict.fromkeys("abcd", 0.25)}, "values"),
    "values of a metric": ({"values": {"likeness": 0.5}}, None),
    "asked a word": ({"asked": "x"}, "ratings.jsonl"),
    "asked nothing": ({"asked": []}, None),
    "asked once": ({"asked": [{"log_probabilities": dict.fromkeys(WORDS, -1.0)}]}, "ratings.jsonl"),
    "asked null": ({"asked": [{"log_probabilities": None}, {"log_probabilities": None}]}, None),
    "asked words": ({"asked": [{"log_probabilities": dict.fromkeys(WORDS, "x")}] * 2}, None),
    "asked of some": ({"asked": [{"log_probabilities": {"correct": -1.0}}] * 2}, None),
    "asked half": ({"asked": [{"log_probabilities": dict.fromkeys(WORDS, -1.0)}, {}]}, None),
}
NAMES = ("../../../T", "=cmd|'/C calc'!A0", "[red]x[/red]", "$x^{$", "x" * 300, ".", "a/b")


def damaged() -> Iterator[Attack]:
    for file, says in ((RATINGS, "ratings.jsonl"), (ABOUT, "metrics.json")):
        for kind, make in KINDS.items():
            unfinished = file == ABOUT and kind in ("missing", "a loop")  # as after a kill
            yield Attack(
                f"{Path(file).name} {kind}", "judge", JUDGE, None if unfinished else says, make(file)
            )
    for name, (values, says) in ROWS.items():
        spoil = damage.line(RATINGS, **values)
        yield Attack(f"changed {name}", "judge", JUDGE, "ratings.jsonl", spoil)
        words = (*JUDGE, "prior=removed")
        yield Attack(f"hidden {name}", "judge", words, says, hidden(spoil))
    twice = damage.changed(RATINGS, lambda content: content + content)
    yield Attack("every line twice", "judge", JUDGE, "answers of this sheet", hidden(twice))
    for value in (5, [1], "x", {"ratings.jsonl": 5}, {"../../../etc/passwd": "x"}, None):
        says = None if isinstance(value, dict) and "ratings.jsonl" not in value else "metrics.json"
        yield Attack(f"files {value}", "judge", JUDGE, says, damage.entries(ABOUT, files=value))
    yield Attack("decided_by a word", "judge", ASKED, "other settings", damage.entries(ABOUT, decided_by="x"))
    yield Attack("judged again", "judge", (*ASKED, "orders=one"), "other settings")


def people() -> Iterator[Attack]:
    words = (*JUDGE, "ratings=[ann.csv]")
    for kind, make in damage.ANY.items():
        says = None if kind == "cut" else "ann.csv"  # rows that are whole count, and the cut one is told
        yield Attack(f"ratings {kind}", "judge", words, says, make("ann.csv"))
    for name, text in {
        "formula": "id,rating\n=cmd|'/C calc'!A0,correct\n",
        "formula rating": "id,rating\nr1,=1+1\n",
        "control": "id,rating\n\x1b]0;x\x07,correct\n",
        "quotes": 'id,rating\n"a,correct\n',
        "columns": "a,b\n1,2\n",
    }.items():
        yield Attack(f"ratings {name}", "judge", words, "ann.csv", damage.holding("ann.csv", text))
        words_of = (*JUDGE, "references=refs.csv")
        yield Attack(f"references {name}", "judge", words_of, "refs.csv", damage.holding("refs.csv", text))
    for kind, make in damage.ANY.items():
        yield Attack(f"key {kind}", "judge", JUDGE, "key.json", make("sheet/key.json"))


def elsewhere(name: str) -> Damage:
    """A folder of the sheet that is a link to one outside."""

    def both(home: Path) -> None:
        outside = home / "outside"
        outside.mkdir()
        (outside / "mine.txt").write_text("mine")
        place = home / name
        if place.exists():
            place.rename(home / "before")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside)

    return both


def places() -> Iterator[Attack]:
    for name in NAMES:
        words = tuple(word for word in ASKED if not word.startswith("name="))
        yield Attack(f"name {name[:12]}", "judge", (*words, f'name="{name}"'), None)
    for name in ("sheet/judges", PLACE):
        yield Attack(f"link at {name}", "judge", (*ASKED, "overwrite=true"), "link", elsewhere(name))
    yield Attack("folder missing", "judge", ("folder=nowhere", *QUIET), "nowhere")
    yield Attack("folder of an evaluation", "judge", ("folder=one", *QUIET), "key.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    preload(*MODULES)
    home = tmp_path_factory.mktemp("judges") / "home"
    home.mkdir()
    (home / "own.csv").write_text("prompt,answer\n" + "".join(f"Prompt {n},answer {n}\n" for n in range(4)))
    for command, words in (("rate", ("texts=[own.csv]", "folder=sheet")), ("judge", ASKED)):
        victim = Victim(home, f"figlang.commands.{command}", *words)
        assert victim.wait() == 0, victim.said
    rows = (home / "sheet" / "sheet.csv").read_text().splitlines()
    (home / "ann.csv").write_text("\n".join([rows[0], *(f"{row}correct" for row in rows[1:])]) + "\n")
    return home


@pytest.mark.parametrize("attack", cases([*damaged(), *people(), *places()]))
def test_a_judge(tmp_path: Path, whole: Path, attack: Attack) -> None:
    home = world.copied(whole, tmp_path)
    kept = {"sheet/judging.json"} if (home / "sheet" / "judging.json").exists() else set()
    for name in kept:  # a summary is made anew by every command
        (home / name).unlink()
    check(home, attack)
    outside = home / "outside"
    assert not outside.exists() or [path.name for path in outside.iterdir()] == ["mine.txt"]


@pytest.mark.faults
def test_a_judge_killed_at_any_moment_ends_as_one_that_was_not(tmp_path: Path, whole: Path) -> None:
    wanted = (whole / RATINGS).read_bytes()
    home = world.copied(whole, tmp_path)
    began = time.monotonic()
    victim = Victim(home, "figlang.commands.judge", *ASKED, "overwrite=true", "orders=one")
    assert victim.wait() == 0, victim.said
    length = time.monotonic() - began
    for share in (0.2, 0.5, 0.7, 0.8, 0.9, 1.0):
        Victim(home, "figlang.commands.judge", *ASKED, "overwrite=true").kill_after(share * length)
        assert not [path for path in half_files(home) if ".figlang-new" not in str(path)]
    victim = Victim(home, "figlang.commands.judge", *ASKED, "overwrite=true")
    assert victim.wait() == 0, victim.said
    assert (home / RATINGS).read_bytes() == wanted
    assert not list((home / PLACE).glob(".figlang-new*"))


@pytest.mark.faults
def test_two_judges_of_one_name_wait_for_each_other(tmp_path: Path, whole: Path) -> None:
    home = world.copied(whole, tmp_path)
    words = [(*ASKED, "overwrite=true", f"orders={orders}") for orders in ("one", "both", "one")]
    writers = [Victim(home, "figlang.commands.judge", *each) for each in words]
    codes = [writer.wait() for writer in writers]
    said = [writer.said for writer in writers]
    assert 0 in codes, said
    assert all(code == 0 or "another process" in text for code, text in zip(codes, said, strict=True)), said
    about = json.loads((home / ABOUT).read_text())
    rows = [json.loads(line) for line in (home / RATINGS).read_text().splitlines()]
    assert {len(row["asked"]) for row in rows} == {2 if about["decided_by"]["asked"]["both"] else 1}
    check(home, Attack("read", "judge", JUDGE, None, lambda home: (home / "sheet/judging.json").unlink()))

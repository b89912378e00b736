"""`figlang combine`: results of several systems as those of one."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.combine import main as combine_command
from figlang.commands.compare import main as compare_command
from figlang.config import DataConfig, PathsConfig
from figlang.runs import results, systems
from figlang.runs.predictions import BLIND, FORWARD, read_predictions, write_predictions
from figlang.tasks.registry import load
from figlang.types import Prediction

HEADER = "startphrase,ending1,ending2,labels\n"
SKILLS = {"one": 1.0, "two": 0.5, "none": 0.0}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of three systems on dev and on two folds of training items; the first two know something."""
    monkeypatch.chdir(tmp_path)
    for name, size in (("train", 200), ("validation", 60)):
        rows = "".join(f"{name} m{n},x{n // 2},y{n // 2},{n % 2}\n" for n in range(size))
        (tmp_path / f"{name}.csv").write_text(HEADER + rows)
    for name, skill in SKILLS.items():
        evaluated(tmp_path / "dev" / name, name, skill)
        for fold in ("1/2", "2/2"):
            evaluated(tmp_path / f"fold{fold[0]}" / name, name, skill, "train", fold)
    return tmp_path


def evaluated(
    folder: Path, model: str, skill: float, split: str = "validation", fold: str | None = None, **facts: Any
) -> None:
    root = folder.parent.parent
    files = {name: str(root / f"{name}.csv") for name in ("train", "validation")}
    data = DataConfig(name="own", dataset="figqa_csv", fold=fold if split == "train" else None, **files)
    items = load(split, data, PathsConfig())
    draw = random.Random(f"{model} {split} {fold}")
    rows, blind = [], []
    for item in items.items:
        scores = tuple(draw.gauss(skill * (place == item.gold), 1) for place in (0, 1))
        rows.append(Prediction.of(item, scores))
        blind.append(Prediction.of(item, (draw.random(), draw.random())))
    folder.mkdir(parents=True)
    write_predictions(folder / FORWARD, rows)
    write_predictions(folder / BLIND, blind)
    trained = f"own(fold={fold},seed=0)@abc" if fold else "own@abc"
    known = {"model": model, "base": model, "trained": trained, "scoring": "dual", "norm": "none", **facts}
    content = results.Evaluated(model, known, items, split, data.name, 0).document(folder)
    results.write(folder / "metrics.json", content | {"data": results.about_data(data, {split: items}, ())})


def combine(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["combine.py", *words])
    try:
        combine_command()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def content(folder: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(folder, "metrics.json").read_text())
    return read


def test_one_system_is_that_system(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert combine(monkeypatch, "dev/one", "output=alone") == 0
    for file in (FORWARD, BLIND):
        assert (home / "alone" / file).read_bytes() == (home / "dev" / "one" / file).read_bytes()
    ours, theirs = content("alone"), content("dev/one")
    for part in ("metrics", "blind", "gain"):
        assert ours[part] == theirs[part]


def test_the_order_of_systems_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert combine(monkeypatch, "dev/one", "dev/two", "weights=0.7,0.3", "output=a") == 0
    assert combine(monkeypatch, "dev/two", "dev/one", "weights=0.3,0.7", "output=b") == 0
    assert (home / "a" / FORWARD).read_bytes() == (home / "b" / FORWARD).read_bytes()
    ours, theirs = content("a"), content("b")
    for part in ("metrics", "blind", "signature", "members", "facts", "model"):
        assert ours[part] == theirs[part]
    assert ours["model"] == "one + two"
    weights = {member["model"]: member["weight"] for member in ours["members"]}
    assert weights == {"one": 0.7, "two": 0.3}
    assert "0.7*one@" in ours["signature"]
    assert "0.3*two@" in ours["signature"]


def test_weights_are_found_on_held_out_items(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs = ["dev/one", "dev/two", "dev/none"]
    fit = ",".join(f"fold{fold}/{name}" for fold in (1, 2) for name in ("one", "two", "none"))
    with caplog.at_level("WARNING"):
        assert combine(monkeypatch, *runs, f"fit={fit}", "output=fitted") == 0
    assert not caplog.records, "the fold is new to the model that scored it"
    weights = {member["model"]: member["weight"] for member in content("fitted")["members"]}
    assert weights["one"] > weights["two"] > weights["none"]
    held_out = [each["items"] for member in content("fitted")["members"] for each in member["held_out"]]
    assert sum(held_out) == 3 * 200
    found = {row.id: row for row in read_predictions(home / "fitted" / FORWARD)}
    parts = {name: read_predictions(home / "dev" / name / FORWARD) for name in SKILLS}
    for one, two, none in zip(*parts.values(), strict=True):
        for place in (0, 1):
            known = (weights["one"] * one.scores[place], weights["two"] * two.scores[place])
            last = weights["none"] * none.scores[place]
            assert found[one.id].scores[place] == pytest.approx(sum(known) + last)


def test_held_out_results_of_seeds_in_another_order_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seeds of a recipe have one name, and each got the weight of the other."""
    for seed, skill in (("0", 2.0), ("1", 0.0)):
        evaluated(home / "seeds" / seed, "tiny", skill, weights=seed)
        evaluated(home / "held" / seed, "tiny", skill, "train", "1/2", weights=seed)
    assert combine(monkeypatch, "seeds/0", "seeds/1", "fit=held/1,held/0", "output=no") == 2
    assert "held/1 is of the system of seeds/1, not of seeds/0" in capsys.readouterr().err
    assert combine(monkeypatch, "seeds/0", "seeds/1", "fit=held/0,held/1", "output=yes") == 0
    first, second = sorted(content("yes")["members"], key=lambda member: str(member["folder"]))
    assert first["weight"] > second["weight"]


def test_it_is_compared_as_a_system(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert combine(monkeypatch, "dev/one", "dev/two", "output=both", "name=together") == 0
    monkeypatch.setattr(sys, "argv", ["compare.py", "both", "dev/one"])
    compare_command()
    assert "together" in capsys.readouterr().out
    (system,) = systems.read(["both"])
    assert systems.items(system, systems.data_of(system), PathsConfig()).items
    assert len(system.blind) == len(system.predictions) == 60


def test_without_one_blind_result_there_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = content("dev/two")
    (home / "dev" / "two" / BLIND).unlink()
    kept = {key: value for key, value in document.items() if key not in ("blind", "gain", "files")}
    (home / "dev" / "two" / "metrics.json").write_text(json.dumps(kept))
    assert combine(monkeypatch, "dev/one", "dev/two", "output=both") == 0
    assert "blind" not in content("both")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["dev/one", "dev/two", "fit=dev/one,dev/two"], "has items that are reported, such as validation-"),
        (["dev/one", "dev/two", "fit=fold1/one"], "fit= names 1 results for 2 systems"),
        (
            ["dev/one", "dev/two", "fit=fold1/two,fold1/one"],
            "is not of the same system as dev/one (model: two",
        ),
        (["dev/one", "dev/two", "fit=fold1/one,fold2/two"], "are results on different items"),
        (["dev/one", "fold1/two"], "were evaluated on different files"),
        (["dev/one", "dev/two", "weights=1"], "weights= has 1 number for 2 systems"),
        (["dev/one", "dev/two", "weights=0,0"], "every number of weights= is 0"),
        (["dev/one", "dev/two", "weights=1,1", "fit=a,b"], "weights= and fit= both say the weights"),
        (["dev/one", "nowhere"], "no predictions file"),
        (
            ["dev/one", "dev/two", "weights="],
            "weights= is not a list of numbers: A factor for each system",
        ),
    ],
)
def test_what_cannot_be_combined_is_one_line(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    error: str,
) -> None:
    assert combine(monkeypatch, *words, "output=out") == 2
    said = capsys.readouterr().err.strip()
    assert error in said
    assert "\n" not in said
    assert not (home / "out" / FORWARD).exists()


@pytest.mark.parametrize(
    ("fold", "trained"),
    [
        (None, "own@abc"),
        ("1/2", "own(fold=2/2,seed=0)@abc"),
        ("1/2", "own(fold=1/2,seed=01)@abc"),  # seed 0 begins so
        ("1/2", "own>own(fold=1/2,seed=0)@abc"),
        ("1/2", "other(fold=1/2,seed=0)@abc"),  # whose pairs have other names
    ],
)
def test_items_that_a_system_was_trained_on_are_warned_of(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fold: str | None,
    trained: str,
) -> None:
    evaluated(home / "seen" / "one", "one", 1.0, "train", fold, trained=trained)
    with caplog.at_level("WARNING"):
        assert combine(monkeypatch, "dev/one", "fit=seen/one", "output=out") == 0
    assert "may have been trained on these items" in caplog.text


@pytest.mark.parametrize("labels", ["equal", "one changed", "others"])
def test_held_out_items_of_another_file_are_other_items_unless_it_is_a_copy(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], labels: str
) -> None:
    """Ids are made of the file's name and the number of a row, so two files of one name have equal ids."""
    draw = random.Random(0)
    rows = [f"validation m{n},x{n // 2},y{n // 2},{n % 2}" for n in range(60)]
    if labels == "others":
        rows = [f"another m{n},p{n},q{n},{draw.randrange(2)}" for n in range(60)]
    if labels == "one changed":
        rows[7] = f"{rows[7][:-1]}{1 - int(rows[7][-1])}"
    elsewhere = home / "elsewhere"
    for name in ("train", "validation"):
        (elsewhere / f"{name}.csv").parent.mkdir(exist_ok=True)
        (elsewhere / f"{name}.csv").write_text(HEADER + "\n".join(rows) + "\n\n")
    for name in ("one", "two"):
        evaluated(elsewhere / "other" / name, name, SKILLS[name])
    fit = "fit=elsewhere/other/one,elsewhere/other/two"
    ended = combine(monkeypatch, "dev/one", "dev/two", fit, "output=fitted")
    said = capsys.readouterr().err
    if labels == "others":
        assert ended == 0, said
        assert content("fitted")["members"][0]["held_out"][0]["items"] == 60
    else:
        assert ended == 2
        assert "has items that are reported, such as validation-" in said
        assert "(in files of other bytes, " in said
        assert said.count("\n") == 1


def test_parts_of_held_out_items_may_be_of_files_with_equal_ids(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    (home / "elsewhere").mkdir()
    rows = "".join(f"more m{n},p{n},q{n},{draw.randrange(2)}\n" for n in range(200))
    for name in ("train", "validation"):
        (home / "elsewhere" / f"{name}.csv").write_text(HEADER + rows)
    evaluated(home / "elsewhere" / "fold1" / "one", "one", 1.0, "train", "1/2")
    fit = "fit=fold1/one,elsewhere/fold1/one"
    assert combine(monkeypatch, "dev/one", fit, "output=fitted") == 0
    assert len(content("fitted")["members"][0]["held_out"]) == 2


@pytest.mark.parametrize("output", ["dev/one", "fold1/../fold1/one"])
def test_what_is_combined_is_not_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    before = (home / output / FORWARD).read_bytes()
    words = ["dev/one", "fit=fold1/one", f"output={output}", "overwrite=true"]
    assert combine(monkeypatch, *words) == 2
    assert "is one of the results that are combined; give another folder" in capsys.readouterr().err
    assert (home / output / FORWARD).read_bytes() == before

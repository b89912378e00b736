"""Every key of a metrics.json with values of every wrong kind: it is refused in one line, or shown."""

import copy
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from figlang.config import PathsConfig, ReportConfig
from figlang.errors import FiglangError
from figlang.reports import assembly, showing
from figlang.runs import answered, systems
from figlang.runs.predictions import read_predictions, write_predictions
from figlang.tasks import overlap
from figlang.tasks import registry as data
from tests.report_runs import SAMPLE, run

WRONG: dict[str, Any] = {
    "null": None,
    "a text": "x",
    "a number": 7,
    "below zero": -1,
    "a fraction": 1.5,
    "true": True,
    "no list": [],
    "no object": {},
    "a list": [1],
    "an object": {"a": {"b": [1]}},
    "not a number": float("nan"),
}
QUICK = ("an object", "a text")
SHOWN_IN_TABLES = (
    *("metrics", "backward", "blind", "gain", "clean", "contamination", "unknown_tokens", "health"),
    "tokens_by_language",
    *("signature", "model", "data_name", "split", "task", "published_file", "seed"),
)
ITEMS = 20
SHOWN = 3  # keys of an object that stands for more of its kind, for example by item
Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training's evaluation whose metrics.json has every part that one can have."""
    split = data.load("validation", SAMPLE, PathsConfig())
    folder = Path(run(tmp_path_factory.mktemp("keys") / "one", split, 4, seed=0))
    rows = read_predictions(folder / "predictions.jsonl")[:ITEMS]
    for name in ("predictions", "predictions_blind", "predictions_backward"):
        write_predictions(folder / f"{name}.jsonl", rows)
    content = json.loads((folder / "metrics.json").read_text())
    del content["files"]
    search = {"stages": 1, "training_items": 9, "touched": {rows[0].id: "train-1"}}
    read = answered.read(folder)
    content |= read.numbers() | {"clean": read.clean(search)}
    content |= {
        "task": "figqa",
        "contamination": overlap.check(split, [("figqa_sample", "validation", split)]),
        "health": [{"code": "collapsed", "epoch": 1, "message": "it stayed at chance"}],
        "unknown_tokens": {"tokens": 9, "unknown": 2, "items": 1, "scripts": ["Kannada"]},
        "tokens_by_language": {
            "Kannada": {"tokens": 9, "unknown": 2, "characters": 8, "dropped": 1},
        },
        "training": {"items": 9, "epochs": 2, "steps": 4, "precision": "32-true", "selection": "none"},
    }
    (folder / "metrics.json").write_text(json.dumps(content))
    return folder


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every key of a document, and the first element of its lists."""
    inside = list(value.items()) if isinstance(value, dict) else list(enumerate(value))[:1]
    for key, part in inside if len(at) < 2 else inside[:SHOWN]:
        yield (*at, key)
        if isinstance(part, dict | list):
            yield from places(part, (*at, key))


def with_wrong(content: Any, place: Place, wrong: Any) -> Any:
    changed = copy.deepcopy(content)
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = wrong
    return changed


def refusal(folder: Path) -> str | None:
    """What a folder is refused with; None if it is read and shown."""
    try:
        (system,) = systems.read([str(folder)])
        systems.pooled([system])
        showing.show(system.content, folder, Console(file=io.StringIO(), width=120))
    except FiglangError as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.faults) for kind in WRONG]
)
def test_no_key_of_metrics_json_can_break_what_reads_it(whole: Path, tmp_path: Path, kind: str) -> None:
    original = json.loads((whole / "metrics.json").read_text())
    folder = Path(shutil.copytree(whole, tmp_path / "one"))
    assert refusal(folder) is None
    every = list(places(original))
    assert len(every) > 150
    believed = []
    for place in every:
        (folder / "metrics.json").write_text(json.dumps(with_wrong(original, place, WRONG[kind])))
        said = refusal(folder)
        if said is None:
            believed.append(place)
        else:
            assert "\n" not in said
            assert str(folder) in said
    # Everything that tables show has its type.
    if kind == "an object":
        assert not [place for place in believed if place[0] in SHOWN_IN_TABLES]


@pytest.mark.faults
@pytest.mark.filterwarnings("ignore")
def test_what_is_believed_of_a_metrics_json_breaks_no_report(whole: Path, tmp_path: Path) -> None:
    original = json.loads((whole / "metrics.json").read_text())
    folder = Path(shutil.copytree(whole, tmp_path / "one"))
    for number, place in enumerate(places(original)):
        wrong = list(WRONG.values())[number % len(WRONG)]
        (folder / "metrics.json").write_text(json.dumps(with_wrong(original, place, wrong)))
        if refusal(folder) is None:
            try:
                assembly.write(ReportConfig([str(folder)], analysis="off"), tmp_path / "report")
            except FiglangError as error:
                assert "\n" not in str(error)  # noqa: PT017

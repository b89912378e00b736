"""Paths of this machine: what a reader of a card sees in their place."""

import re
import shlex
from pathlib import Path

import pytest

from figlang.models.manifest import Manifest
from figlang.release import card, portable
from tests.tables.test_writing_hostile_names import document

SHOWN = ["figlang", "train", "seed=0", "data=figqa_medium", "method.lr=1e-3", "method.teacher=[a/b,c]"]


@pytest.mark.parametrize(
    ("word", "short"),
    [
        ("run=/home/me/runs/a/seed0", "run=seed0"),
        ("data=/home/me/my own/train.csv", "data=train.csv"),
        ("method.teacher=[/x/first,/x/y/second]", "method.teacher=[first,second]"),
        ("/home/me/model.gguf", "model.gguf"),
        ("+data.columns={a:/x/y}", "+data.columns={a:y}"),
        ("note=It's from /home/me/notes.txt", "note=It's from notes.txt"),
        ("model.endpoint=http://localhost:8000/v1", "model.endpoint=http://localhost:8000/v1"),
        ("data.fold=1/2", "data.fold=1/2"),
        ("model=ORG/NAME", "model=ORG/NAME"),
    ],
)
def test_a_path_in_a_command_is_its_last_part_and_other_words_stay(word: str, short: str) -> None:
    line = shlex.join([*SHOWN, word])
    assert shlex.split(portable.command(line)) == [*SHOWN, short]
    assert (portable.command(line) == line) == (word == short)


def test_text_beside_paths_stays() -> None:
    text = '3 / 4 of 1/2, and/or https://a.org/b/c, `package:m/f`, base:org/name|x, f"{folder}/x", a +/- b'
    assert portable.plain(text) == text
    assert portable.plain("base:/home/me/model|n:3, '/a/b c', (/tmp/x)") == "base:model|n:3, 'b c', (x)"


def made(folder: Path, settings: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(settings)
    return folder


@pytest.mark.parametrize(
    ("settings", "project"),
    [
        ("run: runs/a/seed0", True),
        ("run: /else/where/a/seed0\npaths:\n  runs: runs", True),
        ("paths:\n  data: null", True),
        ("run: other/seed0\npaths:\n  runs: others", False),
        ("run: a/seed0\npaths:\n  runs: others", None),
    ],
)
def test_the_project_folder_is_where_the_run_was_typed(
    tmp_path: Path, settings: str, project: bool | None
) -> None:
    known = portable.places(made(tmp_path / "p" / "runs" / "a" / "seed0", settings), None)
    expected = {True: tmp_path / "p", None: tmp_path / "p" / "runs"}
    found = {folder: name for folder, name in known.items() if folder != str(Path.cwd())}
    assert found.get(str(expected.get(project))) == (None if project is False else ".")
    text = f"data={tmp_path}/p/train.csv run={tmp_path}/p/runs/a/seed0"
    assert (portable.named(text, known) == "data=./train.csv run=runs/a/seed0") == (project is True)


def test_the_data_have_the_name_of_their_variable_and_the_root_none(tmp_path: Path) -> None:
    run = made(tmp_path / "seed0", f"run: {tmp_path}/seed0\npaths:\n  runs: {tmp_path}")
    known = portable.places(run, "/data/sets")
    assert portable.named("/data/sets/figqa /data/setsx", known) == "$FIGLANG_DATA/figqa /data/setsx"
    assert known[str(tmp_path)] == "runs"
    assert "/" not in portable.places(run, "/")


def test_a_card_has_no_path_of_this_machine() -> None:
    base = "/home/me/my models/base"
    content = document({}) | {
        "signature": f"data:x|base:{base}|n:3",
        "command": f"figlang train model='{base}' run=/srv/runs/a",
        "commands": ["figlang train data=/srv/first.csv"],
        "commands_before": [["figlang train run=/srv/runs/before"]],
        "health": [{"code": "x", "epoch": 1, "message": "see /srv/log.csv"}],
    }
    for sha256 in (None, "0" * 64):
        made_by = Manifest("m", base, "contrastive", "pair", "clean", 80, 20.0, 2, "x", "0", 0)
        made_by = Manifest(**{**vars(made_by), "base_sha256": sha256, "base_precision": "float32"})
        text = card.card(made_by, content)
        assert not re.search(r"/home|/srv|my models", text)
        assert "base_model: " not in text, "a folder is not a name on the hub"
        assert "base_model_source: base\n" in text
        assert "figlang train model=base run=a\n" in text


def test_settings_and_results_lose_their_paths_and_keep_wordings_and_ids() -> None:
    settings = {
        "model": {"name_or_path": "/srv/my models/base", "revision": None},
        "data": {"train": "/srv/train.csv", "columns": {"attributes": ["/srv/a", "b/c"]}},
        "prompt": {"separator": "/", "template": "/x {metaphor}"},
        "seed": 0,
    }
    assert portable.settings(settings) == settings | {
        "model": {"name_or_path": "base", "revision": None},
        "data": {"train": "train.csv", "columns": {"attributes": ["a", "b/c"]}},
    }
    content = {
        "command": "figlang train data='/srv/my own.csv'",
        "commands": ["figlang train run=/srv/a"],
        "commands_before": [["figlang train run='/srv/my own/b'"]],
        "signature": "base:/srv/base|n:3",
        "data": {"train": {"source": "/srv/my own/train.csv"}, "settings": {"root": "/"}},
        "contamination": {"evaluated": [{"option": {"/m/1": "/m/2"}}]},
        "value": 0.5,
    }
    assert portable.document(content) == content | {
        "command": "figlang train 'data=my own.csv'",
        "commands": ["figlang train run=a"],
        "commands_before": [["figlang train run=b"]],
        "signature": "base:base|n:3",
        "data": {"train": {"source": "train.csv"}, "settings": {"root": "/"}},
    }

"""A home with finished work of every kind, which attacks damage."""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.attack.attacker import MODULES, QUIET
from tests.processes import preload
from tests.victims import Victim

TINY = ("debug=fast", *QUIET, "data.limit=16", "trainer.precision=32-true")
MADE: tuple[tuple[str, ...], ...] = (
    ("train", *TINY, "run=run/seed0"),
    ("train", *TINY, "run=run/seed1", "seed=1"),
    ("train", *TINY, "model=gpt2_lora", "model.init=tiny", "run=adapted"),
    ("train", *TINY, "model=gpt2", "run=causal"),
    ("evaluate", "debug=fast", *QUIET, "model=gpt2", "scoring=pmi", "output=one"),
    ("evaluate", "debug=fast", *QUIET, "model=gpt2", "scoring=pmi", "output=two", "seed=1"),
    (
        "figlang.commands.generate",
        "debug=fast",
        *QUIET,
        "model=gpt2",
        "data=miqa_sample",
        "sampling.max_tokens=4",
        "output=answers",
    ),
    ("figlang.commands.rate", "runs=[answers]", "folder=sheet"),
)


def build(folder: Path) -> Path:
    """The home, built once; `copied` is what attacks get."""
    preload(*MODULES)
    home = folder / "world"
    home.mkdir()
    for words in MADE:
        victim = Victim(home, *words)
        assert victim.wait() == 0, victim.said
    (sheet,) = (home / "sheet").glob("*.csv")
    rows = sheet.read_text(encoding="utf-8").splitlines()
    shutil.copy(sheet, home / "ann.csv")
    assert len(rows) > 1
    (home / "people.csv").write_text("id,choice\n" + "".join(f"{name},0\n" for name in _ids(home / "one")))
    return home


def _ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / "predictions.jsonl").read_bytes().splitlines()]


def copied(world: Path, folder: Path) -> Path:
    return Path(shutil.copytree(world, folder / "home"))


def tensors(home: Path, name: str, change: str) -> None:
    """A file of weights with one tensor less, or more, or other in size, type or value."""
    path = home / name
    held = load_file(path)
    first = max(held, key=lambda one: held[one].numel())
    if change == "less":
        del held[first]
    elif change == "more":
        held["more.weight"] = torch.zeros(3)
    elif change == "smaller":
        held[first] = held[first][:1].clone()
    elif change == "whole numbers":
        held[first] = held[first].to(torch.int8)
    elif change == "nan":
        held[first] = torch.full_like(held[first], float("nan"))
    elif change == "inf":
        held[first] = torch.full_like(held[first], float("inf"))
    elif change == "none":
        held = {}
    else:
        raise ValueError(change)
    save_file(held, path, {"format": "pt"})

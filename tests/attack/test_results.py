"""Finished work of every damage, given to whatever reads it: nothing is believed, nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack import damage, world
from tests.attack.attacker import QUIET, Attack, cases, check
from tests.attack.damage import Damage

# What reads an evaluation (one), what a run.
OF_ONE: dict[str, tuple[str, tuple[str, ...]]] = {
    "report": ("report", ("one", "two", "analysis=off", "output=page")),
    "compare": ("compare", ("one", "two", "output=tables")),
    "contamination": (
        "contamination",
        ("data=figqa_sample", "against=[figqa_sample]", "runs=[one]", "output=overlap"),
    ),
}
OF_RUN: dict[str, tuple[str, tuple[str, ...]]] = {
    "report run": ("report", ("run/seed0", "analysis=off", "output=page")),
    "average": ("average", (*QUIET, "run/seed0", "run/seed1", "output=mean")),
    "release": (
        "release",
        (*QUIET, "run=run/seed0", "name=released", "against=[figqa_sample]", "seeds=[run/seed0,run/seed1]"),
    ),
    "show again": ("train", (*world.TINY, "run=run/seed0")),
    "transfer": ("transfer", ("debug=fast", *QUIET, "checkpoint=run/seed0", "data=figqa_sample")),
}
# Which of these read a file at all; the others may end well.
READ_BY = {
    "predictions.jsonl": (
        "report",
        "compare",
        "contamination",
        "report run",
        "average",
        "release",
        "show again",
    ),
    "metrics.json": ("report", "compare", "contamination", "report run", "average", "release", "show again"),
    "log_probabilities.jsonl": (),
    "predictions_blind.jsonl": (),
    "recipe.json": ("report run", "average", "release", "show again"),
    "config.yaml": (),
    "log.csv": (),
}
KINDS = damage.ANY | damage.JSON


def files() -> Iterator[Attack]:
    for readers, place, names in (
        (
            OF_ONE,
            "one",
            ("predictions.jsonl", "metrics.json", "log_probabilities.jsonl", "predictions_blind.jsonl"),
        ),
        (OF_RUN, "run/seed0", ("predictions.jsonl", "metrics.json", "recipe.json", "config.yaml", "log.csv")),
    ):
        for name in names:
            for number, (kind, make) in enumerate(KINDS.items()):
                # Each damage by one reader in turn, the two that matter most by all.
                chosen = (
                    list(readers) if kind in ("cut", "a list") else [list(readers)[number % len(readers)]]
                )
                for reader in chosen:
                    must = reader in READ_BY[name] and not (
                        kind == "missing" and name in ("metrics.json", "recipe.json")
                    )
                    command, words = readers[reader]
                    says = Path(name).stem if must else None
                    yield Attack(
                        f"{reader}: {place}/{name} {kind}", command, words, says, make(f"{place}/{name}")
                    )


ROW: dict[str, dict[str, Any]] = {
    "score nan": {"scores": [float("nan"), 0.0]},
    "score inf": {"scores": [float("inf"), 0.0]},
    "score words": {"scores": ["a", "b"]},
    "scores less": {"scores": [0.0]},
    "scores more": {"scores": [0.0, 1.0, 2.0]},
    "scores none": {"scores": []},
    "scores 1e400": {"scores": [10**400, 0.0]},
    "scores missing": {"scores": ...},
    "gold 7": {"gold": 7},
    "gold -1": {"gold": -1},
    "gold word": {"gold": "a"},
    "gold bool": {"gold": True},
    "gold hidden": {"gold": None},
    "id number": {"id": 5},
    "id nested": {"id": [["x"]]},
    "id empty": {"id": ""},
    "id missing": {"id": ...},
    "group null": {"group": None},
    "attributes list": {"attributes": [1]},
    "attributes nested": {"attributes": {"a": {"b": "c"}}},
    "attributes number": {"attributes": {"a": [1]}},
    "choice flipped": {"choice": 9},
    "paired word": {"paired": "x"},
}
# Names that lead elsewhere, or are more than text to what reads a file.
NAMES = (
    "x/../../../../../T",
    "=cmd|'/C calc'!A0",
    "[red]x[/red]",
    "$x^{$",
    "<script>alert(1)</script>",
    "\x1b]0;x\x07",
    "x" * 5000,
    "a\nb",
)
DOCUMENT: dict[str, Any] = {
    "metrics.accuracy.value": 99,
    "metrics.accuracy": None,
    "metrics.accuracy_by": [1],
    "metrics.items": -1,
    "metrics": "good",
    "model": 5,
    "facts": [1],
    "facts.train_seed": "seven",
    "data": "x",
    "data.settings": [1],
    "data.validation": None,
    "files": [1],
    "signature": None,
    "seed": 1.5,
    "split": ["test"],
    "versions": 3,
    "published_file": "no",
}


def rows() -> Iterator[Attack]:
    for number, (name, values) in enumerate(ROW.items()):
        reader = list(OF_ONE)[number % 3]
        says = None if name == "gold hidden" else "predictions.jsonl"
        yield Attack(
            f"{reader} {name}", *OF_ONE[reader], says, damage.line("one/predictions.jsonl", **values)
        )
    for name in NAMES:
        for key, values in (
            ("id", {"id": name}),
            ("attribute", {"attributes": {name: [name]}}),
            ("group", {"group": name}),
        ):
            spoil = unlisted(damage.line("one/predictions.jsonl", **values))
            yield Attack(f"report {key} {name[:12]!r}", *OF_ONE["report"], None, spoil)
        yield Attack(
            f"compare model {name[:12]!r}",
            *OF_ONE["compare"],
            None,
            damage.inside("one/metrics.json", "model", name),
        )
    for place, (where, value) in enumerate(DOCUMENT.items()):
        reader = list(OF_ONE)[place % 3]
        says = (
            None
            if where in ("metrics.accuracy.value", "data.settings", "data.validation", "facts.train_seed")
            else "metrics.json"
        )
        yield Attack(
            f"{reader} {where}={value}",
            *OF_ONE[reader],
            says,
            damage.inside("one/metrics.json", where, value),
        )
        reader = list(OF_RUN)[place % len(OF_RUN)]
        yield Attack(
            f"{reader} {where}={value}",
            *OF_RUN[reader],
            None,
            damage.inside("run/seed0/metrics.json", where, value),
        )
    for where, value in (
        ("settings", 5),
        ("settings.model", None),
        ("settings.data", "x"),
        ("data", []),
        ("settings.seed", "x"),
    ):
        for reader in ("average", "release", "show again"):
            yield Attack(
                f"{reader} {where}={value}",
                *OF_RUN[reader],
                None,
                damage.inside("run/seed0/recipe.json", where, value),
            )


def unlisted(spoil: Damage) -> Damage:
    """Damage that whoever did it covered up: the document's hashes of its files are gone."""

    def both(home: Path) -> None:
        spoil(home)
        damage.entries("one/metrics.json", files=...)(home)

    return both


RATE: dict[str, tuple[tuple[str, ...], Damage | None, str | None]] = {
    **{
        f"answers {kind}": (("runs=[answers]", "folder=new"), make("answers/answers.jsonl"), "answers")
        for kind, make in KINDS.items()
    },
    **{
        f"sheet {kind}": (("ratings=[ann.csv]", "folder=sheet"), make("ann.csv"), "ann.csv")
        for kind, make in damage.ANY.items()
    },
    "sheet unrated": (("ratings=[ann.csv]", "folder=sheet"), None, "ann.csv"),
    "sheet twice": (("ratings=[ann.csv,ann.csv]", "folder=sheet"), None, "ann.csv"),
    "sheet of no folder": (("ratings=[ann.csv]", "folder=nowhere"), None, "nowhere"),
    **{
        f"texts {kind}{ending}": (
            (f"texts=[own{ending}]", "folder=new"),
            lambda home, make=make, ending=ending: [
                damage.holding(f"own{ending}", "prompt,answer\na,b\n" * 9)(home),
                make(f"own{ending}")(home),
            ],
            None if kind == "cut" else "own",
        )
        for ending in (".csv", ".jsonl")
        for kind, make in damage.ANY.items()
    },
    "texts of another kind": (
        ("texts=[own.xlsx]", "folder=new"),
        damage.holding("own.xlsx", damage.BINARY),
        "own.xlsx",
    ),
    "texts without a column": (
        ("texts=[own.csv]", "folder=new"),
        damage.holding("own.csv", "a,b\n1,2\n"),
        "prompt",
    ),
    "rank folder": (("runs=[one]", "folder=new"), None, "one"),
}


def rating() -> Iterator[Attack]:
    for name, (words, spoil, says) in RATE.items():
        yield Attack(f"rate {name}", "rate", words, says, spoil)
    for kind, make in damage.ANY.items():
        words = ("one", "two", "analysis=off", "output=page", "people=people.csv")
        yield Attack(
            f"people {kind}", "report", words, None if kind == "cut" else "people", make("people.csv")
        )
    for text in (
        "id,choice\nx,0\n",
        "id,choice\n,\n",
        "id,choice\nx,word\n",
        "choice\n1\n",
        "id,choice\nx,1e400\n",
    ):
        words = ("one", "two", "analysis=off", "output=page", "people=people.csv")
        yield Attack(f"people {text!r}", "report", words, "people", damage.holding("people.csv", text))


def places() -> Iterator[Attack]:
    """Runs that are none, and outputs that cannot be written or hold something else."""
    odd = (
        "nowhere",
        "''",
        ".",
        "/",
        "/dev/null",
        "people.csv",
        "x" * 300,
        "run",
        "one/metrics.json",
        "package:figlang/data",
    )
    for place, value in enumerate(odd):
        for command, words in (
            ("report", ("runs=[{}]", "analysis=off")),
            ("compare", ("runs=[one,{}]",)),
            ("average", ("runs=[run/seed0,{}]", "output=mean", *QUIET)),
            ("rate", ("runs=[{}]", "folder=new")),
            ("release", ("run={}", "name=released", *QUIET)),
            ("contamination", ("data=figqa_sample", "against=[figqa_sample]", "runs=[{}]")),
        )[place % 2 :: 2]:
            yield Attack(
                f"{command} of {value[:20]}", command, tuple(word.format(value) for word in words), ""
            )
    for place, value in enumerate(
        ("/proc/x", "/dev/null/x", "people.csv", "people.csv/x", "x" * 300, "''", "two/predictions.jsonl")
    ):
        for command, words in (
            ("compare", ("one", "two", f"output={value}")),
            ("report", ("one", "analysis=off", f"output={value}")),
            ("evaluate", ("debug=fast", *QUIET, "model=minilm", f"output={value}")),
            ("train", (*world.TINY, f"run={value}")),
        ):
            yield Attack(
                f"{command} into {place} {value[:20]}", command, words, None if value == "''" else ""
            )
    others = {
        "compare into a run": ("compare", ("one", "two", "output=run/seed0")),
        "evaluate into another's": ("evaluate", ("debug=fast", *QUIET, "model=minilm", "output=one")),
        "generate into answers": (
            "generate",
            ("debug=fast", *QUIET, "model=gpt2", "data=miqa_sample", "seed=9", "output=answers"),
        ),
        "generate elsewhere": (
            "generate",
            ("debug=fast", *QUIET, "model=gpt2", "data=miqa_sample", "output=one"),
        ),
        "train other settings": ("train", (*world.TINY, "run=run/seed0", "method.lr=0.5")),
        "train into an evaluation": ("train", (*world.TINY, "run=one")),
        "train into the home": ("train", (*world.TINY, "run=.")),
        "merge into a run": (
            "merge",
            (*QUIET, "checkpoint=adapted", "output=run/seed0", "data=figqa_sample", "data.limit=4"),
        ),
        "average into a run": ("average", (*QUIET, "run/seed0", "run/seed1", "output=one")),
        "average of two recipes": ("average", (*QUIET, "run/seed0", "adapted", "output=mean")),
        "average of one twice": ("average", (*QUIET, "run/seed0", "run/seed0", "output=mean")),
        "compare one twice": ("compare", ("one", "one")),
        "compare into an evaluation": ("compare", ("one", "two", "output=two")),
        "compare into a network": ("compare", ("one", "two", "output=run/seed0/model")),
        "report into answers": ("report", ("one", "analysis=off", "output=answers")),
        "describe into an evaluation": ("describe", ("data=figqa_sample", "output=one")),
        "contamination into a sheet": (
            "contamination",
            ("data=figqa_sample", "against=[figqa_sample]", "output=sheet"),
        ),
        "evaluate into a sheet": (
            "evaluate",
            ("debug=fast", *QUIET, "model=minilm", "overwrite=true", "output=sheet"),
        ),
        "merge into a sheet": (
            "merge",
            (*QUIET, "checkpoint=adapted", "output=sheet", "data=figqa_sample", "data.limit=4"),
        ),
        "rate into an evaluation": ("rate", ("runs=[answers]", "folder=one")),
    }
    for name, (command, words) in others.items():
        yield Attack(name, command, words, None if name == "compare into a run" else "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.build(tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize("attack", cases([*files(), *rows()]))
def test_a_result(tmp_path: Path, whole: Path, attack: Attack) -> None:
    check(world.copied(whole, tmp_path), attack)


@pytest.mark.parametrize("attack", cases([*rating(), *places()]))
def test_sheets_and_places(tmp_path: Path, whole: Path, attack: Attack) -> None:
    check(world.copied(whole, tmp_path), attack)

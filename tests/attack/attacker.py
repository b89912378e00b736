"""One wrong input, and what has to come of it.

Each command runs in a process of its own, forked from one that has imported everything, in a home of its own.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from figlang.files import folders
from tests.reproducing import OPTIONS
from tests.victims import Victim, half_files

# Seconds of a case on a machine that is busy with other work: what takes longer is taken for endless.
PATIENCE = 120
# A file that only code of an attacker would write.
RAN = "code-was-run"
COMMANDS = (
    "average",
    "combine",
    "compare",
    "contamination",
    "describe",
    "find_lr",
    "generate",
    "merge",
)
MODULES = (
    "tests.attack.warm",
    *(
        f"figlang.commands.{name}"
        for name in (
            *COMMANDS,
            *("export", "judge", "rate", "rate_serve", "release", "report", "reproduce", "sensitivity"),
            "transfer",
        )
    ),
)
QUIET = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1")

Damage = Callable[[Path], object]


@dataclass(frozen=True)
class Attack:
    """A command line with what is wrong about it.

    Attributes:
        name: what the case is called in the list of tests.
        command: a verb, or a table of `reproduce`.
        words: the arguments.
        says: a regular expression that the error's line must match; None where the command may also succeed.
        damage: what is done to the home before.
    """

    name: str
    command: str
    words: tuple[str, ...]
    says: str | None
    damage: Damage | None = field(default=None, compare=False)


def cases(attacks: Iterable[Attack], every: int = 0) -> list[object]:
    """The attacks as parameters of a test; every so many-th runs in the default suite, the rest under
    `faults`."""
    found = list(attacks)
    names = [one.name for one in found]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})
    return [
        pytest.param(one, id=one.name, marks=() if every and place % every == 0 else pytest.mark.faults)
        for place, one in enumerate(found)
    ]


def check(home: Path, attack: Attack) -> str:
    """Run an attack in a home and hold the law; what the command said."""
    home.mkdir(exist_ok=True)
    if attack.damage is not None:
        attack.damage(home)
    before, damaged = contents(home), {path.name for path in half_files(home)}
    if attack.command in OPTIONS:
        victim = Victim(home, "figlang.commands.reproduce", f"table={attack.command}", *attack.words)
    else:
        victim = Victim(home, f"figlang.commands.{attack.command}", *attack.words)
    assert not victim.kill_after(PATIENCE), f"no end after {PATIENCE} seconds: {victim.said[-1000:]}"
    code, said = victim.process.exitcode, victim.said
    assert "Traceback (most recent call last)" not in said, said[-3000:]
    assert code in ((0, 2) if attack.says is None else (2,)), said[-3000:]
    after = contents(home)
    lost = [name for name, digest in before.items() if after.get(name) != digest]
    assert not lost, f"lost or changed: {lost}"
    assert not (home / RAN).exists(), "foreign code was run"
    assert not [path for path in half_files(home) if path.name not in damaged]
    if code == 2:
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, said[-3000:]
        # In a sweep a line about the runs after this one may follow.
        last = [line for line in said.rstrip("\n").splitlines() if not line.startswith("#")][-1]
        assert last == errors[0], said[-3000:]
        assert 20 < len(errors[0]) < 1200, errors[0]
        assert attack.says is None or re.search(attack.says, errors[0]), errors[0]
        made = after.keys() - before.keys()
        assert not [
            name for name in made if name.endswith(("metrics.json", "report.html", "figlang.json"))
        ], made
    return said


def contents(home: Path) -> dict[str, str]:
    """The digest of every file below a home, without locks, logs and files of a cache."""
    return {
        path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name != folders.LOCK and ".cache" not in path.parts
    }

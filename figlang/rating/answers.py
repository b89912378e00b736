"""Answers that models wrote: their file, their scale, and an automatic estimate of how many are right."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang.errors import FiglangError
from figlang.files import stored
from figlang.files.whole import write_text
from figlang.machine.printing import printable
from figlang.tasks import registry
from figlang.tasks.scales import interval
from figlang.types import Generation, Open

FILE = "answers.jsonl"
SHOWN = 5


def write(folder: Path, answers: Sequence[Generation]) -> None:
    """Write one JSON object for each answer, on a line of its own."""
    text = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in answers)
    write_text(folder / FILE, text)


def read(folder: Path) -> list[Generation]:
    """Read the answers that `write` wrote into a folder. Raises FiglangError that names a wrong line."""
    path = folder / FILE
    if not path.is_file():
        raise FiglangError(f"no {FILE} in {folder}; figlang generate writes one")
    found: dict[tuple[str, str, int], Generation] = {}
    remedy = "write the answers again"
    for number, row in stored.rows(path, stored.ANSWER, "an answer", remedy):
        one = Generation(**{name: row[name] for name in row})
        if found.setdefault((one.item, one.kind, one.sample), one) is not one:
            raise FiglangError(
                f"{path}: line {number} repeats the answer of an earlier line ({one.item}); {remedy}"
            )
    if not found:
        raise FiglangError(f"{path} holds no answer; {remedy}")
    return list(found.values())


def scale_of(answers: Sequence[Generation | Open]) -> str:
    """The scale that answers are rated on, by their kind.

    Raises FiglangError if the kinds belong to several scales.
    """
    return registry.scale_of(answer.kind for answer in answers).name


def begins_as_expected(answers: Sequence[Generation]) -> dict[str, Any] | None:
    """The share of answers that begin with the right word (yes or no), with a 95 % interval over groups of
    items.

    None if the kinds of question have no such word. It is an automatic estimate of people's ratings. It does
    not notice a wrong reason, or a right answer that begins with another word.
    """
    words = registry.scale_of(answer.kind for answer in answers).kinds
    if not all(words.values()):
        return None
    return interval(
        (answer.group, bool(re.match(rf"\W*{words[answer.kind]}\b", answer.answer, flags=re.IGNORECASE)))
        for answer in answers
    )


def show(answers: Sequence[Generation], proxy: Mapping[str, Any] | None, console: Console) -> None:
    """Print some of the answers, and the automatic estimate for all of them."""
    for one in answers[:SHOWN]:
        console.print(
            printable(f"{one.question}\n  → {one.answer}", lines=True),
            highlight=False,
            markup=False,
            emoji=False,
        )
    if proxy is not None:
        share = f"{100 * proxy['value']:.1f} % ({100 * proxy['low']:.1f} – {100 * proxy['high']:.1f})"
        console.print(
            f"{share} of {proxy['n']} answers begin with the right yes or no (automatic proxy)",
            highlight=False,
        )

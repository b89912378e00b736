"""Answers for people to rate, blind to the model, and their ratings read back.

A sheet is a CSV file. Each rater fills in a copy of it, or uses the page, which saves such a copy. `key.json`
beside it says which model wrote each answer; raters do not need it.
"""

import csv
import json
import logging
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

import numpy as np
from pydantic_core import from_json

from figlang.config.signature import digest
from figlang.errors import FiglangError, one_line
from figlang.files import ownership
from figlang.files.redaction import redacted
from figlang.files.rows import Problems, read_csv
from figlang.files.whole import whole_file, write_text
from figlang.tables import cell_of_csv
from figlang.tasks import registry
from figlang.tasks.scales import Rated
from figlang.text.amounts import counted
from figlang.types import Generation

log = logging.getLogger("figlang")

SHEET, PAGE, KEY = "sheet.csv", "rate.html", "key.json"
COLUMNS = ("id", "prompt", "answer", "rating")


def check_free(folder: Path, overwrite: bool = False) -> None:
    """Check that a folder has no sheet that people may have rated.

    A new sheet would make earlier ratings useless. With `overwrite`, an empty sheet is allowed. Raises
    FiglangError otherwise.
    """
    if (folder / KEY).exists() and not (overwrite and ownership.is_as_written(folder, SHEET)):
        raise FiglangError(
            f"{folder} has a sheet that people may have rated; choose another folder, or delete its {KEY}"
        )


def is_there(folder: Path, generations: Mapping[str, Sequence[Generation]], scale: str, seed: int) -> bool:
    """Whether the folder already has the sheet of these answers.

    Args:
        folder: The folder.
        generations: The answers of each model.
        scale: Name of the scale.
        seed: Seed of the order.
    """
    path = folder / KEY
    return path.is_file() and path.read_bytes() == _key(generations, scale, seed)[1].encode()


def write(folder: Path, generations: Mapping[str, Sequence[Generation]], scale: str, seed: int = 0) -> None:
    """Write the sheet, the page and the key for answers by model.

    The order is random, and the names of answers do not show the model. Raises FiglangError if the folder has
    a sheet.

    Args:
        folder: The folder.
        generations: The answers of each model.
        scale: Name of the scale.
        seed: Seed of the order.
    """
    check_free(folder)
    folder.mkdir(parents=True, exist_ok=True)
    key, text = _key(generations, scale, seed)
    rows = [
        dict(zip(COLUMNS, (name, one.question, one.answer, ""), strict=True)) for name, one in key.items()
    ]
    with whole_file(folder / SHEET) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({column: cell_of_csv(text) for column, text in row.items()} for row in rows)
    write_text(folder / PAGE, page(rows, scale))
    write_text(folder / KEY, text)


def _key(
    generations: Mapping[str, Sequence[Generation]], scale: str, seed: int
) -> tuple[dict[str, Generation], str]:
    """Name the answers in the order of the sheet, and make the text of the key, which says who wrote them."""
    answers = [(model, one) for model, several in generations.items() for one in several]
    random.Random(seed).shuffle(answers)
    width = len(str(len(answers)))
    # Names of answers are unique over all sheets, so that no rating is taken for another sheet's answer.
    mark = digest([(model, asdict(one)) for model, one in answers])[:6]
    names = [f"r{number:0{width}}-{mark}" for number in range(1, len(answers) + 1)]
    key = {name: {"model": model, **asdict(one)} for name, (model, one) in zip(names, answers, strict=True)}
    text = json.dumps({"scale": scale, "answers": key}, indent=1, ensure_ascii=False) + "\n"
    return {name: one for name, (_, one) in zip(names, answers, strict=True)}, redacted(text)


def invitation(folder: Path) -> str:
    """Instructions for the raters."""
    return f"rate in {folder / PAGE}, or fill in a copy of {folder / SHEET}"


def page(rows: Sequence[Mapping[str, str]], scale: str) -> str:
    """Make a page in which people rate with the keyboard. It is a single file, and saves a filled-in
    sheet."""
    template = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    # Inside a script, only `<` could end it.
    data = json.dumps(
        {"rows": rows, "codes": list(registry.scales()[scale].codes), "columns": COLUMNS}, ensure_ascii=False
    ).replace("<", "\\u003c")
    return template.replace("{{title}}", escape(counted(len(rows), "answer") + " to rate")).replace(
        "{{data}}", data
    )


def keyed(folder: Path) -> tuple[str, dict[str, str], dict[str, Generation]]:
    """Read the key of a sheet: its scale, and for each name the model and its answer.

    Raises FiglangError if there is none.
    """
    if not (folder / KEY).is_file():
        raise FiglangError(
            f"{folder} has no sheet, since there is no {KEY} in it; make one by figlang rate "
            f"runs=[FOLDER,…] folder={folder}, or name another folder"
        )
    try:
        key = from_json((folder / KEY).read_text(encoding="utf-8"))
        scale, entries = key["scale"], key["answers"]
        registry.scales()[scale]
        models = {name: entry.pop("model") for name, entry in entries.items()}
        return scale, models, {name: Generation(**entry) for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FiglangError(
            f"{folder / KEY} cannot be read ({one_line(error)}); put the file of the sheet back"
        ) from error


def read(folder: Path, sheets: Sequence[Path]) -> tuple[str, list[Rated]]:
    """Read the scale, and the answers with the codes of every rater's sheet.

    An empty cell is not a rating. Raises FiglangError with the file and row of a wrong rating.
    """
    if len({path.resolve() for path in sheets}) < len(sheets):
        raise FiglangError(
            f"ratings=[{','.join(map(str, sheets))}] names a sheet twice; give each rater's once"
        )
    scale, models, answers = keyed(folder)
    codes = registry.scales()[scale].codes
    columns = [_codes(path, answers, codes) for path in sheets]
    rated = [
        Rated(models[name], one, tuple(column.get(name, np.nan) for column in columns))
        for name, one in answers.items()
    ]
    return scale, rated


def _codes(path: Path, names: Collection[str], codes: Mapping[str, float]) -> dict[str, float]:
    problems = Problems(path, strict=False)
    found: dict[str, float] = {}
    for number, row in read_csv(path, ("id", "rating"), problems):
        name, word = row["id"].strip(), row["rating"].strip().lower()
        if name not in names:
            raise FiglangError(
                f"{path}: row {number} is for {name!r}, which is not an answer of this sheet; give sheets "
                "of this folder"
            )
        if name in found:
            raise FiglangError(f"{path}: row {number} rates {name} a second time; keep one")
        if word and word not in codes:
            raise FiglangError(
                f"{path}: row {number} has the rating {word!r}; use {', '.join(codes)}, or leave it blank"
            )
        if word:
            found[name] = codes[word]
    for note in problems.found:
        log.warning("%s", note)
    if not found:
        raise FiglangError(f"{path}: the column rating is empty; fill it in")
    return found

"""WinoGrande 1.1 (Sakaguchi et al. 2020, "WinoGrande: An Adversarial Winograd Schema Challenge at Scale").

Upstream: winogrande.allenai.org, CC BY 2.0, one JSON object a line. A row is a sentence with a blank `_`, two
things that may fill it (`option1`, `option2`) and which does (`answer`: 1 or 2; empty or absent in the test
file, whose labels are hidden). `qID` ends in -1 or -2: two rows that share the rest of it are a Winograd
pair, one word apart, with the answer flipped. The adversarial filter removed one row of many pairs in
train_xl, train_debiased and dev. The hub's copy has no qID: there, neighbouring rows with the same options
and flipped answers are a pair.

An item is cut at the blank. The context is the text before it. An option is the filler with the rest of the
sentence. So the two sequences of an item are those that Sakaguchi et al. train on. A network that was trained
on them reads the metaphor and the answer of other tasks in the same two places.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, Row, read_json_lines
from figlang.files.sources import hub_rows, local_path, sha256
from figlang.types import Item, Split

HUB = "allenai/winogrande"
FOLDERS = ("winogrande", "winogrande_1.1")
FIELDS = ("sentence", "option1", "option2")
ANSWERS = {"1": 0, "2": 1, "": None}
BLANK = "_"

# data.size: what the files and the hub call it
SIZES = {"xs": "xs", "small": "s", "medium": "m", "large": "l", "xl": "xl", "debiased": "debiased"}


def load(split: str, size: str, root: str | None, strict: bool = False) -> Split:
    """One split: train (of the size), validation (dev) or test (hidden), from a folder in upstream layout or
    from the hub.

    Args:
        split: The split.
        size: The training file.
        root: Folder with the data sets; None: the hub.
        strict: Whether a problem in a row is an error.
    """
    short = SIZES[size]
    if root is None:
        rows, digest = hub_rows(HUB, f"winogrande_{short}", split)
        problems = Problems(Path(f"{HUB}:{split}"), strict)
        return Split(f"winogrande_{split}", _items(rows, problems, split), HUB, digest, tuple(problems.found))
    name = {"train": f"train_{short}", "validation": "dev", "test": "test"}[split]
    paths = [local_path(root) / folder / f"{name}.jsonl" for folder in FOLDERS]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise FiglangError(
            f"no {name}.jsonl in {paths[0].parent}; set paths.data=DIR (or FIGLANG_DATA) to the folder that "
            f"holds winogrande/, or paths.data=null to take it from the hub ({HUB})"
        )
    return read(path, strict)


def read(path: Path, strict: bool = False) -> Split:
    """Items of any file in WinoGrande's form. Rows that cannot be used are left out with a note each, or
    refused with `strict`."""
    problems = Problems(path, strict)
    items = _items(read_json_lines(path, problems), problems, path.stem)
    return Split(f"winogrande_{path.stem}", items, str(path), sha256(path), tuple(problems.found))


def _items(rows: Iterable[Row], problems: Problems, stem: str) -> tuple[Item, ...]:
    usable: list[tuple[str, dict[str, str]]] = []
    seen: set[str] = set()
    for number, row in rows:
        empty = [name for name in FIELDS if not row.get(name, "").strip()]
        identifier = row.get("qID") or f"{stem}-{number}"
        if empty:
            problems.add(number, f"no {', '.join(empty)}, row left out", "fill the field or delete the row")
        elif row["sentence"].count(BLANK) != 1:
            problems.add(
                number,
                f"{row['sentence'].count(BLANK)} blanks, row left out",
                "mark one place of the sentence by _",
            )
        elif row.get("answer", "") not in ANSWERS:
            problems.add(
                number,
                f"answer {row['answer']!r}, row left out",
                "use 1 (option1), 2 (option2) or nothing (hidden)",
            )
        elif identifier in seen:
            problems.add(
                number, f"qID {identifier!r} occurs twice, row left out", "give every row its own qID"
            )
        else:
            if row["option1"].strip() == row["option2"].strip():
                problems.add(
                    number, "its two options are equal, so no choice can be right", "correct an option"
                )
            seen.add(identifier)
            usable.append((identifier, row))
    if not usable:
        raise problems.nothing_usable("add one JSON object a line")
    groups = _groups(usable)
    return tuple(
        _item(identifier, group, row) for (identifier, row), group in zip(usable, groups, strict=True)
    )


def _groups(rows: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
    groups: list[str] = []
    for position, (identifier, row) in enumerate(rows):
        twin = rows[position - 1] if position and groups[-1] == rows[position - 1][0] else None
        if "qID" in row:
            groups.append(identifier.rpartition("-")[0] or identifier)
        else:
            groups.append(twin[0] if twin is not None and _is_pair(twin[1], row) else identifier)
    return groups


def _is_pair(first: dict[str, str], second: dict[str, str]) -> bool:
    same = all(first[name] == second[name] for name in ("option1", "option2"))
    answers = first.get("answer", ""), second.get("answer", "")
    return same and (answers[0] != answers[1] or answers[0] == "")


def _item(identifier: str, group: str, row: dict[str, str]) -> Item:
    before, rest = (part.rstrip() for part in row["sentence"].strip().split(BLANK))
    options = tuple(f"{row[name].strip()}{rest}" for name in ("option1", "option2"))
    return Item(identifier, group, before, options, ANSWERS[row.get("answer", "")], cut=True)

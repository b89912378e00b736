"""Fig-QA (Liu et al. 2022, "Testing the Ability of Language Models to Interpret Figurative Language").

Upstream: github.com/nightingal3/Fig-QA, MIT. A row is a metaphor (`startphrase`) with two interpretations
(`ending1`, `ending2`) and the index of the right one (`labels`; -1 = hidden, as in the whole test split). Two
neighbouring rows with the same endings form a Winograd pair: the metaphors differ, the answer flips.

Known defects of the upstream files: from qid X908 on, rows of train_xl.csv with the same qid are not a pair.
So `qid` is used only if one of two neighbours has a misspelt ending. Two of its rows have no partner; eight
rows have two equal endings; a few metaphors occur both in a training file and in dev.
"""

from dataclasses import replace
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv
from figlang.files.sources import data_file, local_path, sha256
from figlang.tasks.figqa import rows
from figlang.text.amounts import counted
from figlang.text.tidying import same
from figlang.types import Split

UPSTREAM = "https://raw.githubusercontent.com/nightingal3/Fig-QA/HEAD/data"
COMMONSENSE = {"obj": "objects", "vis": "visual", "soc": "social", "cul": "cultural"}

# name of the split: (path below data/, sha256 and bytes of the upstream file at fb638f8)
FILES = {
    "train_small": (
        "filtered/train_s.csv",
        "eb168f4e1dd8b6624d665204535a8b3299aa118bae998f806f6fd80719c13b05",
        22853,
    ),
    "train_medium": (
        "filtered/train.csv",
        "f57d6de4f04cf833058181bf639002d450a2788dcceb0a938440078f570cc839",
        161469,
    ),
    "train_large": (
        "filtered/train_xl.csv",
        "22e8b2dcc639680ba203196dfa16e9765932801c5f996fa665473742f9edfbe0",
        907977,
    ),
    "validation": (
        "filtered/dev.csv",
        "1de37acbec7f79bf75b2ee1c1e1194636cfd5501e6408aa236e9f08f2a574188",
        120797,
    ),
    "test": ("filtered/test.csv", "b026afbd52e1922a32a521ce1ecfd3dc56d8418736662a30fcf46f7d004be617", 126306),
    "commonsense": (
        "commonsense_annotation/dev.csv",
        "9be6ccc9aa07ecd3ecc0ebc226777176deb53e019b90e03969be54c7f9e5b0b5",
        119508,
    ),
}


def load(
    split: str, size: str, root: str | None, cache: str, strict: bool = False, test_labels: str | None = None
) -> Split:
    """One split of the published data set.

    `split` is train, validation or test; `size` (small, medium, large) chooses the training file.
    `test_labels` is a user's label file for the hidden test split: the authors withheld them, so figlang
    never ships them.

    Args:
        split: The split.
        size: The training file.
        root: Folder with the data sets; None: a download.
        cache: Folder for downloads.
        strict: Whether a problem in a row is an error.
        test_labels: A file of labels of the test split.
    """
    name = f"train_{size}" if split == "train" else split
    if name not in FILES:
        raise FiglangError(
            f"data.size={size} is not a training file of Fig-QA; choose one of small, medium, large"
        )
    path = _file(name, root, cache)
    # The published files' defects are known (see the module docstring); strict mode is for files that may
    # have others.
    loaded = read(path, strict and sha256(path) != FILES[name][1])
    if split == "validation":
        loaded = _with_commonsense(loaded, _file("commonsense", root, cache), strict)
    if split == "test" and test_labels is not None:
        loaded = with_labels(loaded, Path(test_labels).expanduser(), strict)
    return loaded


def read(path: Path, strict: bool = False, distinct: bool | None = None) -> Split:
    """Items of any table with the columns startphrase, ending1, ending2, labels.

    Optional columns: `id` (unique; otherwise ids are `<file stem>-<row>`), `qid`. Rows that cannot be used
    are left out with a note each, or refused with `strict`. With `distinct`, labelled rows that repeat an
    earlier one are left out and counted; False: they are only counted. None: they are not looked for.

    Raises FiglangError if no row can be used, or if the labels count from 1.
    """
    problems = Problems(path, strict)
    items = tuple(rows.items(rows.usable(path, problems, distinct), problems))
    if not items:
        raise problems.nothing_usable("add rows below the header")
    return Split(path.stem, items, str(path), sha256(path), tuple(problems.found))


def _file(name: str, root: str | None, cache: str) -> Path:
    relative, digest, size = FILES[name]
    folder = None if root is None else str(local_path(root) / "figqa")
    return data_file(relative, folder, f"{UPSTREAM}/{relative}", digest, f"{cache}/figqa", size)


def _with_commonsense(split: Split, path: Path, strict: bool) -> Split:
    problems = Problems(path, strict)
    annotated = read_csv(path, ("startphrase", *COMMONSENSE), problems)
    # The annotation has no ids; it is in dev's row order. The check below is what makes joining by position
    # safe.
    phrases = [row["startphrase"].strip() for _, row in annotated]
    if phrases != [item.context for item in split.items]:
        raise FiglangError(
            f"{path}: not the rows of {split.source}; both files must come from the same release"
        )
    items = tuple(
        replace(item, attributes={"commonsense": categories})
        for item, (_, row) in zip(split.items, annotated, strict=True)
        for categories in [tuple(full for short, full in COMMONSENSE.items() if row[short].strip() == "1")]
    )
    return replace(split, items=items, notes=(*split.notes, *problems.found))


def with_labels(split: Split, path: Path, strict: bool = False) -> Split:
    """The split with gold options from a user's label file: column `labels`, one row per item in the file's
    order.

    If the file also has `startphrase`, it must agree in every row.
    """
    problems = Problems(path, strict)
    labels = read_csv(path, ("labels",), problems)
    rows.check_base(path, [rows.label(row["labels"]) for _, row in labels])
    if len(labels) != len(split.items):
        noted = "".join(f" ({note})" for note in problems.found[:1])
        raise FiglangError(
            f"{path}: {counted(len(labels), 'label')} for {counted(len(split.items), 'item')} of "
            f"{split.source}; give one row per item, in its order{noted}"
        )
    labelled = []
    for item, (number, row) in zip(split.items, labels, strict=True):
        gold = rows.label(row["labels"])
        if gold not in (0, 1):
            raise FiglangError(
                f"{path}: row {number} has label {row['labels']!r}; use 0 (ending1) or 1 (ending2)"
            )
        if not same(row.get("startphrase", item.context), item.context):
            raise FiglangError(
                f"{path}: row {number} is for another metaphor than row {number} of {split.source}; keep the "
                "file's order"
            )
        labelled.append(replace(item, gold=gold))
    notes = (*split.notes, f"labels from {path}", *problems.found)
    aligned = tuple(rows.aligned(labelled))
    return Split(split.name, aligned, split.source, split.sha256, notes, labels_sha256=sha256(path))

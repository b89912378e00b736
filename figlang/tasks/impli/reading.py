"""IMPLI (Stowe et al. 2022, "IMPLI: Investigating NLI Models' Performance on Figurative Language").

Upstream: github.com/UKPLab/acl2022-impli, folder data, Apache-2.0. A row is a premise and a hypothesis. The
name of its file says whether the premise entails the hypothesis (`e`) or not (`ne`), and how the pair was
made. `manual` files are gold: people wrote them. The others are silver.

Known oddities of the upstream files: 935 silver rows repeat an earlier row of their file; one file is in
Windows-1252; silver pairs of metaphors are all entailed, so a model cannot learn both classes from them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_tabs
from figlang.files.sources import data_file, local_path, sha256
from figlang.tasks.mix import joined
from figlang.text.amounts import form
from figlang.types import TWO_CLASSES, Inference, Split

COMMIT = "d43c272c895c773b311018d51ab65f592c6699bb"
UPSTREAM = f"https://raw.githubusercontent.com/UKPLab/acl2022-impli/{COMMIT}/data"
COLUMNS = ("premise", "hypothesis")
# The third cell of silver idioms is a score of the annotators of their source. It is not used.
WIDEST = (*COLUMNS, "confidence")
FIGURES = {"idioms": "idiom", "metaphors": "metaphor"}
# beginning of a file's name: (how its pairs were made, whether people wrote them)
TYPES = {
    "manual_antonyms": ("antonym", True),
    "manual": ("manual", True),
    "adversarial_definition": ("adversarial definition", False),
    "fig_context": ("figurative context", False),
    "lit_context": ("literal context", False),
    "replacement": ("replacement", False),
}


@dataclass(frozen=True)
class File:
    """A published file: its sha256, its size in bytes and its encoding."""

    sha256: str
    size: int
    encoding: str = "utf-8-sig"


FILES = {
    "idioms/adversarial_definition_ne_magpie": File(
        "fa7eb74d21b097573120b19dd4fb46b95a6a2ce0e8e8d6ec9d24a7fff68d044d", 1708534
    ),
    "idioms/adversarial_definition_ne_pie": File(
        "98e77b48e05034986afaa147a2f399b6e5005ac1eab266906d856252740ca2d4", 22761
    ),
    "idioms/adversarial_definition_ne_semeval": File(
        "67b1dfcb79416bd99675e3e727ca97d29b46a757abcf0527eda599db663e15af", 15396
    ),
    "idioms/fig_context_magpie_e": File(
        "d6e9b2de5b1c906e328ca21e74659d13a1ba48233f7419da42695933225c54f7", 3822278
    ),
    "idioms/fig_context_pie_e": File(
        "87d9aed4269843f6c693c4fe9b295ec4d3db6855dd309ab75f7ee88f02235a7b", 179700
    ),
    "idioms/fig_context_semeval_e": File(
        "d3b02396681f0eed41d856d94b17a185c926ae7de9d674a0d76f91b0bd2b84ab", 148982
    ),
    "idioms/lit_context_magpie_ne": File(
        "ac99995992baa58f1e27155c0267ae23bda7bf47d936a6fe2b42e24f3110ea22", 165109
    ),
    "idioms/lit_context_pie_ne": File(
        "43bc4e8ccb80b65a3d67b0549c7fa732220f7e14384926736e7bc30c4fab8592", 13666
    ),
    "idioms/lit_context_semeval_ne": File(
        "c0eade4bd5fbe81acbc16a6e37b1ecb872cb67e16f65aa278eef701f0d16a3d0", 36846
    ),
    "idioms/manual_antonyms_ne": File(
        "f7803d1cdcc6f7af00a9c9a7e2bcc7fd96206f7f888ab8b98950a78247de3ce2", 104699
    ),
    "idioms/manual_e": File("542c23cfba5cd40d043777927ab44f44515f7766a21676f254ea85109c298dc5", 152386),
    "idioms/manual_ne": File("cfc0104a897631d77747df1f98ed37c2bb619a89a60bbf03f649462ee0a92214", 67534),
    "metaphors/manual_e": File("69b81a702cc636f5b54b070b2d551d55b5cade593c78af5c4dc44cc74ac55300", 39137),
    "metaphors/manual_ne": File("a877ccfe0dc1b1e6b48537cc1866237a2a4dde1f4277e27afcfc882b3bb8cbe0", 26490),
    "metaphors/replacement_cc_e": File(
        "bcd32bc5e28ced175d3e2b241cb064a55da4e03d61dda523702bb2ad0e6779d5", 138828
    ),
    "metaphors/replacement_tsvetkov_e": File(
        "ba9b4b32bd29a9ad8543cf3f2ec4f9fc6b5425b6e7044942c62efe6952fb9b00", 13399, "cp1252"
    ),
}


def load(
    split: str, figures: Iterable[str], root: str | None, cache: str, strict: bool, distinct: bool
) -> Split:
    """One split of the published data set.

    Args:
        split: `train` is the silver files; `validation` and `test` are the gold files.
        figures: Names of folders, of FIGURES.
        root: The folder that holds the data sets, or None to download the files.
        cache: The folder for downloads.
        strict: Refuse rows with problems.
        distinct: Leave out rows that repeat an earlier row of their file.

    Returns:
        Inferences with two classes. Attributes: `figure`, `type`, `source` of silver pairs, and `class`.

    Raises:
        FiglangError: A file is missing, or none of its rows can be used.
    """
    wanted = set(figures)
    parts = []
    for name, file in FILES.items():
        figure, _, stem = name.partition("/")
        if figure in wanted and _kind(stem)[1] == (split != "train"):
            folder = None if root is None else str(local_path(root) / "impli")
            address = f"{UPSTREAM}/{name}.tsv"
            path = data_file(f"{name}.tsv", folder, address, file.sha256, f"{cache}/impli", file.size)
            parts.append(read(path, figure, strict, distinct, file.encoding))
    whole = _by_premise(joined(f"impli_{'silver' if split == 'train' else 'gold'}", parts))
    # A file has one class, so the first items of all files would be of one class too.
    return replace(whole, parts=tuple(len(part.items) for part in parts))


def read(
    path: Path, figure: str, strict: bool = False, distinct: bool = True, encoding: str = "utf-8-sig"
) -> Split:
    """The rows of one file, whose name says its class and type. Arguments are those of `load`."""
    problems = Problems(path, strict)
    items = tuple(_items(path, figure, problems, distinct, encoding))
    if not items:
        raise problems.nothing_usable("write a premise, a tab and a hypothesis on each line")
    return Split(path.stem, items, str(path), sha256(path), tuple(problems.found))


def _items(path: Path, figure: str, problems: Problems, distinct: bool, encoding: str) -> Iterator[Inference]:
    kind, gold = _kind(path.stem)[0], _gold(path)
    attributes = {"figure": (FIGURES[figure],), "type": (kind,), "class": (TWO_CLASSES[gold],)}
    if source := _source(path.stem):
        attributes["source"] = (source,)
    earlier: set[tuple[str, str]] = set()
    repeated = 0
    for number, row in read_tabs(path, COLUMNS, problems, WIDEST, encoding):
        premise, hypothesis = (row[name].strip() for name in COLUMNS)
        if not premise or not hypothesis:
            problems.add(number, "an empty cell, row left out", "fill the cell or delete the row")
            continue
        again = (premise, hypothesis) in earlier
        repeated += again
        earlier.add((premise, hypothesis))
        if again and distinct:
            continue
        name = f"{figure}-{path.stem}-{number}"
        yield Inference(name, name, premise, TWO_CLASSES, gold, attributes, hypothesis=hypothesis)
    if repeated:
        done = "left out (data.drop_duplicates=false keeps them)" if distinct else "kept"
        problems.note(
            f"{path.name}: {repeated} {form(repeated, 'row repeats', 'rows repeat')} an earlier row, {done}"
        )


def _by_premise(split: Split) -> Split:
    """The split with pairs of the same premise in one group."""
    first: dict[str, str] = {}
    groups = (first.setdefault(item.context, item.id) for item in split.items)
    items = tuple(replace(item, group=group) for item, group in zip(split.items, groups, strict=True))
    return replace(split, items=items)


def _kind(stem: str) -> tuple[str, bool]:
    return next(kind for start, kind in TYPES.items() if stem.startswith(start))


def _gold(path: Path) -> int:
    """The class of a file by its name, in the order of TWO_CLASSES."""
    parts = path.stem.split("_")
    if "ne" not in parts and "e" not in parts:
        raise FiglangError(f"{path}: the name of the file must hold _e or _ne, which is its class; rename it")
    return int("ne" in parts)


def _source(stem: str) -> str:
    known = ("magpie", "pie", "semeval", "cc", "tsvetkov")
    return next((name for name in known if name in stem.split("_")), "")

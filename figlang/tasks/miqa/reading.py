"""MiQA (Comșa et al. 2022, "MiQA: A Benchmark for Inference on Metaphorical Questions").

Upstream: github.com/google-research/language, folder language/miqa, Apache-2.0. A row holds a literal and a
metaphorical premise and a conclusion of each. It gives two questions (§3.2): *implies*, which conclusion the
metaphorical premise implies, and *implied-by*, which premise implies the literal conclusion. The literal
register is right in the second and wrong in the first, so a preference for either register gains nothing over
both. Each question is asked in both orders of its options (appendix A), so 150 rows are 300 questions and 600
items.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_tabs
from figlang.files.sources import data_file, local_path, sha256
from figlang.types import Item, Split

UPSTREAM = "https://raw.githubusercontent.com/google-research/language/HEAD/language/miqa/data"
FILE = "metaphor_inference_qa.tsv"
SHA256 = "0b0a4c2a9691cbd1566dfbf708444f1fde609f947f24dfd6ea2eca21b2784538"
BYTES = 20848
ROWS = 150
COLUMNS = ("literal_premise", "metaphorical_premise", "literal_conclusion", "metaphorical_conclusion")

# question type: columns of (stem, right option, wrong option)
QUESTIONS = {
    "implies": ("metaphorical_premise", "metaphorical_conclusion", "literal_conclusion"),
    "implied-by": ("literal_conclusion", "literal_premise", "metaphorical_premise"),
}


def load(
    split: str, question: str, root: str | None, cache: str, strict: bool = False, upstream: bool = True
) -> Split:
    """The questions of one type, or of `both`. All items are for evaluation: `split` can be anything but
    train. With `upstream`, a file with more or fewer rows than the published one is noted.

    Args:
        split: The split.
        question: The type of questions, or `both`.
        root: Folder with the data sets; None: a download.
        cache: Folder for downloads.
        strict: Whether a problem in a row is an error.
        upstream: Whether the file should be the published one.
    """
    if split == "train":
        raise FiglangError(
            "MiQA has no training questions; `figlang evaluate data=miqa` evaluates a model on it"
        )
    folder = None if root is None else str(local_path(root) / "miqa")
    path = data_file(FILE, folder, f"{UPSTREAM}/{FILE}", SHA256, f"{cache}/miqa", BYTES)
    return read(path, question, strict, ROWS if upstream else None)


def read(path: Path, question: str = "both", strict: bool = False, rows: int | None = None) -> Split:
    """Items of any tab-separated file with MiQA's columns, which has no quoting.

    An item's group is its row, since the questions of a row share statements. Rows that cannot be used are
    left out with a note each, or refused with `strict`; a number of rows other than `rows` is noted or
    refused too.

    Args:
        path: The file.
        question: The type of questions, or `both`.
        strict: Whether a problem in a row is an error.
        rows: The number of rows of the published file; None: any number.
    """
    problems = Problems(path, strict)
    items: list[Item] = []
    table = list(read_tabs(path, COLUMNS, problems))
    if rows is not None and len(table) != rows:
        problems.add(
            None,
            f"{len(table)} rows, the published file has {rows}",
            "restore it, or compare with no published number",
        )
    for number, row in table:
        statements = {name: row[name].strip() for name in COLUMNS}
        if empty := [name for name, text in statements.items() if not text]:
            problems.add(number, f"empty {', '.join(empty)}, row left out", "fill the cell or delete the row")
            continue
        if quoted := [name for name, text in statements.items() if '"' in text]:
            problems.add(
                number,
                f"quotation mark in {', '.join(quoted)}, read as text",
                "delete it: the file has no quoting, prompts quote",
            )
        items += _items(number, statements, question, problems)
    if not items:
        raise problems.nothing_usable("add rows below the header")
    drawn = "" if question == "both" else f"question={question}"
    return Split(path.stem, tuple(items), str(path), sha256(path), tuple(problems.found), drawn=drawn)


def _items(number: int, statements: Mapping[str, str], question: str, problems: Problems) -> Iterator[Item]:
    for kind in QUESTIONS if question == "both" else (question,):
        stem, right, wrong = (statements[name] for name in QUESTIONS[kind])
        if right == wrong:
            problems.add(number, f"the two options of its {kind} question are equal", "correct a statement")
        for gold, options in enumerate(((right, wrong), (wrong, right))):
            attributes = {"question": (kind,), "order": (("right first", "wrong first")[gold],)}
            yield Item(f"miqa-{number}-{kind}-{gold + 1}", f"miqa-{number}", stem, options, gold, attributes)

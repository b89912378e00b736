"""Natural language inference: SNLI (Bowman et al. 2015), MultiNLI (Williams et al. 2018), ANLI (Nie et al.
2020), FEVER-NLI (Nie et al. 2019), and all four together.

A row is a premise, a hypothesis and one of CLASSES. The authors' files are read: SNLI 1.0 and MultiNLI 1.0 as
JSON lines or tab-separated text, ANLI and FEVER-NLI as JSON lines. If they are missing, line-aligned files
`s1.*`, `s2.*`, `labels.*` (InferSent's form) or the hub are read. MultiNLI's matched part is validation and
its mismatched part is test, since the labels of its test part are hidden.

Rows whose annotators did not agree (label `-`) are left out and counted. Line-aligned SNLI files are
tokenised, with spaces before punctuation. The hub's copy of FEVER-NLI has claim and evidence exchanged; this
is corrected here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256 as digest_of
from pathlib import Path

from figlang.errors import FiglangError
from figlang.files.rows import Problems, Row, read_aligned, read_json_lines, read_tabs
from figlang.files.sources import hub_rows, local_path, sha256
from figlang.tasks.mix import joined
from figlang.text.amounts import counted, form
from figlang.types import CLASSES, Inference, Item, Split

PREMISE, HYPOTHESIS = ("sentence1", "premise", "context"), ("sentence2", "hypothesis", "query")
LABEL, IDENTIFIER = ("gold_label", "label"), ("pairID", "uid", "fid")
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "e": 0, "n": 1, "c": 2}
FEVER_LABELS = {"SUPPORTS": 0, "NOT ENOUGH INFO": 1, "REFUTES": 2}
HIDDEN, DISAGREED = "hidden", "-"
ALIGNED = {"s1": "sentence1", "s2": "sentence2", "labels": "gold_label"}
HELD_OUT = 5  # one premise in so many of SNLI's test part is kept from snli_dev_test's training


@dataclass(frozen=True)
class Corpus:
    """The place of one data set. `parts` are the names of a split's files without suffix, `hub_parts` their
    names on the hub."""

    folders: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    hub: str
    hub_parts: Mapping[str, tuple[str, ...]]
    renamed: Mapping[str, str] = field(default_factory=dict)


CORPORA = {
    "snli": Corpus(
        ("snli", "snli/snli_1.0", "snli_1.0"),
        {"train": ("snli_1.0_train",), "validation": ("snli_1.0_dev",), "test": ("snli_1.0_test",)},
        "stanfordnlp/snli",
        {"train": ("train",), "validation": ("validation",), "test": ("test",)},
    ),
    "mnli": Corpus(
        ("mnli", "mnli/multinli_1.0", "multinli_1.0"),
        {
            "train": ("multinli_1.0_train",),
            "validation": ("multinli_1.0_dev_matched",),
            "test": ("multinli_1.0_dev_mismatched",),
        },
        "nyu-mll/multi_nli",
        {"train": ("train",), "validation": ("validation_matched",), "test": ("validation_mismatched",)},
    ),
    "anli": Corpus(
        ("anli", "anli/anli_v1.0", "anli_v1.0"),
        {
            split: tuple(f"R{number}/{part}" for number in (1, 2, 3))
            for split, part in (("train", "train"), ("validation", "dev"), ("test", "test"))
        },
        "facebook/anli",
        {
            split: tuple(f"{part}_r{number}" for number in (1, 2, 3))
            for split, part in (("train", "train"), ("validation", "dev"), ("test", "test"))
        },
    ),
    "fever_nli": Corpus(
        ("fever_nli", "fever_nli/nli_fever", "nli_fever"),
        {"train": ("train_fitems",), "validation": ("dev_fitems",), "test": ("test_fitems",)},
        "pietrolesci/nli_fever",
        {"train": ("train",), "validation": ("dev",), "test": ("test",)},
        {"premise": "hypothesis", "hypothesis": "premise"},
    ),
}


def load(split: str, dataset: str, root: str | None, strict: bool = False) -> Split:
    """One split of a data set: train, validation or test.

    `nli_mix` is all four corpora. `snli_dev_test` is for users without SNLI's training part. It trains on dev
    and on four fifths of test, chosen by premise. The other fifth is its validation part.

    Args:
        split: The split.
        dataset: Name of the data set.
        root: Folder with the data sets; None: the hub.
        strict: Whether a problem in a row is an error.
    """
    if dataset == "nli_mix":
        return joined(f"{dataset}_{split}", [_corpus(name, split, root, strict) for name in CORPORA])
    if dataset == "snli_dev_test":
        return _dev_test(
            split, _corpus("snli", "validation", root, strict), _corpus("snli", "test", root, strict)
        )
    return _corpus(dataset, split, root, strict)


def on_hub(dataset: str) -> tuple[str, ...]:
    """The ids on the hub of the corpora in a data set."""
    return tuple(
        corpus.hub for name, corpus in CORPORA.items() if dataset in (name, f"{name}_dev_test", "nli_mix")
    )


def choices(split: Split, wrong: int = CLASSES.index("contradiction")) -> Split:
    """Make choices: which hypothesis follows from the premise?

    The options are an entailed hypothesis and another one of the same premise, paired in file order. A note
    counts the other rows, such as neutral ones. Options are in alphabetical order, so that their order does
    not show the right one.

    Args:
        split: Premises with hypotheses.
        wrong: The class of the other hypothesis.
    """
    premises: dict[str, dict[int | None, list[Inference]]] = {}
    for row in split.items:
        assert isinstance(row, Inference)
        premises.setdefault(row.group, {}).setdefault(row.gold, []).append(row)
    items = tuple(
        _consequence(entailed, other)
        for by_class in premises.values()
        for entailed, other in zip(by_class.get(0, ()), by_class.get(wrong, ()), strict=False)
        if entailed.hypothesis != other.hypothesis
    )
    other_class = split.items[0].options[wrong]
    if not items:
        raise FiglangError(
            f"{split.source}: no premise has both a hypothesis of the class entailment and one of the class "
            f"{other_class}; use other files"
        )
    left = len(split.items) - 2 * len(items)
    note = (
        f"{split.name}: {counted(len(items), 'choice')} between a hypothesis of the class entailment "
        f"and one of the class {other_class}, {counted(left, 'row')} left over"
    )
    return replace(split, items=items, notes=(*split.notes, note), parts=())


def _consequence(entailed: Inference, other: Inference) -> Item:
    options = sorted((entailed.hypothesis, other.hypothesis))
    gold = options.index(entailed.hypothesis)
    # How the wrong hypothesis was made tells choices apart.
    kept = {name: values for name, values in other.attributes.items() if name != "class"}
    return Item(
        f"{entailed.id}+{other.id}",
        entailed.group,
        entailed.context,
        tuple(options),
        gold,
        kept,
        paired=False,
    )


def _dev_test(split: str, dev: Split, test: Split) -> Split:
    if split == "test":
        raise FiglangError(
            "snli_dev_test has no test part; use split=validation, which is the held-out fifth of SNLI's "
            "test part"
        )
    held = {
        item.context
        for item in test.items
        if int(digest_of(item.context.encode()).hexdigest(), 16) % HELD_OUT == 1
    }
    whole = joined(f"snli_dev_test_{split}", [test] if split == "validation" else [dev, test])
    items = tuple(item for item in whole.items if (item.context in held) == (split == "validation"))
    note = (
        f"{whole.name}: {len(items)} rows, since the {len(held)} premises held out of SNLI's test part "
        "are validation"
    )
    return Split(whole.name, items, whole.source, whole.sha256, (*whole.notes, note), whole=False)


def _corpus(name: str, split: str, root: str | None, strict: bool) -> Split:
    corpus = CORPORA[name]
    if root is None:
        parts = [_from_hub(name, corpus, part, split, strict) for part in corpus.hub_parts[split]]
    else:
        parts = _from_folder(name, corpus, split, root, strict)
    return joined(f"{name}_{split}", parts)


def _from_hub(name: str, corpus: Corpus, part: str, split: str, strict: bool) -> Split:
    rows, digest = hub_rows(corpus.hub, None, part)
    problems = Problems(Path(f"{corpus.hub}:{part}"), strict)
    renamed = (
        (number, {corpus.renamed.get(column, column): cell for column, cell in row.items()})
        for number, row in rows
    )
    items = _items(renamed, problems, f"{name}-{part}", split == "test")
    return Split(part, items, f"{corpus.hub}:{part}", digest, tuple(problems.found))


def _from_folder(name: str, corpus: Corpus, split: str, root: str, strict: bool) -> list[Split]:
    """The parts of a split: files with the authors' names. Otherwise line-aligned files, which are always one
    part."""
    folders = [local_path(root) / folder for folder in corpus.folders]
    short = {"validation": "dev"}.get(split, split)
    for folder in folders:
        files = {part: path for part in corpus.parts[split] if (path := _file(folder, part)) is not None}
        if len(files) == len(corpus.parts[split]):
            return [
                read(path, f"{name}-{part.replace('/', '-')}", strict, split == "test")
                for part, path in files.items()
            ]
        aligned = {column: folder / f"{stem}.{short}" for stem, column in ALIGNED.items()}
        if all(path.is_file() for path in aligned.values()):
            problems = Problems(aligned["sentence1"], strict)
            items = _items(read_aligned(aligned, problems), problems, f"{name}-{short}", split == "test")
            digest = digest_of("".join(sha256(path) for path in aligned.values()).encode()).hexdigest()
            return [Split(short, items, str(aligned["sentence1"]), digest, tuple(problems.found))]
    missing = next(part for part in corpus.parts[split] if _file(folders[0], part) is None)
    raise FiglangError(
        f"no {missing}.jsonl or .txt, nor s1.{short}, s2.{short} and labels.{short}, in {folders[0]}; set "
        "paths.data=DIR (or "
        f"FIGLANG_DATA) to the folder that holds {corpus.folders[0]}/, or paths.data=null to take it from "
        f"the hub ({corpus.hub})"
    )


def _file(folder: Path, part: str) -> Path | None:
    paths = (folder / f"{part}{ending}" for ending in (".jsonl", ".txt"))
    return next((path for path in paths if path.is_file()), None)


def read(path: Path, name: str, strict: bool = False, hidden: bool = False) -> Split:
    """Rows of one file in any of the authors' forms. Ids begin with `name`; `hidden` says that labels may be
    missing.

    Rows that cannot be used are left out with a note each, or refused with `strict`.

    Args:
        path: The file.
        name: Beginning of the ids.
        strict: Whether a problem in a row is an error.
        hidden: Whether labels may be missing.
    """
    problems = Problems(path, strict)
    if path.suffix == ".txt":
        rows: Iterable[Row] = read_tabs(path, ("gold_label", "sentence1", "sentence2"), problems)
    else:
        rows = read_json_lines(path, problems)
    items = _items(rows, problems, name, hidden)
    return Split(path.stem, items, str(path), sha256(path), tuple(problems.found))


def _items(rows: Iterable[Row], problems: Problems, name: str, hidden: bool) -> tuple[Inference, ...]:
    items: dict[str, Inference] = {}
    premises: dict[str, str] = {}
    labels = LABELS | {label.lower(): index for label, index in FEVER_LABELS.items()}
    disagreed = 0
    for number, row in rows:
        premise, hypothesis = (_first(row, names).strip() for names in (PREMISE, HYPOTHESIS))
        label = _first(row, LABEL).strip().lower() or (HIDDEN if hidden else "")
        if not premise or not hypothesis:
            missing = " or ".join(
                "/".join(names) for names, text in ((PREMISE, premise), (HYPOTHESIS, hypothesis)) if not text
            )
            problems.add(number, f"no text under {missing}, row left out", "fill the field or delete the row")
        elif label == DISAGREED:
            disagreed += 1
        elif label not in labels and label != HIDDEN:
            remedy = f"use {', '.join(CLASSES)}, their first letters or {', '.join(FEVER_LABELS)}"
            problems.add(number, f"label {label!r}, row left out", remedy)
        else:
            own = f"{name}-{_first(row, IDENTIFIER) or number}"
            identifier = own if own not in items else f"{own}-row{number}"
            gold = labels.get(label)
            attributes = {} if gold is None else {"class": (CLASSES[gold],)}
            if genre := row.get("genre"):
                attributes["genre"] = (genre,)
            group = premises.setdefault(premise, identifier)
            items[identifier] = Inference(
                identifier, group, premise, CLASSES, gold, attributes, hypothesis=hypothesis
            )
    if disagreed:
        problems.note(
            f"{problems.path.name}: {disagreed} {form(disagreed, 'row')} whose annotators did not agree "
            "(label -) left out"
        )
    if not items:
        raise problems.nothing_usable("it is empty")
    return tuple(items.values())


def _first(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((row[name] for name in names if name in row), "")

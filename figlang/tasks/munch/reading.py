"""MUNCH (Tong et al. 2024, "Metaphor Understanding Challenge Dataset for Large Language Models").

Upstream: github.com/xiaoyuisrain/metaphor-understanding-challenge, CC BY 4.0. Two tables, in which a target
is marked `<b>…</b>`:

- `for_generation.csv`: a sentence with one metaphorically used word, and the single words that people put in
  its place; novelty of the metaphor, genre, and `sid`, the sentence of the VU Amsterdam Metaphor Corpus. A
  sentence can have several such words, each with its own `idx`.
- `for_judgement.csv`: two candidates for a sentence (`s0_idx` is its `idx`), each apt or inapt, an apt one
  first.

`i0` numbers the rows of a table; it is not an `idx`. Eight candidates have `&gt;` in place of `>`. The JSON
files of `tasks/` repeat the tables; if they exist, they must agree.

The authors say that candidates are to be shuffled, but not how. Here `data.seed` draws one order for every
triple, which is the same for all prompts, forms and models; `data.order=both` asks every triple in both
orders, `upstream` keeps the apt one first. All items of a `sid` are one group.
"""

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from figlang.config import DataConfig
from figlang.errors import FiglangError
from figlang.files.rows import Problems, read_csv
from figlang.files.sources import data_file, local_path, sha256
from figlang.tasks.munch import parts_of_speech
from figlang.tasks.munch import task_files as munch_tasks
from figlang.tasks.munch.marks import Mark, mark
from figlang.types import Item, Marked, Split

UPSTREAM = "https://raw.githubusercontent.com/xiaoyuisrain/metaphor-understanding-challenge/HEAD"
# table: (path, sha256 and bytes of the upstream file at 5b78a54)
FILES = {
    "generation": (
        "correct_answers/for_generation.csv",
        "f086f8842c4e781a5dc0a3371a61022cfd5d11085c4295106b558927f1a9cbba",
        696244,
    ),
    "judgement": (
        "correct_answers/for_judgement.csv",
        "719272cfb54a5575d06bc10422cb526dffa909f8a72a6f0a7bd3b3f11e4ba08a",
        862303,
    ),
}
GENERATION = ("i0", "idx", "s0", "novelty", "sid", "genre", "human_ans")
JUDGEMENT = ("i0", "s0_idx", "s0", "s1", "s1_label", "s2", "s2_label")
GENRES = ("ACPROSE", "NEWS", "FICTION", "CONVRSN")
FORMS = ("word", "sentence")
# Labels of the two candidates as they are shown, and the right option.
GOLD = {("apt", "inapt"): 0, ("inapt", "apt"): 1, ("apt", "apt"): 2, ("inapt", "inapt"): 3}
BOTH, NEITHER = "Both Option A and Option B", "Neither Option A nor Option B"

Row = Mapping[str, str]
Finding = tuple[str, str]  # what is wrong with a row, and what to do


def load(split: str, data: DataConfig, root: str | None, cache: str) -> Split:
    """Load the items of `data.question`: judgements of a `word`, a `sentence` or `both`; `generation`; or
    `paraphrase`, a choice between an apt and an inapt sentence.

    Only `paraphrase` can be trained on. `data.seed` draws the share `data.held_out` of its sentences as its
    validation part, and no `sid` is in both parts. The items of other questions are all for evaluation.

    Args:
        split: The split.
        data: Settings of the data.
        root: Folder with the data sets; None: a download.
        cache: Folder for downloads.
    """
    if data.question == "paraphrase" and split == "test":
        raise FiglangError(
            "MUNCH is divided into train and validation, and has no test part; data.held_out=1 evaluates on "
            "all"
        )
    if data.question != "paraphrase" and split == "train":
        raise FiglangError(
            f"MUNCH's question={data.question} is for evaluation; data=munch_paraphrase can be trained on, "
            "and has examples for prompt.k="
        )
    folder = None if root is None else str(local_path(root) / "munch")
    paths = {
        name: data_file(file, folder, f"{UPSTREAM}/{file}", digest, f"{cache}/munch", size)
        for name, (file, digest, size) in FILES.items()
    }
    sentences = _read_generation(paths["generation"], data)
    if data.question == "generation":
        return sentences
    judged = _read_judgement(paths["judgement"], sentences, data)
    return _part(judged, split, data) if data.question == "paraphrase" else judged


def _read_generation(path: Path, data: DataConfig) -> Split:
    """The sentences of a table with the columns GENERATION, with genre, novelty and, where it is known, part
    of speech (`pos`).

    Rows that cannot be used are left out with a note each, or refused with `data.strict`.
    """
    problems = Problems(path, data.strict)
    items: dict[str, Marked] = {}
    entries: dict[int, munch_tasks.Entries] = {}
    numbers: set[str] = set()
    for number, row in read_csv(path, GENERATION, problems):
        if wrong := _twice(row, "idx", items, numbers) or _wrong_sentence(row):
            problems.add(number, f"{wrong[0]}, row left out", wrong[1])
            continue
        sentence = _marked(row["s0"]).repaired()
        attributes = {"genre": (row["genre"],), "novelty": (row["novelty"],)}
        answers = tuple(row["human_ans"].split(" "))
        items[row["idx"]] = Marked(
            f"munch-sentence-{row['idx']}",
            row["sid"],
            sentence.plain,
            answers,
            None,
            attributes,
            target=sentence.target,
            blank=True,
        )
        entries[number] = munch_tasks.generation(row["i0"], row["s0"])
        numbers.add(row["i0"])
    if not items:
        raise problems.nothing_usable("add rows below the header")
    _agree(entries, path, problems)
    tags, notes = _parts_of_speech(items, path.parent.parent, data)
    tagged = (
        replace(item, attributes={**item.attributes, "pos": (tags[index],)}) if index in tags else item
        for index, item in items.items()
    )
    return Split(path.stem, tuple(tagged), str(path), sha256(path), (*problems.found, *notes))


def _read_judgement(path: Path, sentences: Split, data: DataConfig) -> Split:
    """The triples of a table with the columns JUDGEMENT, as judgements of words, of sentences, or of both; or
    as a choice between two sentences (only triples with one apt candidate). `sentences` are those of
    `_read_generation`.

    Rows that cannot be used are left out with a note each, or refused with `data.strict`.
    """
    problems = Problems(path, data.strict)
    known = {item.id: item for item in sentences.items}
    items: list[Item] = []
    entries: dict[int, munch_tasks.Entries] = {}
    numbers: set[str] = set()
    for number, row in read_csv(path, JUDGEMENT, problems):
        source = known.get(f"munch-sentence-{row['s0_idx']}")
        if wrong := _twice(row, "i0", numbers, numbers) or _wrong_triple(row, source, sentences.name):
            problems.add(number, f"{wrong[0]}, row left out", wrong[1])
            continue
        numbers.add(row["i0"])
        candidates = [(_marked(row[name]), row[f"{name}_label"]) for name in ("s1", "s2")]
        entries[number] = munch_tasks.judgement(row["i0"], _marked(row["s0"]), candidates)
        assert isinstance(source, Marked)
        items += _items(row["i0"], source, [(one.repaired(), label) for one, label in candidates], data)
    if not items:
        raise problems.nothing_usable("add rows below the header")
    _agree(entries, path, problems)
    if data.order == "upstream":
        first = sum(item.gold == 0 for item in items) / len(items)
        problems.note(
            f"{path.name}: data.order=upstream keeps apt candidates first, so always A scores "
            f"{100 * first:.1f} %"
        )
    notes = (
        *sentences.notes,
        f"genre, novelty and sid of {path.name} from {sentences.source}@{sentences.sha256[:8]}",
        *problems.found,
    )
    drawn = f"order=seeded,seed={data.seed}" if data.order == "seeded" else f"order={data.order}"
    return Split(path.stem, tuple(items), str(path), sha256(path), notes, drawn=drawn)


def _items(
    i0: str, source: Marked, candidates: Sequence[tuple[Mark, str]], data: DataConfig
) -> Iterator[Item]:
    swapped = random.Random(f"{data.seed} {i0}").random() < 0.5
    orders = {"seeded": (swapped,), "both": (False, True), "upstream": (False,)}[data.order]
    for swap in orders:
        (first, one), (second, other) = reversed(candidates) if swap else candidates
        attributes = {**source.attributes}
        if data.order == "both":
            attributes["order"] = ("swapped" if swap else "as upstream",)
        gold = GOLD[one, other]
        of = f"munch-triple-{i0}{f'-{1 + swap}' if data.order == 'both' else ''}"
        if data.question == "paraphrase":
            if gold < 2:
                yield Item(
                    of,
                    source.group,
                    source.context,
                    (first.plain, second.plain),
                    gold,
                    attributes,
                    paired=False,
                )
            continue
        for form in FORMS if data.question == "both" else (data.question,):
            options = (first.word, second.word) if form == "word" else (first.plain, second.plain)
            asked = {**attributes, "form": (form,)}
            yield Marked(
                f"{of}-{form}",
                source.group,
                source.context,
                (*options, BOTH, NEITHER),
                gold,
                asked,
                target=source.target,
            )


def _part(judged: Split, split: str, data: DataConfig) -> Split:
    """The training or the validation part, divided by group."""
    groups = sorted({item.group for item in judged.items})
    count = round(data.held_out * len(groups))
    if split == "train" and count == len(groups):
        raise FiglangError(
            f"data.held_out={data.held_out:g} leaves no item of {judged.source} to train on; hold out less"
        )
    held_out = set(random.Random(data.seed).sample(groups, count))
    items = tuple(item for item in judged.items if (item.group in held_out) == (split == "validation"))
    if not items:
        raise FiglangError(
            f"data.held_out={data.held_out:g} leaves no item of {judged.source} to validate on; hold out more"
        )
    return replace(
        judged,
        name=f"munch_{split}",
        items=items,
        drawn=f"{judged.drawn},held_out={data.held_out:g},seed={data.seed}",
    )


def _marked(text: str) -> Mark:
    found = mark(text)
    assert found is not None, "rows are checked before"
    return found


def _twice(row: Row, key: str, keys: Collection[str], numbers: Collection[str]) -> Finding | None:
    again = next((name for name, known in ((key, keys), ("i0", numbers)) if row[name] in known), None)
    return (
        None if again is None else (f"{again} {row[again]!r} occurs twice", f"give every row its own {again}")
    )


def _wrong_sentence(row: Row) -> Finding | None:
    answers = row["human_ans"].split(" ")
    if empty := [name for name in GENERATION if not row[name].strip()]:
        return f"empty {', '.join(empty)}", "fill the cell or delete the row"
    if mark(row["s0"]) is None:
        return "s0 has not exactly one target", "mark one word of it as <b>word</b>"
    if row["genre"] not in GENRES:
        return f"genre {row['genre']!r}", f"use one of {', '.join(GENRES)}"
    if not re.fullmatch(r"-?\d+(\.\d+)?", row["novelty"]):
        return f"novelty {row['novelty']!r}", "write a number like 0.03"
    if odd := [answer for answer in answers if answer.split() != [answer]]:
        return f"answer {odd[0]!r} with white space in human_ans", "separate single words by single spaces"
    if twice := [answer for answer in answers if answers.count(answer) > 1]:
        return f"answer {twice[0]!r} occurs twice", "give every answer once"
    return None


def _wrong_triple(row: Row, source: Item | None, table: str) -> Finding | None:
    labels, candidates = (row["s1_label"], row["s2_label"]), [mark(row["s1"]), mark(row["s2"])]
    sentence = mark(row["s0"])
    if labels not in GOLD:
        return f"labels {' and '.join(map(repr, labels))}", "use apt or inapt"
    if sentence is None or None in candidates:
        return "s0, s1 or s2 has not exactly one target", "mark one word of each as <b>word</b>"
    words = [one.word for one in candidates if one is not None]
    if odd := [word for word in words if word.split() != [word]]:
        return f"candidate {odd[0]!r} with white space", "candidates are single words"
    if words[0] == words[1]:
        return f"two candidates {words[0]!r}", "correct one"
    if source is None or source.context != sentence.repaired().plain:
        return (
            f"no sentence of {table} has idx {row['s0_idx']!r} and this s0",
            "restore both files from the same release",
        )
    return None


def _agree(entries: Mapping[int, munch_tasks.Entries], table: Path, problems: Problems) -> None:
    for number, what in munch_tasks.differences(entries, table.parent.parent / "tasks"):
        problems.add(number, f"{what}, the table is read", "restore both files from the same release")


def _parts_of_speech(
    sentences: Mapping[str, Marked], folder: Path, data: DataConfig
) -> tuple[dict[str, str], list[str]]:
    """Tags by idx from the file `data.pos` (by default the one beside the tables). `data.tagger` gives the
    tags that it lacks."""
    path = Path(data.pos).expanduser() if data.pos else folder / "derived" / "pos_from_vua_seq.tsv"
    tags: dict[str, str] = {}
    notes: list[str] = []
    if data.pos or path.is_file():
        tags, found = parts_of_speech.from_table(
            path, {index: item.word for index, item in sentences.items()}, data.strict
        )
        notes += [*found, f"parts of speech of {len(tags)} targets from {path}@{sha256(path)[:8]}"]
    missing = {index: item for index, item in sentences.items() if index not in tags}
    if missing and data.tagger:
        tags.update(zip(missing, parts_of_speech.tagged(missing.values(), data.tagger), strict=True))
        notes.append(f"parts of speech of {len(missing)} targets by {data.tagger}")
    elif missing:
        notes.append(
            f"{len(missing)} of {len(sentences)} targets have no part of speech; data.tagger=en_core_web_sm "
            "tags them"
        )
    return tags, notes

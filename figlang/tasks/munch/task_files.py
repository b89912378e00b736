"""Check that MUNCH's task files (JSON), which repeat its tables, agree with them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.errors import FiglangError
from figlang.tasks.munch.marks import Mark

Entries = Mapping[str, Mapping[str, Any]]  # task file: what it ought to say about a row


def generation(i0: str, sentence: str) -> Entries:
    return {"generation": {"dataset_index": i0, "s0": sentence}}


def judgement(i0: str, sentence: Mark, candidates: Sequence[tuple[Mark, str]]) -> Entries:
    """The content of four task files about a triple: the sentence with or without asterisks, and the
    candidates as words or sentences."""

    def entry(asked: str, texts: Sequence[str]) -> Mapping[str, Any]:
        options = [{"text": text, "label": label} for text, (_, label) in zip(texts, candidates, strict=True)]
        return {"dataset_index": i0, "s0": asked, "options": options}

    words, sentences = [one.word for one, _ in candidates], [one.plain for one, _ in candidates]
    return {
        "word_judge": entry(sentence.starred, words),
        "sent_judge_implicit": entry(sentence.plain, sentences),
        "sent_judge_msent": entry(sentence.plain, sentences),
        "sent_judge_mword": entry(sentence.starred, sentences),
    }


def differences(rows: Mapping[int, Entries], folder: Path) -> Iterator[tuple[int | None, str]]:
    """Find differences between the task files of a folder and the table: the row number (None: no row) and a
    description. A file may be absent.

    Raises FiglangError for a file that is not a list of JSON objects with a dataset_index.
    """
    for name in next(iter(rows.values()), {}):
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        try:
            listed = from_json(path.read_text(encoding="utf-8"))
            found = {str(entry["dataset_index"]): entry for entry in listed}
        except (ValueError, TypeError, KeyError) as error:
            raise FiglangError(
                f"{path} is not a list of JSON objects with a dataset_index ({error}); restore or delete it"
            ) from error
        if len(found) < len(listed):
            yield (
                None,
                f"{path.name} has {len(listed) - len(found)} entries whose dataset_index another one has",
            )
        for number, entries in rows.items():
            entry = found.pop(str(entries[name]["dataset_index"]), {})
            if different := [
                key
                for key, value in entries[name].items()
                if key != "dataset_index" and entry.get(key) != value
            ]:
                yield (
                    number,
                    f"{path.name} has another {' and '.join(different)}"
                    if entry
                    else f"{path.name} lacks it",
                )
        if found:
            yield (
                None,
                f"{path.name} has {len(found)} entries of no row, dataset_index "
                f"{', '.join(list(found)[:3])} …",
            )

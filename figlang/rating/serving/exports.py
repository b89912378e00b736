"""The files of a study: figlang's own sheets, and tables for Prolific and Label Studio."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from figlang.config.signature import digest
from figlang.files import folders
from figlang.files.whole import slug, write_text
from figlang.rating import sheets
from figlang.rating.serving import live, order
from figlang.rating.serving.store import Answer, Store
from figlang.rating.serving.study import CHOICE, CODES, PARAPHRASE, Question, Study
from figlang.tables import csv_text
from figlang.types import Prediction

FOLDER = "exports"


def write(study: Study, store: Store, folder: Path, finished: str | None = None) -> list[Path]:
    """Write all files into the folder `exports`, and return their paths.

    Args:
        study: The study.
        store: Its database.
        folder: The folder of the study.
        finished: The completion code of Prolific; None without.
    """
    made = files(study, store, finished)
    folders.check_place(folder / FOLDER)
    (folder / FOLDER).mkdir(exist_ok=True)
    for name, text in made.items():
        write_text(folder / FOLDER / name, text)
    return [folder / FOLDER / name for name in made]


def files(study: Study, store: Store, finished: str | None = None) -> dict[str, str]:
    """All files by name. Those without an answer are left out."""
    raters = [name for name in store.codes() if name]
    answers = store.latest()
    given = live.by_question(study, answers)
    made = {"answers.csv": _answers(study, answers)}
    if study.ask == CODES:
        for name, file in _sheets(raters).items():
            own = {one.question: one.value for one in answers if one.rater == name}
            if own.keys() & given.keys():
                made[file] = _sheet(study, own)
    if study.ask == CHOICE and given:
        made["people.csv"] = _people(study, given)
        made["people.jsonl"] = "".join(_predictions(study, given))
        made["ceiling.csv"] = _ceiling(study, given)
    if study.ask == PARAPHRASE and given:
        made["paraphrases.csv"] = _paraphrases(study, given)
    made["prolific.csv"] = _prolific(study, raters, answers, finished)
    made["label_studio.csv"] = _label_studio(study, given)
    return made


def _sheets(raters: Sequence[str]) -> dict[str, str]:
    """The name of each rater's sheet. Where only the case differs, the one that enrolled later gets a hash:
    some file systems take Ann and ann for one name."""
    found: dict[str, str] = {}
    for name in raters:
        plain = slug(name)
        taken = plain.casefold() in {file.casefold() for file in found.values()}
        found[name] = f"{plain}-{digest(name)[:8]}" if taken else plain
    return {name: f"sheet-{file}.csv" for name, file in found.items()}


def _answers(study: Study, answers: Sequence[Answer]) -> str:
    """One row for each answer, attention items too."""
    raters = dict.fromkeys(one.rater for one in answers)
    shown = {
        (name, one.question.id): (place, one)
        for name in raters
        for place, one in enumerate(order.of(study, name), start=1)
    }
    columns = ("rater", "place", "id", "answer", "confident", "seconds", "at", "revisions", "check")
    rows = []
    for one in answers:
        if (one.rater, one.question) not in shown:
            continue
        place, seen = shown[one.rater, one.question]
        check = "" if seen.expected is None else "passed" if order.passed(seen, one.value) else "failed"
        value = str(int(one.value) + 1) if study.ask == CHOICE else one.value
        sure, seconds = "yes" if one.confident else "no", f"{one.seconds:.2f}"
        rows.append((one.rater, place, one.question, value, sure, seconds, one.at, one.revisions, check))
    return csv_text(columns, rows)


def _sheet(study: Study, own: Mapping[str, str]) -> str:
    """A filled-in copy of the sheet, as `figlang rate ratings=` reads it."""
    rows = ((one.id, one.text, one.answer, own.get(one.id, "")) for one in study.questions)
    return csv_text(sheets.COLUMNS, rows)


def _people(study: Study, given: live.Given) -> str:
    """The choices of people, as `figlang report people=` reads it. Options are counted from 1."""
    rows = (
        (one.question, int(one.value) + 1, one.rater, "yes" if one.confident else "no", f"{one.seconds:.2f}")
        for several in given.values()
        for one in several
    )
    return csv_text(("id", "choice", "rater", "confident", "seconds"), rows)


def _predictions(study: Study, given: live.Given) -> Iterable[str]:
    """A predictions file: the score of an option is the share of the raters who chose it."""
    for question in study.questions:
        if several := given.get(question.id):
            counts = Counter(int(one.value) for one in several)
            scores = tuple(counts[place] / len(several) for place in range(len(question.options)))
            row = Prediction(question.id, question.group, question.gold, scores, question.attributes)
            content = {**asdict(row), "choice": row.choice, "paired": question.paired}
            yield json.dumps(content, ensure_ascii=False) + "\n"


def _ceiling(study: Study, given: live.Given) -> str:
    """How many raters are right on each item whose right option is known."""
    rows = []
    for question in study.questions:
        several = given.get(question.id)
        if several and question.gold is not None:
            hits = sum(one.value == str(question.gold) for one in several)
            sure = sum(one.confident for one in several)
            share = f"{hits / len(several):.4f}"
            rows.append((question.id, question.group, len(several), hits, share, sure))
    return csv_text(("id", "group", "raters", "right", "share", "confident"), rows)


def _paraphrases(study: Study, given: live.Given) -> str:
    """The texts of people, as `figlang rate texts=` reads it: each rater is a model."""
    known = {one.id: one for one in study.questions}
    rows = [
        (one.rater, name, known[name].group, known[name].kind, _asked(known[name]), one.value)
        for name, several in given.items()
        for one in several
        if one.value.strip()
    ]
    return csv_text(("model", "item", "group", "kind", "prompt", "answer"), rows)


def _asked(question: Question) -> str:
    if question.mark is None:
        return question.text
    start, end = question.mark
    return f"{question.text[:start]}*{question.text[start:end]}*{question.text[end:]}"


def _prolific(study: Study, raters: Sequence[str], answers: Sequence[Answer], finished: str | None) -> str:
    """One row for each rater with the headings of Prolific's own export, to approve submissions by."""
    columns = (
        "Participant id",
        "Status",
        "Started at",
        "Completed at",
        "Time taken",
        "Completion code",
        "Items",
        "Attention checks passed",
        "Attention checks failed",
    )
    rows = []
    for name in raters:
        own = [one for one in answers if one.rater == name]
        found = live.progress(study, name, own)
        whole = found["done"] == found["of"] and found["checks"] == study.checks
        status = "AWAITING REVIEW" if whole else "ACTIVE" if own else "RESERVED"
        taken = ""
        if whole:
            first, last = (datetime.fromisoformat(found[end]) for end in ("first", "last"))
            taken = f"{(last - first).total_seconds():.0f}"
        ends = (found["first"], found["last"] if whole else "", taken, (finished or "") if whole else "")
        marks = (found["passed"], found["checks"] - found["passed"])
        rows.append((name, status, *ends, found["done"], *marks))
    return csv_text(columns, rows)


def _label_studio(study: Study, given: live.Given) -> str:
    """One row for each annotation, with the headings of Label Studio's CSV export."""
    known = {one.id: one for one in study.questions}
    tag = {CODES: "rating", CHOICE: "choice", PARAPHRASE: "paraphrase"}[study.ask]
    most = max((len(one.options) for one in study.questions), default=0) if study.ask == CHOICE else 0
    options = [f"option{place}" for place in range(1, most + 1)]
    columns = ("annotation_id", "annotator", "answer", *options, "confident", "created_at", "id")
    rows: list[tuple[Any, ...]] = []
    for name, several in given.items():
        question = known[name]
        shown = [*question.options, *[""] * most][:most]
        for one in several:
            value = question.options[int(one.value)] if study.ask == CHOICE else one.value
            sure = "yes" if one.confident else "no"
            task = (len(rows) + 1, one.rater, question.answer, *shown, sure, one.at, name)
            rows.append((*task, f"{one.seconds:.3f}", _asked(question), value, one.at))
    return csv_text((*columns, "lead_time", "text", tag, "updated_at"), rows)

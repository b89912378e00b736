"""Whether the files of a study belong together: they may have been cut or edited, or come from elsewhere."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from figlang.errors import FiglangError
from figlang.rating.serving.store import DATABASE, ORGANISER, Store
from figlang.rating.serving.study import CHOICE, CODES, PARAPHRASE, STUDY, Study
from figlang.tasks import registry
from figlang.text.amounts import counted


def check(study: Study, store: Store, folder: Path) -> None:
    """Check a study and its answers before anything is shown or counted.

    Raises:
        FiglangError: Something does not fit. It names the file and the fault.
    """
    for file, faults in ((STUDY, _of_study(study)), (DATABASE, _of_answers(study, store))):
        if fault := next(faults, None):
            raise FiglangError(f"{folder / file}: {fault}; restore the file, or choose another folder=")


def _of_study(study: Study) -> Iterator[str]:
    names = [one.id for one in study.questions]
    if not names or len(set(names)) < len(names) or not all(names):
        yield "there is no question, or two have one id"
    if not 0 <= study.checks <= len(names):
        yield f"checks is {study.checks} for {counted(len(names), 'question')}"
    scale = registry.scales().get(study.scale)
    if study.ask == CODES and (scale is None or tuple(scale.codes) != study.codes):
        yield f"its codes are not those of a scale {study.scale!r}"
    for one in study.questions:
        if study.ask == CHOICE and len(one.options) < 2:
            yield f"{one.id} has fewer than two options"
        if one.gold is not None and not 0 <= one.gold < len(one.options):
            yield f"the right option of {one.id} is not one of its options"
        if one.mark is not None and not 0 <= one.mark[0] <= one.mark[1] <= len(one.text):
            yield f"the mark of {one.id} is outside of its text"


def _of_answers(study: Study, store: Store) -> Iterator[str]:
    answers, raters = store.latest(), store.codes().keys() - {ORGANISER}
    places = {one.id: [str(place) for place in range(len(one.options))] for one in study.questions}
    for one in answers:
        allowed: Sequence[str] | None = None
        if study.ask != PARAPHRASE:
            allowed = study.codes if study.ask == CODES else places.get(one.question, ["0", "1"])
        if allowed is not None and one.value not in allowed:
            yield f"{one.value[:40]!r} is not an answer to {one.question[:40]}"
        if one.rater not in raters:
            yield f"an answer is of {one.rater[:40]!r}, who is not a rater"
        if not _is_time(one.at):
            yield f"an answer was given at {one.at[:40]!r}"


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False

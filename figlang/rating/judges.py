"""The ratings of judges, beside the sheet that they are of: one folder for each judge.

`ratings.jsonl` has a line for each answer, with how far each word applies and what was asked and answered.
`sheet.csv` is the sheet as the judge filled it in, which `figlang rate` reads like a person's.

Shape letters: N answers, J judges, O orders, W words.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from figlang.errors import FiglangError
from figlang.files import ownership, stored
from figlang.files.whole import write_text
from figlang.rating.sheets import COLUMNS, SHEET
from figlang.statistics.agreement import Ratings, plurality
from figlang.tables import csv_text
from figlang.tasks.scales import LIKENESS, Verdict
from figlang.types import Generation

FOLDER, FILE, ABOUT = "judges", "ratings.jsonl", "metrics.json"
PANEL = "all judges"
PROBABILITIES = "log_probabilities"  # the key for the probabilities of the words


@dataclass(frozen=True)
class Judge:
    """Ratings of all answers of a sheet by a judge or a metric.

    Attributes:
        name: Its name in tables.
        codes: The code of each answer, nan where there is none; None for a metric.
        values: How far each word of the scale applies to each answer, by word, nan where that is not known.
            A metric has the same value for every word.
        about: The settings of the judge, by which its ratings can be made again.
    """

    name: str
    codes: Ratings | None
    values: Mapping[str, Ratings]
    about: Mapping[str, Any]


def write(folder: Path, verdicts: Sequence[Verdict], answers: Mapping[str, Generation]) -> None:
    """Write the ratings of a judge into a folder, as lines and as a filled-in sheet."""
    lines = [json.dumps(asdict(one), ensure_ascii=False) for one in verdicts]
    write_text(folder / FILE, "".join(f"{line}\n" for line in lines))
    if any(one.word for one in verdicts):
        rows = [
            (one.id, answers[one.id].question, answers[one.id].answer, one.word or "") for one in verdicts
        ]
        write_text(folder / SHEET, csv_text(COLUMNS, rows))


def read(folder: Path, names: Sequence[str], codes: Mapping[str, float], prior: str = "kept") -> list[Judge]:
    """Read the ratings of all judges of a sheet.

    Args:
        folder: The folder of the sheet.
        names: The names of its answers, in their order.
        codes: The codes of its scale by word.
        prior: `kept`, or `removed` as `without_prior` does, for judges who gave probabilities.

    Returns:
        The judges in the order of their names.

    Raises:
        FiglangError: A file cannot be read, or is of other answers.
    """
    found = sorted(path.parent for path in (folder / FOLDER).glob(f"*/{ABOUT}"))
    return [_judge(place / FILE, names, codes, prior) for place in found]


def _judge(path: Path, names: Sequence[str], codes: Mapping[str, float], prior: str) -> Judge:
    remedy = "delete the judge's folder and judge again"
    verdicts = [Verdict(**row) for _, row in stored.rows(path, stored.VERDICT, "a verdict", remedy)]
    if sorted(one.id for one in verdicts) != sorted(names):
        raise FiglangError(f"{path} is not of the answers of this sheet; {remedy}")
    if unknown := {one.word for one in verdicts if one.word is not None} - codes.keys():
        raise FiglangError(f"{path} has the word {min(unknown)!r}, which the scale does not have; {remedy}")
    about = stored.document(path.parent / ABOUT, stored.JUDGE, remedy)
    ownership.check_files(path.parent, about.get("files", {}))
    if odd := next((one for one in verdicts if not _plausible(one, codes)), None):
        raise FiglangError(f"{path}: {odd.id} has values that are not of the words of the scale; {remedy}")
    if prior == "removed" and all(_weighed(each, codes) for each in verdicts):
        if len({len(each.asked) for each in verdicts}) > 1:
            raise FiglangError(f"{path}: some answers were asked about more often than others; {remedy}")
        verdicts = without_prior(verdicts)
    return of(path.parent.name, verdicts, names, codes, about)


def _plausible(verdict: Verdict, codes: Mapping[str, float]) -> bool:
    return not verdict.values or set(verdict.values) in ({LIKENESS}, set(codes))


def _weighed(verdict: Verdict, codes: Mapping[str, float]) -> bool:
    """Whether there are log-probabilities of all words, in whatever was asked."""
    found = [one.get(PROBABILITIES) for one in verdict.asked]
    return bool(found) and all(
        isinstance(one, Mapping)
        and set(one) == set(codes)
        and all(isinstance(value, int | float) and isfinite(value) for value in one.values())
        for one in found
    )


def without_prior(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Take a judge's liking for a word out of its probabilities.

    The mean log-probability of each word over all answers is subtracted, in each order apart (batch
    calibration, Zhou et al. 2023, arXiv 2309.17249). People's ratings have no part in it. A judge that says
    one word to everything then gives each word to the answers for which it is likelier than for others. But
    the share of a word then says little by itself.

    Args:
        verdicts: What a judge says of all answers, with the log-probabilities of the words.
    """
    words = list(verdicts[0].asked[0][PROBABILITIES])
    logs_NOW = np.array(
        [[[one[PROBABILITIES][word] for word in words] for one in each.asked] for each in verdicts]
    )
    logs_NOW -= logs_NOW.mean(0)
    shares_NOW = np.exp(logs_NOW - logs_NOW.max(2, keepdims=True))
    shares_NW = (shares_NOW / shares_NOW.sum(2, keepdims=True)).mean(1)
    return [
        Verdict(each.id, words[int(row.argmax())], dict(zip(words, row.tolist(), strict=True)), each.asked)
        for each, row in zip(verdicts, shares_NW, strict=True)
    ]


def of(
    name: str,
    verdicts: Sequence[Verdict],
    names: Sequence[str],
    codes: Mapping[str, float],
    about: Mapping[str, Any],
) -> Judge:
    """Put the verdicts of a judge or metric in the order of the sheet.

    Args:
        name: Its name.
        verdicts: A verdict for each answer.
        names: The names of the answers of the sheet, in their order.
        codes: The codes of its scale by word.
        about: The settings of the judge.
    """
    by_id = {one.id: one for one in verdicts}
    rows = [by_id[each] for each in names]
    values = {word: np.array([_value(row.values, word) for row in rows], dtype=np.float64) for word in codes}
    code = [np.nan if row.word is None else codes[row.word] for row in rows]
    metric = all(LIKENESS in row.values for row in rows)
    return Judge(name, None if metric else np.array(code, dtype=np.float64), values, about)


def _value(values: Mapping[str, float], word: str) -> float:
    return values.get(LIKENESS, values.get(word, np.nan))


def panel(judges: Sequence[Judge]) -> Judge | None:
    """All judges together: the code that most of them gave, and their mean values. None for fewer than two.

    Metrics do not count as judges.
    """
    several = [one for one in judges if one.codes is not None]
    if len(several) < 2:
        return None
    codes_NJ = np.stack([one.codes for one in several if one.codes is not None], axis=1)
    means = {}
    for word in several[0].values:
        values_NJ = np.stack([one.values[word] for one in several], axis=1)
        known_N = ~np.isnan(values_NJ).all(1)
        mean_N = np.full(len(values_NJ), np.nan)
        mean_N[known_N] = np.nanmean(values_NJ[known_N], axis=1)
        means[word] = mean_N
    return Judge(PANEL, np.array([plurality(row) for row in codes_NJ]), means, {})

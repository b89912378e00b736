"""How early the answers that people gave come in a model's ranking (MUNCH: Tong et al. 2024, Table 3), and
files of rankings."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from figlang.errors import FiglangError
from figlang.files import folders, stored
from figlang.files.whole import whole_file
from figlang.statistics.association import Case
from figlang.statistics.metrics import Estimate, ratio
from figlang.types import Ranking

DEPTHS = (1, 5, 10)  # k of recall@k and hit@k


def reciprocal(row: Ranking) -> float:
    """1 / the rank of the highest-ranked answer, 0 if none has one: its mean is the MRR."""
    return 0.0 if row.best is None else 1 / row.best


def within(row: Ranking, depth: int) -> int:
    """How many of the answers have a rank of at most `depth`."""
    return sum(rank is not None and rank <= depth for rank in row.ranks)


def _hit(row: Ranking, depth: int) -> float:
    return float(within(row, depth) > 0)


def _recall(row: Ranking, depth: int) -> float:
    return within(row, depth) / len(row.ranks)


def measure(rows: Sequence[Ranking], max_rank: int | None = None) -> dict[str, Any]:
    """MRR, recall@k, hit@k and recall@k over all answers together, as plain data; reproduces a table from the
    file alone.

    Recall@k of a sentence is the share of its answers that rank k or better, hit@k whether any does; both are
    averaged over the sentences, `micro_recall@k` over the answers. A sentence whose answers have no rank
    counts 0. Where ranks are only known up to `max_rank`, measures of a greater depth are not there.
    Intervals (95 %) are over sentences.
    """
    known = [depth for depth in DEPTHS if max_rank is None or depth <= max_rank]
    found = {"mrr": _mean(rows, reciprocal)}
    for depth in known:
        found[f"hit@{depth}"] = _mean(rows, partial(_hit, depth=depth))
    for depth in known:
        found[f"recall@{depth}"] = _mean(rows, partial(_recall, depth=depth))
    for depth in known:
        found[f"micro_recall@{depth}"] = _ratio(
            rows, partial(within, depth=depth), lambda row: len(row.ranks)
        )
    answers = sum(len(row.ranks) for row in rows)
    unranked = sum(rank is None for row in rows for rank in row.ranks)
    counts = {
        "items": len(rows),
        "answers": answers,
        "unranked": unranked,
        "without": sum(row.best is None for row in rows),
    }
    return {name: asdict(one) for name, one in found.items()} | counts


def cases(rows: Sequence[Ranking]) -> list[Case]:
    """Sentences as cases that are right where an answer is ranked first: the accuracy of the paper's Tables
    10 to 12, which do not say what it is."""
    return [Case(row.group, row.best == 1, row.attributes) for row in rows]


def _mean(rows: Sequence[Ranking], value: Callable[[Ranking], float]) -> Estimate:
    return _ratio(rows, value, lambda _: 1)


def _ratio(
    rows: Sequence[Ranking], value: Callable[[Ranking], float], size: Callable[[Ranking], int]
) -> Estimate:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        sums[row.group][0] += value(row)
        sums[row.group][1] += size(row)
    values, sizes = np.array(list(sums.values())).T
    return ratio(values.tolist(), sizes.tolist())


def write(path: Path, rows: Iterable[Ranking]) -> None:
    """One JSON object a line, written beside and renamed, so that a half-written file never has the name."""
    folders.check_place(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as beside, beside.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise FiglangError(
            f"cannot write {path} ({error.strerror}); choose another folder with output=DIR"
        ) from error


def read(path: Path) -> list[Ranking]:
    """The rankings of a file. Raises FiglangError that names the line which is none."""
    if not path.is_file():
        raise FiglangError(f"no rankings file {path}; figlang munch_generate writes one")
    found: dict[str, Ranking] = {}
    remedy = "restore the file or generate again"
    for number, row in stored.rows(path, stored.RANKING, "a ranking", remedy):
        one = Ranking(**{name: row[name] for name in row})
        if len(one.answers) != len(one.ranks):
            raise FiglangError(
                f"{path}: line {number} is not a ranking ({len(one.answers)} answers, {len(one.ranks)} "
                f"ranks); {remedy}"
            )
        if found.setdefault(one.id, one) is not one:
            raise FiglangError(f"{path}: line {number} has the id {one.id} of an earlier line; {remedy}")
    return list(found.values())

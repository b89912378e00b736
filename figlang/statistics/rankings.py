"""How early people's answers come in a model's ranking, and files of rankings.

The measures are those of Table 3 of Tong et al. (2024).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from figlang.errors import FiglangError
from figlang.files import folders
from figlang.files.whole import write_lines
from figlang.statistics.association import Case
from figlang.statistics.metrics import Estimate, ratio
from figlang.types import Ranking

DEPTHS = (1, 5, 10)  # k of recall@k and hit@k


def _reciprocal(row: Ranking) -> float:
    """1 / the rank of the best-ranked answer, 0 if no answer has a rank.

    Its mean over sentences is the MRR.
    """
    return 0.0 if row.best is None else 1 / row.best


def within(row: Ranking, depth: int) -> int:
    """How many answers have a rank of at most `depth`."""
    return sum(rank is not None and rank <= depth for rank in row.ranks)


def _hit(row: Ranking, depth: int) -> float:
    return float(within(row, depth) > 0)


def _recall(row: Ranking, depth: int) -> float:
    return within(row, depth) / len(row.ranks)


def measure(rows: Sequence[Ranking], max_rank: int | None = None) -> dict[str, Any]:
    """Compute MRR, recall@k, hit@k and micro-recall@k, as plain data.

    For one sentence, recall@k is the share of its answers that rank k or better, and hit@k is whether any
    does. Both are averaged over sentences. `micro_recall@k` is averaged over answers. A sentence whose
    answers have no rank counts as 0. The intervals (95 %) are over sentences. A table can be computed again
    from a file of rankings alone.

    Args:
        rows: The rankings.
        max_rank: Ranks are known only up to this one; greater depths are left out. None if all are known.
    """
    known = [depth for depth in DEPTHS if max_rank is None or depth <= max_rank]
    estimates = {"mrr": _ratio(rows, _reciprocal)}
    for depth in known:
        estimates[f"hit@{depth}"] = _ratio(rows, partial(_hit, depth=depth))
    for depth in known:
        estimates[f"recall@{depth}"] = _ratio(rows, partial(_recall, depth=depth))
    for depth in known:
        estimates[f"micro_recall@{depth}"] = _ratio(
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
    return {name: asdict(estimate) for name, estimate in estimates.items()} | counts


def cases(rows: Sequence[Ranking]) -> list[Case]:
    """Sentences as cases, right if an answer is ranked first.

    The accuracy of the paper's Tables 10 to 12 is not defined there. This is one reading of it.
    """
    return [Case(row.group, row.best == 1, row.attributes) for row in rows]


def _ratio(
    rows: Sequence[Ranking], value: Callable[[Ranking], float], size: Callable[[Ranking], int] = lambda _: 1
) -> Estimate:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        sums[row.group][0] += value(row)
        sums[row.group][1] += size(row)
    values, sizes = np.array(list(sums.values())).T
    return ratio(values.tolist(), sizes.tolist())


def write(path: Path, rows: Iterable[Ranking]) -> None:
    """Write one JSON object for each line; the file gets its name only when it is whole.

    Raises:
        FiglangError: If the file cannot be written.
    """
    folders.check_place(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows))
    except OSError as error:
        raise FiglangError(
            f"cannot write {path} ({error.strerror}); choose another folder with output=DIR"
        ) from error


def read(path: Path) -> list[Ranking]:
    """Read the rankings of a file.

    Raises:
        FiglangError: If the file is missing, or if a line is not a ranking. It names the line.
    """
    if not path.is_file():
        raise FiglangError(f"no rankings file {path}; figlang reproduce writes one")
    from figlang.files import stored  # its schemas take a tenth of the time of `figlang reproduce --help`

    rankings: dict[str, Ranking] = {}
    remedy = "restore the file or generate again"
    for number, row in stored.rows(path, stored.RANKING, "a ranking", remedy):
        ranking = Ranking(**{name: row[name] for name in row})
        if len(ranking.answers) != len(ranking.ranks):
            raise FiglangError(
                f"{path}: line {number} is not a ranking ({len(ranking.answers)} answers, "
                f"{len(ranking.ranks)} ranks); {remedy}"
            )
        if rankings.setdefault(ranking.id, ranking) is not ranking:
            raise FiglangError(f"{path}: line {number} has the id {ranking.id} of an earlier line; {remedy}")
    return list(rankings.values())

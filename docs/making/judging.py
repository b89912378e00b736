"""Judges beside the human codes of Fig-QA's generations: sheets of the released codes, tables of results.

`python -m docs.making.judging codes FOLDER annot_1.csv annot_2.csv annot_3.csv` writes `person1.csv` and so
on beside FOLDER, the folder of a sheet of `figlang rate` with the same answers. The codes are in the history
of the data's repository (nightingal3/Fig-QA, commit e424d34, data/generation_annotation), and are not in its
newest state.

`python -m docs.making.judging results FOLDER person1.csv …` writes docs/results/judging_agreement.csv and
judging_shares.csv from the judges in FOLDER.
"""

import csv
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from docs.making.measured import HOW, RESULTS
from figlang import __version__
from figlang.config.signature import digest
from figlang.rating import calibrating, judges, references, sheets
from figlang.statistics.prediction_powered import corrected
from figlang.tasks import registry
from figlang.tasks.scales import Rated, Scale

DRAWS, SIZE = 2000, 100


def codes(folder: Path, released: Sequence[Path]) -> None:
    """Write a filled-in sheet for each file of released codes.

    Args:
        folder: The folder of a sheet with these answers.
        released: Files with the columns startphrase, completion and valid (the code), and a row for each
            answer in the order of the questions.
    """
    scale, _, answers = sheets.keyed(folder)
    words = {code: word for word, code in registry.scales()[scale].codes.items()}
    names = {(one.question, one.sample): name for name, one in answers.items()}
    for number, path in enumerate(released, start=1):
        seen: Counter[str] = Counter()
        with (
            path.open(encoding="utf-8-sig", newline="") as given,
            (folder.parent / f"person{number}.csv").open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", "rating"])
            for row in csv.DictReader(given):
                asked = row["startphrase"].strip()
                name = names[asked, seen[asked]]
                seen[asked] += 1
                assert answers[name].answer.strip(" ,") == row["completion"].strip(" ,"), row
                writer.writerow([name, words[float(row["valid"])]])


def results(folder: Path, rated: Sequence[Path]) -> None:
    """Write both tables."""
    name, people = sheets.read(folder, rated)
    scale, (_, _, answers) = registry.scales()[name], sheets.keyed(folder)
    known = judges.read(folder, list(answers), scale.codes)
    plain = {one.name for one in known if one.codes is not None}
    removed = judges.read(folder, list(answers), scale.codes, "removed")
    known += [replace(one, name=f"{one.name}, prior removed") for one in removed if one.name in plain]
    said = references.overlap(answers, references.of(answers, scale, None))
    known.append(judges.of(references.CHRF, said, list(answers), scale.codes, {}))
    content = calibrating.content(people, scale, known)
    how = {
        "command": "python -m docs.making.judging results FOLDER person1.csv person2.csv person3.csv",
        "seed": "0",
        "data": f"figqa generations (davinci, 456 answers) @{digest([str(one) for one in people])[:8]}",
        "figlang": __version__,
        "machine": "two cores, CPU",
        "recorded": "figlang judge, 2026-11-25",
    }
    agreement = [
        {"rater": row["rater"]}
        | {"same, %": _share(row["same"])}
        | {name: _three(row[name]) for name in ("kappa", "alpha_nominal", "alpha_interval")}
        for row in content["agreement"]
        if row["rater"] != judges.PANEL  # one model is here twice
    ]
    _write("judging_agreement", agreement, how)
    _write("judging_shares", _shares(content, people, scale, known), how)


def _shares(
    content: Mapping[str, Any], people: Sequence[Rated], scale: Scale, known: Sequence[judges.Judge]
) -> list[dict[str, str]]:
    """For each word and judge: its own share, people's, its correlation with people, and how often intervals
    hold people's share."""
    targets = calibrating.targets(people, scale)
    _, groups = np.unique([one.generation.group for one in people], return_inverse=True)
    correlated = {(row["judge"], row["quantity"]): row for row in content["correlations"]}
    rows = []
    for row in content["shares"]:
        word = row["quantity"]
        alone = _coverage(targets[word], np.zeros(len(people)), groups)
        for judge in known:
            held = _coverage(targets[word], calibrating.signals(judge, scale)[word], groups)
            own = row["judges"][judge.name]["own"]
            linear = correlated[judge.name, word]["pearson"]
            rows.append(
                {
                    "word": word,
                    "judge": judge.name,
                    "people, %": _share(row["people"]["value"]),
                    "judge's own, %": "" if own is None else _share(own),
                    "r with people": "" if linear is None else _three(linear["r"]),
                    "held in subsamples, %": _share(held[0]),
                    "held for new metaphors, %": _share(held[1]),
                    "length beside people alone": f"{held[2] / alone[2]:.2f}",
                }
            )
    return rows


def _coverage(target_N: Any, judge_N: Any, groups: Any) -> tuple[float, float, float]:
    """How often the interval from SIZE ratings holds people's share of all, over DRAWS draws.

    Returns:
        The share of random subsamples of these answers; the share of samples of as many metaphors, drawn with
        replacement, with SIZE random ratings; and the mean length of the intervals of the subsamples.
    """
    truth, rng = float(target_N.mean()), np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    inside, outside, lengths = 0, 0, []
    for _ in range(DRAWS):
        some_N = np.full(len(target_N), np.nan)
        chosen = rng.choice(len(target_N), SIZE, replace=False)
        some_N[chosen] = target_N[chosen]
        found = corrected(some_N, judge_N, groups)
        assert found is not None
        inside += found.low <= truth <= found.high
        lengths.append(found.high - found.low)
        drawn = [members[place] for place in rng.integers(0, len(members), len(members))]
        place_M = np.concatenate(drawn)
        new: Any = np.repeat(np.arange(len(drawn)), [len(one) for one in drawn])
        rated_M = np.isin(np.arange(len(place_M)), rng.choice(len(place_M), SIZE, replace=False))
        found = corrected(np.where(rated_M, target_N[place_M], np.nan), judge_N[place_M], new)
        assert found is not None
        outside += found.low <= truth <= found.high
    return inside / DRAWS, outside / DRAWS, float(np.mean(lengths))


def _share(value: float) -> str:
    return f"{100 * value:.1f}"


def _three(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _write(name: str, rows: Sequence[Mapping[str, str]], how: Mapping[str, str]) -> None:
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *HOW], lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows({**row, **how} for row in rows)


if __name__ == "__main__":
    kind, folder, *files = sys.argv[1:]
    if kind not in ("codes", "results"):
        raise SystemExit(f"{shlex.join(sys.argv)}: give codes or results")
    {"codes": codes, "results": results}[kind](Path(folder), [Path(file) for file in files])

"""Comparison: hand-worked differences, tests against statsmodels and torchmetrics, pooled seeds, refusals."""

import json
import sys
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.stats import bootstrap, t
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from torchmetrics.functional import cohen_kappa

from figlang.commands.compare import main
from figlang.errors import FiglangError
from figlang.runs import systems
from figlang.runs.predictions import read_predictions, write_predictions
from figlang.statistics import comparison
from figlang.statistics.clustered import DIFFERENCE, Ratios
from figlang.statistics.comparison import (
    agreement,
    compare,
    compare_pooled,
    every_pair,
    gain,
    gain_pooled,
    holm,
    mean_accuracy,
    mean_pair_accuracy,
)
from figlang.statistics.metrics import accuracy, measure
from figlang.types import Prediction


def system(right: str) -> list[Prediction]:
    """One prediction per letter, r(ight), w(rong) or t(ie), two to a pair."""
    scores = {"r": (1.0, 0.0), "w": (0.0, 1.0), "t": (0.5, 0.5)}
    return [Prediction(str(place), str(place // 2), 0, scores[letter]) for place, letter in enumerate(right)]


def test_differences_by_hand() -> None:
    # items: ours alone right at 1, 3, 4, 5; theirs alone at 7; pairs: ours has 1 and 3 (of 4), theirs has 4
    items, pairs = compare(system("rrrr" + "rr" + "rw"), system("rwrw" + "ww" + "rr"))
    assert (items.won, items.lost, items.n) == (4, 1, 8)
    assert items.value == 3 / 8
    assert items.clusters == 4
    assert pairs is not None
    assert (pairs.won, pairs.lost, pairs.n, pairs.value) == (3, 1, 4, 2 / 4)
    assert items.low <= items.value <= items.high


@pytest.mark.parametrize(
    ("ours", "theirs"), [("rrrwrwrrwwrr", "rwwwrrwrwwwr"), ("rrrr", "wwrr"), ("rwrw", "wrwr")]
)
def test_the_test_of_independent_items_is_mcnemars_of_statsmodels(ours: str, theirs: str) -> None:
    alone = [[replace(row, group=row.id) for row in system(right)] for right in (ours, theirs)]
    both = [(a == "r", b == "r") for a, b in zip(ours, theirs, strict=True)]
    table = [[both.count((a, b)) for b in (True, False)] for a in (True, False)]
    chi2 = mcnemar(table, exact=False, correction=False).statistic
    # Student's t in place of the normal distribution, and n - 1 in place of n.
    n = len(both)
    assert compare(*alone)[0].p == pytest.approx(2 * t.sf(np.sqrt(chi2 * (n - 1) / n), n - 1))


def test_clusters_of_several_sizes_keep_them() -> None:
    ours, theirs = "rrrwrwrrwwrr", "rwwwrrwrwwwr"
    groups = "abbcccdeefff"
    rows = [
        [replace(row, group=group) for row, group in zip(system(right), groups, strict=True)]
        for right in (ours, theirs)
    ]
    moved = [(a == "r") - (b == "r") for a, b in zip(ours, theirs, strict=True)]
    hits = [sum(move for move, its in zip(moved, groups, strict=True) if its == group) for group in "abcdef"]
    ratio = Ratios.of(hits, [1, 2, 3, 1, 2, 3], DIFFERENCE)
    found = compare(*rows)[0]
    assert found.value == pytest.approx(sum(moved) / 12)
    (low,), (high,) = ratio.intervals()
    assert (found.low, found.high, found.p) == pytest.approx((low, high, ratio.p(0.0)[0]))


def test_a_system_differs_from_itself_by_nothing() -> None:
    items, pairs = compare(system("rwrr"), system("rwrr"))
    assert (items.value, items.p) == (0, 1)
    # Nor does so little show that they never differ.
    assert -1 <= items.low < 0 < items.high <= 1
    assert pairs is not None
    assert pairs.p == 1


def test_the_other_way_round_is_the_negative() -> None:
    ours, theirs = system("rrwrwwrr"), system("rwwwrwwr")
    there, back = compare(ours, theirs)[0], compare(theirs, ours)[0]
    assert there.value == -back.value
    assert (there.won, there.lost, there.p) == (back.lost, back.won, back.p)


def test_items_without_pairs_have_no_pair_difference() -> None:
    rows = [Prediction(str(place), str(place), 0, (1.0, 0.0)) for place in range(3)]
    assert compare(rows, rows)[1] is None


def test_groups_that_are_no_pairs_have_no_pair_difference() -> None:
    ours, theirs = ([replace(row, paired=False) for row in system(right)] for right in ("rrwr", "rwwr"))
    items, pairs = compare(ours, theirs)
    assert items.value == 1 / 4
    assert pairs is None
    assert mean_pair_accuracy([ours, theirs]) is None


def test_other_items_are_refused() -> None:
    with pytest.raises(FiglangError, match="not evaluated on the same items"):
        compare(system("rrrr"), system("rr"))
    turned = [Prediction("0", "0", place, (1.0, 0.0)) for place in (0, 1)]
    with pytest.raises(FiglangError, match="the right option of 0 is number 1 in one system and number 0"):
        compare(turned[:1], turned[1:])
    moved = [[Prediction("0", group, 0, (1.0, 0.0))] for group in ("voz", "0")]
    with pytest.raises(FiglangError, match="the item 0 is in the cluster '0' in one system and in 'voz' in"):
        compare(*moved)
    hidden = [Prediction("0", "0", None, (1.0, 0.0))]
    with pytest.raises(FiglangError, match="every label is hidden"):
        compare(hidden, hidden)


def test_different_files_with_equal_ids_are_refused(tmp_path: Path) -> None:
    for name, sha256 in (("one", "1" * 64), ("two", "2" * 64)):
        (tmp_path / name).mkdir()
        write_predictions(tmp_path / name / "predictions.jsonl", system("rwrr"))
        said = {
            "signature": name,
            "metrics": measure(system("rwrr")),
            "model": name,
            "data_name": "own",
            "published_file": False,
            "seed": 0,
            "facts": {},
        }
        document = {**said, "split": "validation", "data": {"validation": {"sha256": sha256, "items": 4}}}
        (tmp_path / name / "metrics.json").write_text(json.dumps(document))
    read = systems.read([str(tmp_path / "one"), str(tmp_path / "two")])
    for together in (systems.check_data, systems.tasks):
        with pytest.raises(
            FiglangError, match=r"one and .*two were evaluated on different files \(11111111, 22222222\)"
        ):
            together(read)
    systems.check_data(read[:1])


# Seeds


def test_pooled_seeds_are_the_mean_over_them() -> None:
    ours, theirs = [system("rrrr"), system("rrww")], [system("rwrw")]
    items, pairs = compare_pooled(ours, theirs)
    # (4 + 2) / 2 − 2 = 1 item of four; (2 + 1) / 2 − 0 pairs of two
    assert items.value == pytest.approx(1 / 4)
    assert (items.won, items.lost) == (None, None)
    assert pairs is not None
    assert pairs.value == pytest.approx(1.5 / 2)
    assert mean_accuracy(ours) is not None
    assert mean_accuracy(ours).value == pytest.approx(3 / 4)  # type: ignore[union-attr]
    assert mean_pair_accuracy(ours).value == pytest.approx(1.5 / 2)  # type: ignore[union-attr]


def test_the_same_seed_twice_has_the_value_of_one() -> None:
    ours, theirs = system("rrwrwrrr"), system("rwwrwwrr")
    one, twice = compare(ours, theirs)[0], compare_pooled([ours, ours], [theirs, theirs])[0]
    assert (one.value, one.low, one.high) == (twice.value, twice.low, twice.high)


def test_the_mean_of_one_run_is_its_accuracy() -> None:
    assert mean_accuracy([system("rwrr")]) == accuracy(system("rwrr"))


def test_a_wider_spread_over_seeds_makes_a_wider_interval() -> None:
    theirs = [system("wr" * 30)]
    alike = compare_pooled([system("rrrw" * 15), system("rrwr" * 15)], theirs)[0]
    unlike = compare_pooled([system("rrrr" * 15), system("rrww" * 15)], theirs)[0]
    assert unlike.value == pytest.approx(alike.value)
    assert unlike.high - unlike.low > alike.high - alike.low


def drawn(seed: int, share: float, pairs: int = 150) -> list[Prediction]:
    right = np.random.default_rng(seed).random(2 * pairs) < share
    return system("".join("r" if each else "w" for each in right))


def per_pair(rows: list[Prediction]) -> npt.NDArray[np.float64]:
    return np.array([bool(row.correct) for row in rows], float).reshape(-1, 2).mean(1)


def test_the_interval_of_a_difference_is_that_of_scipys_paired_bootstrap() -> None:
    ours, theirs = drawn(1, 0.8), drawn(2, 0.6)
    found = compare(ours, theirs)[0]
    paired = (per_pair(ours), per_pair(theirs))
    rng = np.random.default_rng(3)
    one = bootstrap(
        paired, lambda a, b, axis: a.mean(axis) - b.mean(axis), paired=True, method="percentile", rng=rng
    )
    assert (found.low, found.high) == pytest.approx(tuple(one.confidence_interval), abs=0.006)


def test_the_interval_of_pooled_seeds_is_near_that_of_a_plain_bootstrap_of_pairs_and_seeds() -> None:
    ours, theirs = (
        [drawn(seed, 0.7 + seed / 400) for seed in range(12)],
        [drawn(seed + 20, 0.6) for seed in range(10)],
    )
    found = compare_pooled(ours, theirs)[0]
    rng = np.random.default_rng(4)
    ours_SG, theirs_TG = (np.array([per_pair(rows) for rows in runs]) for runs in (ours, theirs))
    differences = []
    for _ in range(4000):
        pairs = rng.integers(0, 150, 150)
        shares = [runs[:, pairs].mean() for runs in (ours_SG, theirs_TG)]
        differences.append(shares[0] - shares[1])
    # The spread of these seeds is that of their items, which the resampled pairs hold already. The
    # bootstrap takes what ten seeds say of it as known; t has some 30 degrees of freedom here, so the
    # interval is a little wider.
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(differences, (0.025, 0.975))), abs=0.012
    )


def test_the_two_runs_of_a_seed_move_a_gain_together() -> None:
    seen = [drawn(seed, share, 400) for seed, share in ((1, 0.8), (2, 0.7), (3, 0.6))]
    better, worse = [
        [drawn(seed + 10, share, 400) for seed, share in zip((1, 2, 3), shares, strict=True)]
        for shares in ((0.6, 0.5, 0.4), (0.4, 0.5, 0.6))
    ]
    along, against = gain_pooled(seen, better), gain_pooled(seen, worse)
    gains = [gain(ours, theirs).value for ours, theirs in zip(seen, worse, strict=True)]
    assert against.value == pytest.approx(np.mean(gains))
    # Gains of 40, 20 and 0 points are other gains than 20 points three times, at the same accuracies.
    error = np.std(gains, ddof=1) / np.sqrt(3)
    assert against.high - against.low > 2 * t.isf(0.025, 3) * error
    assert along.high - along.low < (against.high - against.low) / 2
    assert gain_pooled(seen[:1], worse[:1]) == compare(seen[0], worse[0])[0]


# Agreement and correction


def test_agreement_is_cohens_kappa() -> None:
    ours, theirs = system("rrwrwwrr"), system("rwwrwrrr")
    choices = [torch.tensor([row.choice for row in rows]) for rows in (ours, theirs)]
    found = agreement(ours, theirs)
    assert found.share == 6 / 8
    assert found.kappa == pytest.approx(float(cohen_kappa(*choices, task="binary")))
    three = [[0, 1, 2, 2, 1, 0, 2], [0, 2, 2, 1, 1, 0, 2]]
    ours, theirs = (
        [Prediction(str(n), str(n), 0, tuple(map(float, np.eye(3)[choice]))) for n, choice in enumerate(row)]
        for row in three
    )
    found, wanted = (
        agreement(ours, theirs),
        cohen_kappa(*map(torch.tensor, three), "multiclass", num_classes=3),
    )
    assert (found.share, found.kappa) == pytest.approx((5 / 7, float(wanted)))


def test_a_tie_agrees_with_nothing() -> None:
    assert agreement(system("tr"), system("tr")).share == 1 / 2


def test_one_constant_choice_has_no_kappa() -> None:
    assert agreement(system("rr"), system("rr")).kappa is None


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03], [0.5, 0.9, 0.7, 0.6], [0.02], [0.001, 0.001, 0.5]])
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_every_two_systems_are_compared_and_corrected() -> None:
    runs = [[system(right)] for right in ("rrrrrrrrrrrr", "rwrwrwrwrwrw", "wwwwwwwwwwww")]
    found = every_pair(runs)
    assert [(one.first, one.second) for one in found] == [(0, 1), (0, 2), (1, 2)]
    assert [one.items_holm for one in found] == pytest.approx(holm([one.items.p for one in found]))
    assert found[1].items.value == -1
    of_pairs = [one.pairs.p for one in found if one.pairs]
    assert len(of_pairs) == 3
    assert [one.pairs_holm for one in found] == pytest.approx(holm(of_pairs))


def test_what_seeds_add_is_taken_once_for_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(comparison, "astuple", lambda seeds: taken.append(seeds) or astuple(seeds))
    runs = [[drawn(number, 0.5, 5), drawn(number + 50, 0.5, 5)] for number in range(12)]
    assert len(every_pair(runs)) == 66
    assert len(taken) == 2 * len(runs)  # of items, and of pairs


# The command


def write(folder: Path, right: str) -> str:
    folder.mkdir()
    write_predictions(folder / "predictions.jsonl", system(right))
    return str(folder)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["compare.py", *words])
    main()


def test_the_command_prints_and_writes_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = write(tmp_path / "one, with a comma", "rrwr"), write(tmp_path / "two", "rwwr")
    run(monkeypatch, one, f"{two}/predictions.jsonl", f"output={tmp_path}/tables")
    assert "-25.0" in capsys.readouterr().out
    written = (tmp_path / "tables" / "comparison.csv").read_text().splitlines()
    assert len(written) == 2
    assert "-0.25" in written[1]


@pytest.mark.parametrize("scorings", [("clean", "clean"), ("clean", "answer")])
def test_language_models_that_were_scored_in_different_ways_are_said_to_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scorings: tuple[str, str],
) -> None:
    folders = [write(tmp_path / name, "rrwr") for name in ("one", "two")]
    for folder, scoring in zip(map(Path, folders), scorings, strict=True):
        facts = {"model": folder.name, "scoring": f"{scoring}(span=whole)", "norm": "mean"}
        content = {
            "signature": "",
            "metrics": measure(read_predictions(folder / "predictions.jsonl")),
            "model": folder.name,
            "data_name": "own",
            "split": "",
            "published_file": False,
        }
        (folder / "metrics.json").write_text(json.dumps(content | {"seed": 0, "facts": facts}))
        (folder / "log_probabilities.jsonl").touch()
    run(monkeypatch, *folders)
    said = "Scored in different ways: one by clean, mean; two by answer, mean." in capsys.readouterr().out
    assert said == (scorings[0] != scorings[1])


@pytest.mark.parametrize(
    ("words", "message"), [(["one"], "two runs or more"), (["one", "absent"], "no predictions file")]
)
def test_what_cannot_be_compared_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one", "rrwr")
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, *words)
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


def test_judgements_of_words_and_of_sentences_are_compared_by_triple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(form: str, letters: str) -> Path:
        rows = []
        for place, letter in enumerate(letters):
            scores = tuple(float(one == letter) for one in "ABCD")
            rows.append(Prediction(f"munch-triple-{place}-{form}", f"s{place}", 0, scores, {"form": (form,)}))
        write_predictions(tmp_path / f"{form}.jsonl", rows)
        return tmp_path / f"{form}.jsonl"

    word, sentence = judged("word", "AAAAAABC"), judged("sentence", "AADDAABC")
    monkeypatch.setattr(sys, "argv", ["compare.py", str(word), str(sentence)])
    main()
    assert "-25.0" in capsys.readouterr().out
    read = systems.read([str(word), str(sentence)])
    named = [{row.id for row in one.predictions} for one in systems.across_forms(read)]
    assert named[0] == named[1] == {f"munch-triple-{place}" for place in range(8)}
    # Systems of one form, and what has no form, keep their names.
    assert systems.across_forms(read[:1]) == read[:1]
    both = [replace(read[0], predictions=read[0].predictions + read[1].predictions), read[1]]
    assert systems.across_forms(both) == both

"""Judges beside people (figlang/rating/calibrating.py): laws."""

import json
from typing import Any

import numpy as np
import pytest

from figlang.rating import calibrating, calibration_tables, judges
from figlang.rating.judges import Judge
from figlang.tasks import registry
from figlang.tasks.scales import LIKENESS, Rated, Verdict
from figlang.types import Generation

nan = float("nan")
FIGQA, MIQA = registry.scales()["figqa"], registry.scales()["miqa"]
WORDS = list(FIGQA.codes)


def rated(codes: list[tuple[float, ...]], kind: str = "interpretation") -> list[Rated]:
    return [
        Rated("gpt", Generation(f"i{place}", f"g{place}", kind, 0, "He is a lion.", "brave", "brave"), row)
        for place, row in enumerate(codes)
    ]


def judge(words: list[str | None], name: str = "judge", scale: Any = FIGQA) -> Judge:
    verdicts = [
        Verdict(str(place), word, {each: float(each == word) for each in scale.codes} if word else {})
        for place, word in enumerate(words)
    ]
    return judges.of(name, verdicts, [one.id for one in verdicts], scale.codes, {})


def drawn(count: int, seed: int = 0) -> list[str]:
    return np.random.default_rng(seed).choice(WORDS, count, p=[0.5, 0.25, 0.15, 0.1]).tolist()


def sheet(words: list[str], rate: int) -> list[Rated]:
    """People who agree on these words; they have rated the first `rate` answers."""
    codes = [FIGQA.codes[word] if place < rate else nan for place, word in enumerate(words)]
    return rated([(code, code) for code in codes])


def test_a_perfect_judge_gives_the_share_of_all_answers() -> None:
    words = drawn(120)
    found = calibrating.content(sheet(words, 60), FIGQA, [judge([*words])])
    for row in found["shares"]:
        estimate = row["judges"]["judge"]["corrected"]
        assert estimate["value"] == pytest.approx(words.count(row["quantity"]) / 120)
        assert estimate["slope"] == pytest.approx(1)
        assert row["judges"]["judge"]["own"] == pytest.approx(words.count(row["quantity"]) / 120)
    between, with_people = found["agreement"]
    assert between["kappa"] == with_people["kappa"] == 1
    assert with_people["same"] == with_people["alpha_nominal"] == 1


def test_a_constant_judge_leaves_what_people_found() -> None:
    words = drawn(120)
    found = calibrating.content(sheet(words, 60), FIGQA, [judge(["correct"] * 120)])
    for row in found["shares"]:
        one = row["judges"]["judge"]
        assert one["corrected"] == row["people"]
        assert one["corrected"]["value"] == pytest.approx(words[:60].count(row["quantity"]) / 60)
        assert one["worth"] == pytest.approx(60)
        assert one["own"] == (row["quantity"] == "correct")
    assert found["agreement"][1]["kappa"] == 0


def test_the_order_of_raters_and_judges_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    codes = [tuple(rng.choice([1.0, 0, 2, nan], 3)) for _ in range(40)]
    first, second = judge([*drawn(40, 1)], "a"), judge([*drawn(40, 2)], "b")
    one = calibrating.content(rated(codes), FIGQA, [first, second])
    other = calibrating.content(rated([row[::-1] for row in codes]), FIGQA, [second, first])
    by_name = {row["rater"]: row for row in other["agreement"]}
    for row in one["agreement"]:
        for measure in ("n", "same", "kappa", "alpha_nominal"):
            assert by_name[row["rater"]][measure] == pytest.approx(row[measure])
    for row, same in zip(one["shares"], other["shares"], strict=True):
        assert row["people"] == same["people"]
        for name in ("a", "b", judges.PANEL):
            assert row["judges"][name]["corrected"] == pytest.approx(same["judges"][name]["corrected"])


def test_without_people_the_numbers_are_said_to_be_a_judges() -> None:
    found = calibrating.content(rated([()] * 10), FIGQA, [judge([*drawn(10)])])
    assert found["agreement"] == found["correlations"] == []
    assert all(row["people"] is None for row in found["shares"])
    assert all(row["judges"]["judge"]["corrected"] is None for row in found["shares"])
    (table,) = calibration_tables.tables(found)
    assert table.title == "Ratings by judges, not by people"
    assert calibration_tables.below(found)[0] == calibration_tables.ONLY_A_JUDGE
    assert "No person has rated" in calibration_tables.ONLY_A_JUDGE


def test_scores_are_means_with_an_icc() -> None:
    rng = np.random.default_rng(1)
    words = rng.choice(list(MIQA.codes), 60).tolist()
    codes = [MIQA.codes[word] for word in words]
    people = rated(
        [(code, code if place % 5 else 1.0) for place, code in enumerate(codes)], "literal-literal"
    )
    found = calibrating.content(people, MIQA, [judge([*words], scale=MIQA)])
    (row,) = found["shares"]
    assert row["quantity"] == "score"
    assert row["judges"]["judge"]["own"] == pytest.approx(np.mean(codes))
    assert row["people"]["value"] == pytest.approx(np.mean([one.codes for one in people]))
    assert 0.5 < found["agreement"][0]["icc"] < found["agreement"][1]["icc"] < 1


def test_unread_answers_are_counted_and_do_not_stop_anything() -> None:
    words: list[str | None] = [*drawn(30)]
    words[3] = words[7] = None
    found = calibrating.content(sheet(drawn(30), 20), FIGQA, [judge(words)])
    assert found["unread"] == {"judge": 2}
    assert found["shares"][0]["judges"]["judge"]["read"] == 28
    assert any("2 of 30" in line for line in calibration_tables.below(found))


def test_a_metric_is_no_rater_but_corrects_and_correlates() -> None:
    words = drawn(80)
    verdicts = [
        Verdict(str(place), None, {LIKENESS: float(word == "correct")}) for place, word in enumerate(words)
    ]
    metric = judges.of("chrF", verdicts, [one.id for one in verdicts], FIGQA.codes, {})
    found = calibrating.content(sheet(words, 40), FIGQA, [metric])
    assert [row["rater"] for row in found["agreement"]] == [calibrating.PEOPLE]
    one = found["shares"][0]["judges"]["chrF"]
    assert one["own"] is None
    assert one["corrected"]["value"] == pytest.approx(words.count("correct") / 80)
    assert found["correlations"][0]["pearson"]["r"] == pytest.approx(1)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_liking_for_a_word_can_be_removed() -> None:
    """Log-probabilities that differ by answer, plus a constant that differs by word and order."""
    rng = np.random.default_rng(6)
    own, liking = rng.normal(0, 1, (50, 1, 4)), rng.normal(0, 5, (1, 2, 4))

    def verdicts(logs: Any) -> list[Verdict]:
        return [
            Verdict(
                str(place),
                "correct",
                dict.fromkeys(WORDS, 0.25),
                [{judges.PROBABILITIES: dict(zip(WORDS, order, strict=True))} for order in row],
            )
            for place, row in enumerate(logs.tolist())
        ]

    plain = judges.without_prior(verdicts(np.repeat(own, 2, axis=1)))
    liked = judges.without_prior(verdicts(own + liking))
    assert [one.word for one in plain] == [one.word for one in liked]
    assert [one.values for one in plain] == [pytest.approx(one.values) for one in liked]
    assert [one.word for one in plain] == [WORDS[place] for place in (own - own.mean(0))[:, 0].argmax(1)]
    assert len({one.word for one in plain}) == 4


def test_systems_are_estimated_apart() -> None:
    words = drawn(80)
    people = [
        Rated("ada" if place % 2 else "gpt", one.generation, one.codes)
        for place, one in enumerate(sheet(words, 40))
    ]
    found = calibrating.content(people, FIGQA, [judge([*words])])
    by = {(row["system"], row["quantity"]): row for row in found["shares"]}
    for place, system in enumerate(("gpt", "ada")):
        value = by[system, "correct"]["judges"]["judge"]["corrected"]["value"]
        assert value == pytest.approx(words[place::2].count("correct") / 40)
    assert "ada: correct" in str(calibration_tables.tables(found)[1].texts)

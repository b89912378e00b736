"""Agreement (figlang/statistics/agreement.py): published worked examples, hand-worked numbers, laws."""

import tracemalloc

import numpy as np
import pytest

from figlang.statistics.agreement import ac1, alpha, intraclass, kappa, majority, plurality

# Six targets, four judges: Shrout & Fleiss 1979, Table 2; their Table 4 has ICC(2,1) = .29 and ICC(2,4) =
# .62.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units,
# values missing.
nan = np.nan
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
).T


def test_the_published_example() -> None:
    found = intraclass(SHROUT_FLEISS)
    assert found is not None
    assert (round(found.single, 2), round(found.average, 2)) == (0.29, 0.62)
    assert (found.items, found.raters, found.ratings) == (6, 4, 24)


def test_complete_tables_follow_the_formula() -> None:
    ratings = np.random.default_rng(0).normal(size=(20, 3)) + np.arange(20)[:, None] / 5 + np.arange(3)
    n, k = ratings.shape
    total = ratings.mean()
    rows = k * ((ratings.mean(1) - total) ** 2).sum() / (n - 1)
    columns = n * ((ratings.mean(0) - total) ** 2).sum() / (k - 1)
    error = (((ratings - total) ** 2).sum() - rows * (n - 1) - columns * (k - 1)) / ((n - 1) * (k - 1))
    found = intraclass(ratings)
    assert found is not None
    assert found.single == pytest.approx(
        (rows - error) / (rows + (k - 1) * error + k * (columns - error) / n)
    )
    assert found.average == pytest.approx((rows - error) / (rows + (columns - error) / n))


def test_incomplete_tables_estimate_the_same_reliability() -> None:
    # Known variances: items 1, raters 0.25, error 0.5, so that ICC(2,1) is 1 / 1.75 and ICC(2,8) is 1 / (1 +
    # 0.75 / 8).
    draw = np.random.default_rng(1)
    singles = []
    for _ in range(20):
        ratings = (
            draw.normal(size=(60, 1))
            + 0.5 * draw.normal(size=(1, 8))
            + np.sqrt(0.5) * draw.normal(size=(60, 8))
        )
        ratings[draw.random(ratings.shape) < 1 / 3] = nan
        found = intraclass(ratings)
        assert found is not None
        singles.append(found.single)
    assert np.mean(singles) == pytest.approx(1 / 1.75, abs=0.03)


def test_the_average_is_that_of_all_raters_also_where_ratings_are_missing() -> None:
    ratings = SHROUT_FLEISS.copy()
    ratings[0, 0] = ratings[3, 2] = nan
    found = intraclass(ratings)
    assert found is not None
    assert found.average == pytest.approx(4 * found.single / (1 + 3 * found.single))


def test_incomplete_tables_follow_henderson() -> None:
    """Sums of squares by least squares over dummy variables of every item and rater."""
    draw = np.random.default_rng(4)
    for shape in ((7, 3), (3, 7), (12, 4)):
        ratings = draw.integers(0, 4, shape).astype(float)
        ratings.flat[[0, 5, 11]] = nan
        item, rater = np.nonzero(~np.isnan(ratings))
        scores, of_item, of_rater = ratings[item, rater], np.eye(shape[0])[item], np.eye(shape[1])[rater]

        def left(design: np.ndarray, values: np.ndarray) -> float:
            return float(((values - design @ np.linalg.pinv(design) @ values) ** 2).sum())

        both = np.hstack([of_item, of_rater])
        error = left(both, scores) / (len(scores) - sum(shape) + 1)
        whole = left(both, scores)
        items = (left(of_rater, scores) - whole - error * (shape[0] - 1)) / left(of_rater, of_item)
        raters = (left(of_item, scores) - whole - error * (shape[1] - 1)) / left(of_item, of_rater)
        found = intraclass(ratings)
        assert found is not None
        assert found.single == pytest.approx(items / (items + raters + error))


def test_memory_and_time_grow_with_the_table_alone() -> None:
    """Ten thousand answers of five raters took gigabytes when items had a column each."""
    ratings = np.random.default_rng(5).integers(0, 4, (10_000, 5)).astype(float)
    ratings[::3, 0] = nan
    tracemalloc.start()
    try:
        assert intraclass(ratings) is not None
        assert tracemalloc.get_traced_memory()[1] < 20 * ratings.nbytes
    finally:
        tracemalloc.stop()


def test_unrated_items_and_idle_raters_change_nothing() -> None:
    padded = np.full((8, 5), nan)
    padded[1:7, :4] = SHROUT_FLEISS
    assert intraclass(padded) == intraclass(SHROUT_FLEISS)


def test_adding_a_constant_or_turning_the_scale_changes_nothing() -> None:
    one, other = intraclass(SHROUT_FLEISS), intraclass(100 - 3 * SHROUT_FLEISS)
    assert one is not None
    assert other is not None
    assert (one.single, one.average) == pytest.approx((other.single, other.average))


@pytest.mark.parametrize(
    "ratings",
    [
        pytest.param(np.ones((5, 3)), id="no variance"),
        pytest.param(np.array([[1.0, 0.0]]), id="one item"),
        pytest.param(np.array([[1.0], [0.0]]), id="one rater"),
        pytest.param(np.array([[1, nan], [0, nan], [nan, 1], [nan, 0]]), id="raters share no item"),
        pytest.param(np.full((3, 2), nan), id="empty"),
    ],
)
def test_what_is_undefined_is_none(ratings: np.ndarray) -> None:
    assert intraclass(ratings) is None


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("interval", 0.849)])
def test_alpha_of_the_published_example(level: str, value: float) -> None:
    assert alpha(KRIPPENDORFF, level) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize("codes", [1, 2, 5, 1000])
def test_alpha_is_that_of_the_reference(level: str, codes: int) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="the reference is not installed")
    draw = np.random.default_rng(codes)
    for missing in (0.0, 0.3, 0.7):
        ratings = draw.integers(0, 3, (40, 1)) + draw.integers(0, codes + 1, (40, 5)) / codes - 50
        ratings[draw.random(ratings.shape) < missing] = nan
        found = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level)
        assert alpha(ratings, level) == pytest.approx(found, rel=1e-9)


def test_alpha_by_hand() -> None:
    # Three items with two ratings; the fourth has one rating, which is left out. Observed: 1 of 3 pairs
    # differs. By chance: 0 is given 3 times of 6, 2 twice, 1 once, so 30 - 6 - 2 = 22 of 30 pairs differ.
    codes = np.array([[0, 0], [2, 2], [0, 1], [2, nan]])
    assert alpha(codes) == pytest.approx(1 - (1 / 3) / (22 / 30))
    # Squared differences: 1 / 3 observed; 3 * 1 * 1 + 3 * 2 * 4 + 2 * 1 * 1 = 29 of 15 pairs by chance.
    assert alpha(codes, "interval") == pytest.approx(1 - (1 / 3) / (29 / 15))


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_of_continuous_ratings_needs_no_matrix_of_values(level: str) -> None:
    # The package krippendorff makes an array of items x values x values: 256 GB for these ratings.
    draw = np.random.default_rng(0)
    ratings = draw.random((2000, 1)) + draw.normal(0, 0.1, (2000, 2))
    tracemalloc.start()
    found = alpha(ratings, level)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * ratings.nbytes
    # Without a value that two raters share, nothing agrees. Noise of sd .1 over a uniform number of 0 to 1
    # leaves 1 - .01 / (1/12 + .01) of the variance.
    assert found == pytest.approx(0.0 if level == "nominal" else 1 - 0.01 / (1 / 12 + 0.01), abs=0.01)


@pytest.mark.parametrize("codes", [np.ones((4, 3)), np.array([[1, nan], [nan, 0]])])
def test_alpha_without_variety_is_none(codes: np.ndarray) -> None:
    assert alpha(codes) is None


def test_ac1_by_hand() -> None:
    # 125 items: both raters say 1 of 118, one of them of 7. Agreement 118/125; code 1 has (123 + 120) / 250
    # of the ratings.
    codes = np.array([[1, 1]] * 118 + [[1, 2]] * 5 + [[2, 1]] * 2, dtype=float)
    share = 243 / 250
    chance = 2 * share * (1 - share)
    assert ac1(codes, 2) == pytest.approx((118 / 125 - chance) / (1 - chance))
    assert ac1(codes, 2) == pytest.approx(0.9408, abs=5e-5)
    # A third code that nobody gave makes agreement by chance rarer.
    assert ac1(codes, 3) == pytest.approx((118 / 125 - chance / 2) / (1 - chance / 2))


def test_ac1_of_the_published_example_with_missing_ratings() -> None:
    # The same ratings are the example of Gwet's own package irrCAC, which has 0.77544 (agreement 0.81818,
    # chance 0.19032).
    assert ac1(KRIPPENDORFF, 5) == pytest.approx(0.77544, abs=5e-6)


@pytest.mark.parametrize("codes", [np.full((3, 2), nan), np.array([[1, nan], [nan, 0]]), np.zeros((0, 2))])
def test_ac1_without_an_item_that_two_rated_is_none(codes: np.ndarray) -> None:
    assert ac1(codes, 2) is None
    assert ac1(np.ones((4, 2)), 1) is None


def test_ac1_does_not_depend_on_order_or_names() -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(1, 4, (30, 4)).astype(float)
    codes[draw.random((30, 4)) < 0.2] = nan
    assert ac1(codes[::-1, ::-1], 3) == pytest.approx(ac1(codes, 3))
    assert ac1(7 - 2 * codes, 3) == pytest.approx(ac1(codes, 3))
    assert ac1(np.ones((5, 3)), 2) == 1


def test_no_code_is_the_most_frequent_of_a_tie() -> None:
    assert plurality([1, 2, 2]) == 2
    assert np.isnan(plurality([1, 2]))
    assert np.isnan(plurality([nan]))


def test_a_tie_goes_to_the_smallest_code() -> None:
    assert majority([1, 0, 2]) == 0
    assert majority([1, 1, 2]) == 1
    assert majority([nan, 2, 1, 2]) == 2
    assert majority([-1, 1]) == -1


def test_kappa_by_hand() -> None:
    """50 items: both yes 20, both no 15, one alone 5 and 10. Agreement .7, by chance .3 + .2."""
    one = np.array([1.0] * 25 + [0.0] * 25)
    other = np.array([1.0] * 20 + [0.0] * 5 + [1.0] * 10 + [0.0] * 15)
    assert kappa(one, other) == pytest.approx(0.4)
    assert kappa(other, one) == pytest.approx(0.4)


def test_kappa_is_of_the_items_that_both_rated() -> None:
    one, other = np.array([1, 0, nan, 2, 1.0]), np.array([1, 1, 2, nan, 0.0])
    assert kappa(one, other) == pytest.approx(kappa(one[[0, 1, 4]], other[[0, 1, 4]]))
    assert kappa(one, one) == 1
    assert kappa(np.ones(4), np.ones(4)) is None
    assert kappa(np.array([nan, 1.0]), np.array([1.0, nan])) is None
    assert kappa(np.array([1, 1, 0.0]), np.ones(3)) == 0

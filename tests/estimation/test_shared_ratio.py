"""When a ratio needs no draws, and how many settle the others."""

import numpy as np
from scipy import stats

from raterlens.estimation.shared_ratio import REPLICATES, judged, settled


def never(number: int) -> float:
    raise AssertionError(number)


def test_ratios_that_need_no_drawing() -> None:
    point = stats.chi2.ppf(0.95, 10)
    for ratio, found in ((point - 0.1, False), (4 * point + 0.1, True)):
        test = judged(ratio, 10, never)
        assert (test.found, test.p, test.replicates) == (found, None, 0)
    assert settled(3.0).found


def test_the_second_ratio_beyond_settles_it() -> None:
    test = judged(30.0, 10, lambda number: [10.0, 31.0, 12.0, 33.0][number])
    assert (test.found, test.replicates, test.p) == (False, 4, 3 / 5)


def test_a_ratio_far_beyond_the_first_draws_needs_no_more() -> None:
    random = np.random.default_rng(1)
    test = judged(60.0, 10, lambda number: random.normal(12.0, 3.0))
    assert test.found
    assert test.replicates == 12
    assert test.p is not None
    assert test.p < 1e-3


def test_one_of_39_beyond_is_5_percent() -> None:
    random = np.random.default_rng(1)
    test = judged(24.0, 10, lambda number: 25.0 if number == 5 else float(random.normal(12.0, 4.0)))
    assert (test.found, test.replicates, test.p) == (True, REPLICATES, 0.05)
    assert test.table()["ratio"].to_list() == [24.0]

"""Where an estimation begins, what it says of a slope at its least, and when a second ability is shared: which ratios
need no draws, and how many settle the others.
"""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import (
    REPLICATES,
    information_scale,
    judged,
    settled,
    starting_values,
    starting_widths,
)
from raterlens.models.responses import Adjacent
from tests.support.facets_models import by_hand, make


@pytest.mark.parametrize(("kind", "link"), [("gmf", "logit"), ("tfm", "logit"), ("probit", "probit")])
def test_severities_start_in_the_order_of_the_pass_rates(small, kind, link):
    model, _ = make(small, kind)
    start = starting_values(small, model, get_link(link))
    rates = small.tally("rater").total / small.tally("rater").n
    np.testing.assert_array_equal(np.argsort(start[model.blocks["severity"]]), np.argsort(-rates))
    slope = model.slope(start[model.blocks["slope"]])
    np.testing.assert_allclose(slope, slope[0])


def test_scales_grow_with_the_ratings_of_a_parameter(small):
    model, _ = make(small, "gmf")
    scale = information_scale(model, starting_values(small, model, get_link("logit")))
    given = small.tally("rater").n
    np.testing.assert_allclose(scale[model.blocks["severity"]] / given, scale[0] / given[0])
    assert (scale > 0).all()


def test_a_fit_may_begin_and_be_anchored_where_nobody_tells_students_apart():
    """Nothing is known there of the students' mean and spread; the optimiser divided by it."""
    rows = {"student": [0, 0, 1, 1, 2, 2], "rater": ["a", "b"] * 3, "score": [0, 1] * 3}
    earlier = rl.fit(pl.DataFrame(rows), model="gmf")
    assert earlier.sigma == 0
    fit = rl.fit(pl.DataFrame(rows), model="gmf", anchors=earlier, start=earlier)
    assert fit.converged
    assert fit.loglik == pytest.approx(
        rl.fit(pl.DataFrame(rows), model="gmf", anchors=earlier).loglik, abs=1e-6
    )


def test_students_with_more_ratings_start_with_narrower_posteriors(small):
    widths, n = starting_widths(small, Adjacent(2)), small.tally("student").n
    assert (widths < 1).all()
    assert np.all(np.diff(widths[np.argsort(n, kind="stable")]) <= 0)


def test_a_common_slope_at_its_least_is_said():
    rows = [(s, f"r{r}", f"i{i}", (s + r + i) % 2) for s in range(20) for r in range(3) for i in range(2)]
    fit = rl.fit(by_hand(rows), model="tfm")
    assert any("hold no information about ability" in warning for warning in fit.warnings)


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

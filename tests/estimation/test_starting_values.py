import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.estimation.starting_values import information_scale, starting_values, starting_widths
from raterlens.models.responses import Adjacent
from tests.support.facets_models import make


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

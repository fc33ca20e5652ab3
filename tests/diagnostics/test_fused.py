"""Compiled code and its readable twin give the same numbers."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics import averages, fused, posterior, residuals
from raterlens.diagnostics.residuals import Residuals

# The order of sums differs, nothing else.
SAME = 1e-11


@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"model": "tfm", "thresholds": (-1.0, 0.5)}])
def test_a_pass_is_the_same_compiled(options, monkeypatch):
    thresholds = options.pop("thresholds", None)
    ratings = rl.simulate(
        students=300, raters=6, items=3, raters_per_student=3, thresholds=thresholds, seed=3
    ).ratings
    mixed = np.random.default_rng(1).permutation(ratings.n_ratings)
    parts = {name: getattr(ratings, name)[mixed] for name in ("student", "rater", "item", "score")}
    ratings = rl.Ratings(**parts, students=ratings.students, raters=ratings.raters, items=ratings.items)
    fit = rl.fit(ratings, standard_errors=False, **options)
    plain = residuals.residuals(fit, ratings)
    monkeypatch.setattr(residuals, "sweep_for", lambda n: fused.sweep)
    monkeypatch.setattr(
        residuals, "averages_for", lambda n: averages.Averages(fused.averaged, fused.agreeing)
    )
    # Several blocks, the last one smaller.
    monkeypatch.setattr(posterior, "_BLOCK", 2**14)
    quick = residuals.residuals(fit, ratings)
    for name in Residuals.__slots__:
        one, two = getattr(plain, name), getattr(quick, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(two, one, rtol=SAME, atol=SAME, err_msg=name)
    np.testing.assert_allclose(quick.couples.expected, plain.couples.expected, rtol=SAME)
    np.testing.assert_allclose(quick.ability.sd, plain.ability.sd, rtol=SAME)

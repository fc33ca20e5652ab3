"""Warnings of a latent class fit."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.estimation.latent_estimate import estimate_latent_class
from raterlens.inference.latent_class import LatentClassErrors, latent_class_warnings
from tests.support.latent_class import fitted, problem_on


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    return rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings


def test_single_ratings_are_counted_and_said_plainly():
    sample = rl.simulate(model="hrm", students=80, raters=4, items=2, raters_per_student=1, seed=1)
    fit = fitted(sample.ratings, starts=2)
    (said,) = (
        w for w in fit.warnings if w.startswith("160 of 160 student-items (100%) have a single rating")
    )
    assert "rated by two or more" in said
    assert np.nanmin(fit.kappa_high) > 0.3  # next to nothing is known, and the intervals say so
    with pytest.raises(InputError, match="single rating"):
        fitted(sample.ratings, rasch=False)


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        ([-100.0, -100.05, -100.09], None),
        (
            [-100.0, -100.05, -103.2, -104.6],
            "of 4 starts, 2 reached the best, and the others fell short by up to 4.6",
        ),
        ([-100.0, -100.3], "no second start found it"),
    ],
)
def test_several_maxima_are_said_plainly(panel, reached, said):
    found = estimate_latent_class(panel, problem_on(panel, rasch=False).model, starts=1)
    found = replace(found, reached=np.array(reached))
    errors = LatentClassErrors.of(found, None)
    warnings = [w for w in latent_class_warnings(panel, found, errors) if "several maxima" in w]
    assert (len(warnings) == 0) if said is None else (said in warnings[0])


def test_an_easy_item_is_not_taken_for_one_on_which_all_are_alike():
    """Categories that follow ability strictly: sigma is large, and so is the difficulty of an item that 88 % master."""
    rng = np.random.default_rng(2)
    ability = rng.normal(size=150)
    rows = [
        (s, f"r{r}", f"i{i}", int((theta > cut) != (rng.random() < 0.1)))
        for s, theta in enumerate(ability)
        for i, cut in enumerate((-1.2, -0.3, 0.4, 1.0))
        for r in range(3)
    ]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    fit = rl.fit(table, model="hrm")
    assert not [warning for warning in fit.warnings if "same true category" in warning]
    assert fit.items["delta_se"].is_finite().all()
    share = (ability[:, None] > np.array([-1.2, -0.3, 0.4, 1.0])).mean(axis=0)
    np.testing.assert_allclose(fit.items["prevalence"].to_numpy(), share, atol=0.08)

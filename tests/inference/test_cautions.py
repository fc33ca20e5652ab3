"""Warnings of a fit."""

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import special

import raterlens as rl
from raterlens.base.text import worded
from tests.support.facets_models import ordered
from tests.support.shared_panels import panel

# ----------------------------------------------------------------------------------------------------
# Warnings of a facets fit.


def test_a_fit_that_is_stopped_early_says_so(small):
    fit = rl.fit(small, model="gmf", max_iterations=1)
    assert not fit.converged
    assert any("not converged" in warning and "Try" in warning for warning in fit.warnings)


def test_item_slopes_are_the_first_to_go_where_a_fit_does_not_converge(small):
    """The other models get by with few ratings."""
    plain, sloped = (
        rl.fit(small, model="gmf", max_iterations=1, item_slopes=given).warnings for given in (False, True)
    )
    assert any("Try, in this order: model='tfm';" in warning for warning in plain)
    assert any("Try, in this order: item_slopes=False" in warning for warning in sloped)


def said(warnings: tuple[str, ...], part: str) -> str:
    return next(
        worded(one, lambda option: f"--{option.name} {option.value}") for one in warnings if part in one
    )


def test_options_in_warnings_are_worded_by_each_surface(small):
    fit = rl.fit(small, model="gmf", max_iterations=3, standard_errors=False)
    assert "--model tfm" in said(fit.warnings, "not converged")
    assert "--max_iterations 30" in said(fit.warnings, "not converged")


def test_scores_that_nobody_gave_are_said_with_what_to_do(small):
    gap = replace(small, score=(2 * small.score).astype(small.score.dtype))
    warnings = rl.fit(
        replace(gap, score=np.where(small.item == 0, 3, gap.score)), model="gmf", standard_errors=False
    ).warnings
    assert "nobody ever gave a score of 1" in said(warnings, "nobody ever gave")
    assert "--cut 3" in said(warnings, "nobody ever gave")


def test_items_without_a_score_of_their_own_are_named(small):
    scores = ordered(small)
    scores = replace(scores, score=np.where((small.item == 0) & (scores.score == 2), 1, scores.score))
    warnings = rl.fit(scores, model="gmf", scale="partial credit", standard_errors=False).warnings
    assert "item 'I1' a score of 2" in said(warnings, "Half a rating")
    assert "--scale rating scale" in said(warnings, "Half a rating")


def test_groups_without_a_common_item_are_named():
    frame = pl.DataFrame(
        {
            "student": list("aabbccdd") * 2,
            "rater": list("xxxxyyyy") * 2,
            "item": list("ijijklkl") * 2,
            "score": [0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1],
        }
    )
    warning = said(rl.fit(frame, model="gmf", standard_errors=False).warnings, "share no item")
    assert "2 groups" in warning
    assert "(one group: 'x')" in warning


# ----------------------------------------------------------------------------------------------------
# Who misleads the panel: those far out on what its raters share.


def test_the_difference_that_what_is_shared_makes() -> None:
    made = panel(students=150, raters=6, known=60, seed=6)
    fit = rl.fit(made.ratings, model="gmf", shared=True, standard_errors=False)
    effects, students = fit.calibration.effects, fit.students
    theta, zeta = students["theta"].to_numpy(), students["shared"].to_numpy()
    at = np.outer(theta, effects["slope"]) - effects["severity"] - effects["difficulty"]
    expected = special.expit(at + np.outer(zeta, effects["bias"])) - special.expit(at)
    np.testing.assert_allclose(students["misled"], expected.mean(axis=1), atol=1e-10)
    assert fit.raters["bias_se"].is_nan().all()

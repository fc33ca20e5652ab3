"""What a latent class fit warns of."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from raterlens.errors import InputError
from raterlens.estimation.latent_estimate import estimate_latent_class
from raterlens.result.latent_class_warnings import latent_class_warnings
from raterlens.uncertainty.latent_class_covariance import LatentClassErrors
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

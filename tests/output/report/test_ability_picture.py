"""The picture of the students' distribution."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import raterlens as rl
from raterlens.models.terms.shape import SHAPE
from raterlens.output.report.ability_picture import abilities, density


@pytest.fixture(scope="module")
def fit(small):
    return rl.fit(small, standard_errors=False)


def test_a_normal_fit_has_no_picture_and_a_normal_density(fit):
    theta = np.linspace(-3, 3, 7)
    assert abilities(fit, (960, 360)) is None
    np.testing.assert_allclose(density(fit, theta), stats.norm.pdf(theta))


def test_a_skewed_one_is_drawn_beside_it(fit):
    known = fit.calibration
    skewed = replace(
        fit, calibration=replace(known, effects={**known.effects, SHAPE: np.array([0.25, -0.02])})
    )
    drawn = abilities(skewed, (960, 360))
    assert drawn is not None
    wide, narrow = drawn
    assert "Ability" in wide
    assert "<path" in narrow
    assert density(skewed, np.array([3.0]))[0] > 2 * stats.norm.pdf(3.0)
    assert density(skewed, np.linspace(-8, 8, 1601)).sum() * 0.01 == pytest.approx(1, abs=1e-6)

"""The latent class models' tables against SciPy's distributions and their symmetries."""

import numpy as np
import pytest
from scipy import stats

from raterlens.capability.links import get_link
from raterlens.likelihood.nodes import Nodes
from raterlens.models.signal_detection import LARGEST_SLOPE, LatentClassModel

DISTRIBUTION = {"logit": stats.logistic, "probit": stats.norm}
# Two ways to the same double.
ROUNDING = 1e-12


def model(link="logit", rasch=True):
    return LatentClassModel(n_raters=3, n_items=2, link=get_link(link), rasch=rasch)


def parameters(rasch=True):
    bias, slope, difficulty = [0.3, -0.8, 1.1], [2.0, 0.0, 4.0], [-0.5, 1.2]
    return np.array([*bias, *slope, *difficulty, *([1.7] if rasch else [])])


@pytest.mark.parametrize("link", list(LARGEST_SLOPE))
def test_level_1_in_decarlo_s_convention(link):
    x = parameters()
    criterion, slope = x[:3] + x[3:6] / 2, x[3:6]
    responses = model(link).responses(x)
    for category in (0, 1):
        fail = DISTRIBUTION[link].cdf(criterion - slope * category)
        np.testing.assert_allclose(np.exp(responses.log_prob[:, 0, category]), fail, rtol=ROUNDING)
        np.testing.assert_allclose(np.exp(responses.log_prob[:, 1, category]), 1 - fail, rtol=1e-10)


def test_level_2_is_a_rasch_model_and_without_ability_a_prevalence():
    t = np.array([-2.0, 0.0, 1.5])
    with_ability = model().prevalence(parameters(), t)
    expected = stats.logistic.cdf(1.7 * t - np.array([[-0.5], [1.2]]))
    np.testing.assert_allclose(with_ability[1], expected, rtol=ROUNDING)
    np.testing.assert_allclose(with_ability.sum(axis=0), 1.0, rtol=ROUNDING)
    without = model(rasch=False).prevalence(parameters(rasch=False), t)
    np.testing.assert_allclose(without[1], stats.logistic.cdf([[0.5] * 3, [-1.2] * 3]), rtol=ROUNDING)


@pytest.mark.parametrize("link", list(LARGEST_SLOPE))
def test_pass_rates_and_back(link):
    x, m = parameters(), model(link)
    bias, slope = m.from_rates(np.exp(m.responses(x).log_prob[:, 1]))
    np.testing.assert_allclose(bias, x[:3], atol=1e-10)
    np.testing.assert_allclose(slope, x[3:6], atol=1e-10)


def test_bounds_leave_one_of_the_four_mirror_images():
    """Exchanging the categories needs negative slopes, mirroring ability a negative sigma."""
    m, x = model(), parameters()
    mirrored = x.copy()
    mirrored[3:8] *= -1
    mine, theirs = m.responses(x), m.responses(mirrored)
    np.testing.assert_allclose(mine.log_prob, theirs.log_prob[:, :, ::-1], rtol=ROUNDING)
    t = Nodes.equally_spaced(-2, 2, 0.5).points
    np.testing.assert_allclose(m.prevalence(x, t), m.prevalence(mirrored, -t)[::-1], rtol=ROUNDING)
    lower, upper = m.bounds()
    assert ((lower <= x) & (x <= upper)).all()
    assert not ((lower <= mirrored) & (mirrored <= upper)).all()
    assert lower[m.blocks["sigma"]] == 0

"""With the shape of the students' distribution among the parameters: gradient and information against differences."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.inference.covariance import in_full
from raterlens.likelihood.nodes import Nodes
from raterlens.models.terms.shape import SHAPE

NODES = Nodes.equally_spaced(-8.0, 8.0, 0.2)
KINDS = [
    {"link": "logit"},
    {"link": "probit"},
    {"link": "logit", "halo": "common"},
    {"link": "logit", "item_slopes": True},
]


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(students=60, raters=4, items=2, halo=0.5, seed=4).ratings


@pytest.mark.parametrize("options", KINDS)
def test_gradient_and_information(drawn, options):
    fit = rl.fit(drawn, ability="normal", standard_errors=False, **{"halo": "none", **options})
    known = fit.calibration
    effects = {**known.effects, SHAPE: np.array([0.15, -0.02])}
    placed = place(_with(known, effects), drawn)
    problem, x = placed.problem, placed.parameters
    found = in_full(problem.information(x, NODES))
    value = problem.value(x, NODES)
    scale = np.sqrt(np.abs(np.diag(found)))
    for j, step in enumerate(np.eye(len(x)) * 1e-5):
        ahead, back = (problem.value(x + sign * step, NODES) for sign in (1, -1))
        assert value.gradient[j] == pytest.approx(
            (ahead.objective - back.objective) / 2e-5, abs=2e-5 * scale[j]
        )
        bend = (back.gradient - ahead.gradient) / 2e-5
        np.testing.assert_allclose(found[j] / (scale * scale[j]), bend / (scale * scale[j]), atol=1e-5)


def test_a_normal_shape_has_the_likelihood_of_no_shape(drawn):
    fit = rl.fit(drawn, ability="normal", halo="none", standard_errors=False)
    placed = place(_with(fit.calibration, {**fit.calibration.effects, SHAPE: np.zeros(2)}), drawn)
    assert placed.loglik() == pytest.approx(fit.loglik, abs=1e-5)


def _with(calibration, effects):
    from dataclasses import replace

    return replace(calibration, effects=effects, covariance=None)

"""Particulars of a shape of the students' distribution."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.estimation.scoring import place
from raterlens.likelihood.nodes import Nodes
from raterlens.models.terms.shape import SHAPE

NODES = Nodes.equally_spaced(-8.0, 8.0, 0.2)


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(students=60, raters=4, items=2, halo=0.5, seed=4).ratings


def test_a_normal_shape_has_the_likelihood_of_no_shape(drawn):
    fit = rl.fit(drawn, model="gmf", ability="normal", halo="none", standard_errors=False)
    placed = place(_with(fit.calibration, {**fit.calibration.effects, SHAPE: np.zeros(2)}), drawn)
    assert placed.loglik() == pytest.approx(fit.loglik, abs=1e-5)


def _with(calibration, effects):
    from dataclasses import replace

    return replace(calibration, effects=effects, covariance=None)

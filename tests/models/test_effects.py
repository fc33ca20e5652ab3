from typing import Any

import numpy as np
import pytest

from raterlens.models.effects import Linear, LogLinear

COVARIATES = np.column_stack([np.ones(6), np.linspace(-1, 2, 6)])
EFFECTS: dict[str, Any] = {
    "own": Linear.own(6),
    "common": Linear.common(6),
    "explained": Linear.explained(COVARIATES),
    "log": LogLinear(COVARIATES),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_derivatives_agree_with_differences(name):
    effect, step = EFFECTS[name], 1e-6
    x = np.random.default_rng(0).normal(size=effect.size)
    units = step * np.eye(effect.size)
    slope = np.column_stack([(effect(x + h) - effect(x - h)) / (2 * step) for h in units])
    np.testing.assert_allclose(effect.jacobian(x).toarray(), slope, atol=1e-8)
    weight = np.arange(6.0)
    bend = [(effect.jacobian(x + h) - effect.jacobian(x - h)).T @ weight / (2 * step) for h in units]
    second = effect.second(x, weight)
    expected = np.column_stack(bend)
    np.testing.assert_allclose(0 * expected if second is None else second.toarray(), expected, atol=1e-6)


@pytest.mark.parametrize("name", EFFECTS)
def test_inverting_gives_the_parameters_back(name):
    effect = EFFECTS[name]
    x = np.random.default_rng(1).normal(size=effect.size)
    np.testing.assert_allclose(effect.invert(effect(x)), x, atol=1e-10)


@pytest.mark.parametrize("name", EFFECTS)
def test_scaling_moves_all_effects_alike(name):
    effect, step = EFFECTS[name], 1e-6
    x = np.abs(np.random.default_rng(2).normal(size=effect.size)) + 0.1
    change = (effect(x + step * effect.scaling(x)) - effect(x)) / step
    np.testing.assert_allclose(change / effect(x), 1, rtol=1e-4)

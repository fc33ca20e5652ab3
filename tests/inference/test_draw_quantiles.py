import numpy as np
import pytest

from raterlens.inference.draw_quantiles import outer_quantiles


@pytest.mark.parametrize("numbers", [0, np.inf])
@pytest.mark.parametrize("tail", [0.0, 0.025, 0.05, 0.3])
def test_they_are_numpys_quantiles_with_and_without_compiled_code(numbers, tail, monkeypatch):
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", numbers)
    draws = np.random.default_rng(5).normal(size=(4, 1000))
    expected = np.quantile(draws, [tail, 1 - tail], axis=1)
    np.testing.assert_allclose(outer_quantiles(draws, tail), expected, rtol=1e-14, atol=1e-14)

"""Which engine for which data."""

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.engine.compiled_engine import CompiledEngine
from raterlens.engine.numpy_engine import NumpyEngine
from raterlens.engine.selection import engine_for


def test_a_fit_does_not_depend_on_the_engine(small, monkeypatch):
    found = []
    for numbers in (0, np.inf):
        monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", numbers)
        found.append(rl.fit(small))
    one, other = found
    assert one.loglik == pytest.approx(other.loglik, rel=1e-12)
    np.testing.assert_allclose(one.raters["kappa"], other.raters["kappa"], atol=1e-6)


def test_large_data_go_through_compiled_code():
    counts = sparse.csr_array((np.random.default_rng(0).random((2000, 200)) < 0.6).astype(float))
    assert isinstance(engine_for(counts), CompiledEngine)
    assert isinstance(engine_for(counts[:5]), NumpyEngine)

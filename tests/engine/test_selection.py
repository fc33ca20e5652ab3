"""Which engine for which data."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import raterlens as rl
from raterlens.engine.compiled_engine import CompiledEngine
from raterlens.engine.growing_engine import GrowingEngine
from raterlens.engine.selection import engine_for


def test_a_fit_does_not_depend_on_the_engine(small, monkeypatch):
    expected = rl.fit(small)
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", 0)
    found = rl.fit(small)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.raters["kappa"], expected.raters["kappa"], atol=1e-6)


def test_small_data_do_not_load_the_compiler():
    code = (
        "import sys, raterlens as rl; rl.fit(rl.load_example()); "
        "print('numba' in sys.modules, type(rl).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


def test_large_data_do():
    counts = sparse.csr_array((np.random.default_rng(0).random((2000, 200)) < 0.6).astype(float))
    assert isinstance(engine_for(counts), CompiledEngine)
    assert isinstance(engine_for(counts[:100]), GrowingEngine)

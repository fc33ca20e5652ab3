"""Whichever engine does the work, the numbers are the same; and the work decides."""

import numpy as np
import pytest
from scipy import sparse

from raterlens.engine.compiled_engine import CompiledEngine
from raterlens.engine.growing_engine import GrowingEngine
from raterlens.engine.numpy_engine import NumpyEngine
from tests.support.engine_problems import logistic_problem

# Readable code gathers scores in single precision.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _passes_are_large_enough(monkeypatch):
    monkeypatch.setattr("raterlens.engine.growing_engine._LEAST_PASS", 0)


@pytest.mark.parametrize("after", [0, 2, 100])
def test_the_numbers_do_not_depend_on_when_compiled_code_takes_over(after, monkeypatch):
    counts, sums, tables, nodes, scores = logistic_problem()
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", after * counts.nnz * len(nodes.points))
    engine, twin = GrowingEngine(counts, sums), NumpyEngine(counts, sums)
    for _ in range(3):
        assert engine.evaluate(tables, nodes).loglik == pytest.approx(
            twin.evaluate(tables, nodes).loglik, rel=1e-12
        )
    np.testing.assert_allclose(engine.moments(tables, nodes).sd, twin.moments(tables, nodes).sd, **CLOSE)
    found, expected = (
        sparse.csr_array(one.score_covariance(tables, nodes, scores)).toarray() for one in (engine, twin)
    )
    np.testing.assert_allclose(found, expected, **CLOSE)
    whole = np.concatenate([posterior for _, posterior, _ in engine.posteriors(tables, nodes)])
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-12)
    assert engine.n_students == len(whole) == counts.shape[0]


def test_it_stays_readable_until_the_work_is_worth_compiling(monkeypatch):
    counts, sums, tables, nodes, scores = logistic_problem()
    once = counts.nnz * len(nodes.points)
    for number in ("NUMBERS", "_NUMBERS_LOADED"):
        monkeypatch.setattr(f"raterlens.kernels.break_even.{number}", 3 * once)
    engine = GrowingEngine(counts, sums)
    for expected in (NumpyEngine, NumpyEngine, CompiledEngine, CompiledEngine):
        engine.evaluate(tables, nodes)
        assert type(engine._engine) is expected
    # Scores of many parameters are as much work as many evaluations.
    engine = GrowingEngine(counts, sums)
    engine.score_covariance(tables, nodes, scores)
    assert type(engine._engine) is CompiledEngine


def test_small_passes_stay_readable_however_many_they_are(monkeypatch):
    counts, sums, tables, nodes, _ = logistic_problem()
    once = counts.nnz * len(nodes.points)
    monkeypatch.setattr("raterlens.engine.growing_engine._LEAST_PASS", once + 1)
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", once)
    engine = GrowingEngine(counts, sums)
    for _ in range(3):
        engine.evaluate(tables, nodes)
    assert type(engine._engine) is NumpyEngine

import numpy as np
import pytest

from raterlens.diagnostics.averages import averages_for


@pytest.mark.parametrize("n_ratings", [10, 10**9], ids=["readable", "compiled"])
def test_sums_written_out(n_ratings):
    random = np.random.default_rng(0)
    weights, table, prob = random.random((4, 6)), random.random((5, 6)), random.random((5, 3, 6))
    weight, one, two = random.integers(4, size=20), random.integers(5, size=20), random.integers(5, size=20)
    sums = averages_for(n_ratings)
    expected = [weights[w] @ table[r] for w, r in zip(weight, one, strict=True)]
    np.testing.assert_allclose(sums.averaged(weights, weight, table, one), expected, rtol=1e-12)
    expected = [
        weights[w] @ (prob[a] * prob[b]).sum(axis=0) for w, a, b in zip(weight, one, two, strict=True)
    ]
    np.testing.assert_allclose(sums.agreeing(weights, weight, prob, one, two), expected, rtol=1e-12)

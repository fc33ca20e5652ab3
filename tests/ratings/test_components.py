import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from raterlens.ratings.components import components


@pytest.mark.parametrize("seed", range(10))
def test_parts_are_those_that_scipy_finds(seed):
    random = np.random.default_rng(seed)
    size, edges = int(random.integers(1, 60)), int(random.integers(0, 60))
    one, other = random.integers(0, size, (2, edges))
    graph = sparse.coo_array((np.ones(edges), (one, other)), shape=(size, size))
    n, part = connected_components(graph, directed=False)
    found = components(size, one, other)
    assert found[0] == n
    np.testing.assert_array_equal(found[1], part)


def test_a_long_chain_in_any_order_is_one_part():
    order = np.random.default_rng(1).permutation(100_000)
    assert components(100_000, order[:-1], order[1:])[0] == 1

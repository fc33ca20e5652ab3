import numpy as np
import pytest

from raterlens.engine.symmetric import mirrored


@pytest.mark.parametrize("size", [1, 5, 300])
def test_either_half_gives_the_whole(size):
    root = np.random.default_rng(0).normal(size=(size, size))
    whole = root + root.T
    for half in (np.triu(whole), np.tril(whole)):
        np.testing.assert_array_equal(mirrored(half), whole)

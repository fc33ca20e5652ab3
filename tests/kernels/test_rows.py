"""The ends of rows are those of sorted rows."""

import numpy as np
import pytest

from raterlens.kernels.rows import largest, smallest

RANDOM = np.random.default_rng(8)
ROWS = {
    "random": RANDOM.normal(size=(5, 300)),
    "rising": np.arange(300.0)[None],
    "falling": np.arange(300.0)[None, ::-1],
    "with ties": RANDOM.integers(0, 4, (3, 300)).astype(float),
    "infinite": np.where(RANDOM.random((3, 300)) < 0.5, np.inf, -np.inf),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("few", [1, 2, 27, 300])
def test_they_equal_the_ends_of_sorted_rows(name, few):
    values, ordered = ROWS[name], np.sort(ROWS[name], axis=1)
    np.testing.assert_array_equal(smallest(values, few), ordered[:, :few])
    np.testing.assert_array_equal(largest(values, few), ordered[:, ::-1][:, :few])


@pytest.mark.parametrize(("values", "few"), [(np.ones((2, 3)), 4), (np.ones((2, 3)), 0), (np.ones(3), 1)])
def test_more_than_there_are_is_refused(values, few):
    with pytest.raises(ValueError, match="a kernel would leave its arrays"):
        smallest(values, few)

import numpy as np
from scipy import sparse

from raterlens.likelihood.engines.compiled import Arrangement, neighbours


def test_a_count_is_not_taken_for_a_sum():
    """Students who differ, however much their numbers look alike."""
    random = np.random.default_rng(2)
    counts, sums = random.integers(0, 4, (2, 400, 3)).astype(float)
    distinct = len(np.unique(np.hstack([counts, sums]), axis=0))
    arranged = Arrangement.of(
        sparse.csr_array(np.tile(counts, (3, 1))), sparse.csr_array(np.tile(sums, (3, 1)))
    )
    assert len(arranged.rows) == distinct


def test_neighbours_share_their_cells():
    random = np.random.default_rng(0)
    students, cells = np.repeat(np.arange(20_000), 2), random.integers(0, 400, 40_000)
    counts = sparse.csr_array((np.ones(40_000), (students, cells)), shape=(20_000, 400))
    order = neighbours(counts)
    np.testing.assert_array_equal(np.sort(order), np.arange(20_000))

    def distinct(rows):
        """Cells that a hundred students in turn touch."""
        return np.mean([len(np.unique(rows[at : at + 100].indices)) for at in range(0, 20_000, 100)])

    assert distinct(counts[order]) < 0.6 * distinct(counts)
    np.testing.assert_array_equal(neighbours(sparse.csr_array((5, 3))), np.arange(5))


def test_students_with_parts_of_ratings_are_not_merged():
    """Half ratings have no whole number to be known by."""
    counts = sparse.csr_array(np.tile([[0.5, 1.0], [1.0, 0.0]], (50, 1)))
    arranged = Arrangement.of(counts, None)
    assert arranged.weight is None
    np.testing.assert_array_equal(np.sort(arranged.rows), np.arange(100))
    np.testing.assert_array_equal(arranged.rows[arranged.place], np.arange(100))
    halves = Arrangement.of(sparse.csr_array(2 * counts), sparse.csr_array(counts))
    assert halves.weight is None
    whole = Arrangement.of(sparse.csr_array(2 * counts), None)
    assert sorted(whole.weight) == [50, 50]

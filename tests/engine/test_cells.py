import numpy as np

from raterlens import Ratings
from raterlens.engine.cells import essays, rating_cells
from raterlens.models.contexts import Contexts


def test_essays_hold_the_same_ratings_as_cells(small: Ratings):
    contexts = Contexts.of(small)
    cells = rating_cells(small, contexts, 2).toarray().reshape(small.n_students, len(contexts), 2)
    found = essays(small, contexts, contexts.rater, 2)
    np.testing.assert_array_equal((found.counts @ found.kinds.members).toarray(), cells.sum(axis=2))
    passes = cells[:, :, 1] @ np.eye(small.n_raters)[contexts.rater]
    np.testing.assert_array_equal(found.sums.toarray(), passes)
    assert found.counts.nnz < rating_cells(small, contexts, 2).nnz


def test_a_repeated_rating_is_another_item_set():
    one = np.zeros(3, dtype=np.int32)
    ratings = _ratings([0, 0, 1], one, one, [1, 0, 1])
    found = essays(ratings, Contexts.of(ratings), np.zeros(1, dtype=np.int64), 2)
    np.testing.assert_array_equal((found.counts @ found.kinds.members).toarray(), [[2], [1]])
    np.testing.assert_array_equal(found.sums.toarray(), [[1], [1]])


def _ratings(student, rater, item, score) -> Ratings:
    import polars as pl

    return Ratings(
        np.array(student, dtype=np.int32),
        np.array(rater, dtype=np.int32),
        np.array(item, dtype=np.int32),
        np.array(score, dtype=np.int16),
        *(pl.Series(name, [0, 1][:size]) for name, size in (("student", 2), ("rater", 1), ("item", 1))),
    )

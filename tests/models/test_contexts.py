import numpy as np
import pytest

from raterlens.models.term import Blocks, Contexts
from tests.support.facets_models import ordered, with_facet


def test_contexts_are_the_distinct_raters_items_and_levels(small):
    ratings = with_facet(ordered(small))
    contexts = Contexts.of(ratings)
    seen = np.column_stack([ratings.rater, ratings.item, ratings.facets[0].codes])
    distinct, of_rating = np.unique(seen, axis=0, return_inverse=True)
    np.testing.assert_array_equal(
        np.column_stack([contexts.rater, contexts.item, *contexts.facets]), distinct
    )
    np.testing.assert_array_equal(contexts.places(ratings), of_rating)
    given = np.zeros((len(distinct), 4))
    np.add.at(given, (of_rating, ratings.score), 1)
    np.testing.assert_array_equal(contexts.given, given)
    np.testing.assert_array_equal(contexts.counts(6), np.pad(given, [(0, 0), (0, 2)]))


def test_blocks_follow_each_other():
    blocks = Blocks({"slope": 3, "severity": 0, "difficulty": 2})
    assert (blocks["slope"], blocks["severity"], blocks["difficulty"]) == (
        slice(0, 3),
        slice(3, 3),
        slice(3, 5),
    )
    assert blocks.size == 5
    assert "slope" in blocks
    with pytest.raises(KeyError):
        blocks["threshold"]

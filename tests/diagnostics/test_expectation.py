"""Both families of models fill in the same record in the same way."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics.predictions import of_abilities, of_categories


@pytest.mark.parametrize("model", ["gmf", "hrm", "dawid-skene"])
def test_pairs_are_the_ratings_of_one_thing_by_one_rater(small, model):
    fit = rl.fit(small, model=model, standard_errors=False, **({} if model == "gmf" else {"starts": 1}))
    found = of_categories(fit, small) if fit.calibration is None else of_abilities(fit.calibration, small)
    judged = small.student if model == "gmf" else small.student * small.n_items + small.item
    assert len(np.unique(judged)) == found.n_judged
    # The same things are judged together, whatever they are called.
    assert len(np.unique(np.stack([judged, found.judged]), axis=1)[0]) == found.n_judged
    pairs = np.unique(np.stack([found.judged, small.rater]), axis=1)
    np.testing.assert_array_equal(found.judged[found.pairs.example], pairs[0])
    np.testing.assert_array_equal(small.rater[found.pairs.example], pairs[1])
    assert found.pairs.size.sum() == small.n_ratings
    assert found.prior.shape in [(1, len(found.nodes.points)), (found.n_judged, len(found.nodes.points))]
    assert len(found.prior_apart) == (len(found.pairs) if model == "hrm" else 0)
    assert len(found.slopes) == small.n_raters

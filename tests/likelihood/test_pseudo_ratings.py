import numpy as np
import pytest

from raterlens.likelihood.priors import HALF_A_RATING, pseudo_ratings
from tests.support.facets_models import by_hand, make

ROWS = [("a", "kind", i, 1) for i in "xy"] + [("a", "fair", i, i == "x") for i in "xy"]
ROWS += [("b", "kind", i, 1) for i in "xy"] + [("b", "fair", i, i == "y") for i in "xy"]


def test_who_only_passes_gets_half_a_fail_over_all_its_contexts():
    ratings = by_hand(ROWS)
    model, _ = make(ratings, "gmf")
    counts = pseudo_ratings(model, 2).counts
    assert counts[:, 1].sum() == 0
    kind = model.contexts.rater == ratings.raters.to_list().index("kind")
    assert counts[kind, 0].sum() == pytest.approx(HALF_A_RATING)
    assert counts[~kind].sum() == 0
    assert np.ptp(counts[kind, 0]) == 0  # it rated both items equally often


def test_their_value_is_an_average_over_the_population():
    ratings = by_hand(ROWS)
    model, response = make(ratings, "gmf")
    pseudo = pseudo_ratings(model, 2)
    # All slopes 0: the half fail has the same probability for everybody, 1/2.
    value, gradient = pseudo.value(model, response, np.zeros(model.blocks.size))
    assert value == pytest.approx(HALF_A_RATING * np.log(0.5), rel=1e-6)
    assert gradient[model.blocks["severity"]].sum() == pytest.approx(HALF_A_RATING / 2, rel=1e-6)

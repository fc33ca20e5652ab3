"""Interactions: which cells there are, and what they add to the predictor."""

import numpy as np

from raterlens.models.interaction_terms import block_of, interacting_facets
from tests.support.facets_models import make, somewhere


def test_a_cell_for_every_rater_and_level_that_occur_together(small):
    model, _ = make(small, "gmf interactions")
    (term,) = model.interactions
    assert term.size == len({*zip(small.rater.tolist(), small.item.tolist(), strict=True)})
    np.testing.assert_array_equal(term.rater[term.cell], model.contexts.rater)
    np.testing.assert_array_equal(term.level[term.cell], model.contexts.item)
    table = term.table(np.arange(1.0, term.size + 1))
    assert table.shape == (5, 3)
    np.testing.assert_array_equal(table[term.rater, term.level], np.arange(1, term.size + 1))


def test_they_add_to_severity_and_leave_the_slope(small):
    model, _ = make(small, "probit facet interactions")
    x = somewhere(model)
    without = np.where(model.of_interactions, 0.0, x)
    item, topic = (
        term.table(x[model.blocks[term.block]]) for term in sorted(model.interactions, key=lambda t: t.facet)
    )
    contexts = model.contexts
    added = item[contexts.rater, contexts.item] + topic[contexts.rater, contexts.facets[0]]
    found, plain = model.predictor(x), model.predictor(without)
    np.testing.assert_allclose(found.intercepts[:, 0], plain.intercepts[:, 0] - added, atol=1e-12)
    np.testing.assert_array_equal(found.slope, plain.slope)


def test_names_of_blocks(small):
    model, _ = make(small, "probit facet interactions")
    assert interacting_facets(model.blocks.sizes) == ("topic", "item")
    assert block_of("topic") in model.blocks

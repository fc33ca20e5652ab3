"""The paper's designs: sizes and true capabilities as printed."""

import numpy as np

from raterlens.simulation import writing_assessment as assessment
from raterlens.studies import paper_tables as paper
from raterlens.studies.paper_designs import simulate_study1, simulate_writing


def test_study1_is_complete_and_has_the_printed_capabilities():
    drawn = simulate_study1([1, 2], ability=paper.ABILITY)
    assert drawn.ratings.n_ratings == 20 * 50 * 40
    assert drawn.truth.kappa[[0, 19]].round(2).tolist() == [0.04, 0.79]
    np.testing.assert_array_equal(drawn.truth.ability, paper.ABILITY)
    assert not np.array_equal(simulate_study1([1, 2]).truth.ability, paper.ABILITY)


def test_the_writing_design_has_the_printed_counts_and_capabilities():
    drawn = simulate_writing([1, 2])
    assert drawn.ratings.raters.to_list() == assessment.RATERS
    np.testing.assert_array_equal(np.bincount(drawn.ratings.rater), [row.n for row in assessment.TABLE])
    np.testing.assert_allclose(drawn.truth.kappa, assessment.KAPPA, atol=0.01)
    flat = simulate_writing([1, 2], severity=np.zeros(16))
    np.testing.assert_array_equal(flat.truth.severity, np.zeros(16))

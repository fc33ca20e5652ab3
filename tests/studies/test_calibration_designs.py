"""The designs of the calibration study have the published truth."""

import numpy as np

from raterlens.simulation import writing_assessment as assessment
from raterlens.studies import paper_tables as paper
from raterlens.studies.calibration_designs import CONDITIONS


def test_designs_have_the_published_truth():
    writing, study1, fixed, shuffled = (condition.simulate([1, 2]) for condition in CONDITIONS[:4])
    assert writing.ratings.n_ratings == 7260
    assert writing.truth.sigma == assessment.SIGMA
    np.testing.assert_allclose(writing.truth.kappa, assessment.KAPPA, atol=0.01)
    assert study1.truth.kappa[[0, 19]].round(2).tolist() == [0.04, 0.79]
    np.testing.assert_array_equal(fixed.truth.ability, paper.ABILITY)
    assert not np.array_equal(study1.truth.ability, paper.ABILITY)
    np.testing.assert_allclose(np.sort(shuffled.truth.severity), np.sort(study1.truth.severity))
    assert abs(np.corrcoef(shuffled.truth.severity, shuffled.truth.slope)[0, 1]) < 0.4

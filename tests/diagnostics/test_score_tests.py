"""Score tests: levels against R, moments against regression."""

import numpy as np
import pytest

from raterlens.diagnostics.score_tests import adjusted


def test_adjusted_levels_are_those_of_r():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH"); p.adjust(c(0.001, 0.5, 0.04, 0.9), "BH")
    assert adjusted(np.array([0.01, 0.02, 0.03, 0.04, 0.05])) == pytest.approx([0.05] * 5)
    assert adjusted(np.array([0.001, 0.5, 0.04, 0.9])) == pytest.approx([0.004, 2 / 3, 0.08, 0.9])

"""Compiled tables of the logit equal those of the readable response."""

import numpy as np

from raterlens.kernels.logistic import counted_passes, log_partition
from raterlens.models.responses import Adjacent, Predictor


def panel():
    random = np.random.default_rng(0)
    slope, intercept = random.normal(1, 0.7, 301), random.normal(0, 3, 301)
    slope[:4], intercept[:6] = [0.0, 90.0, -90.0, 1e-9], [0.0, 700.0, -700.0, 3000.0, -3000.0, 1e-12]
    return slope, intercept, np.arange(-37, 38) * 0.17


def test_log_partition():
    slope, intercept, points = panel()
    expected = Adjacent().log_partition(Predictor(slope, intercept[:, None]), points)
    np.testing.assert_allclose(log_partition(slope, intercept, points), expected, rtol=1e-14, atol=1e-15)


def test_counted_passes():
    slope, intercept, points = panel()
    counts = np.random.default_rng(1).exponential(size=(len(slope), len(points)))
    passes = counts * Adjacent().probabilities(Predictor(slope, intercept[:, None]), points)[:, 0]
    by_ability, total = counted_passes(slope, intercept, points, counts)
    np.testing.assert_allclose(by_ability, passes @ points, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total, passes.sum(axis=1), rtol=1e-12, atol=1e-15)

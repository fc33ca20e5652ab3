"""The compiled mean density equals the readable one."""

import numpy as np

from raterlens.capability import density_moments as moments
from raterlens.capability.links import get_link


def test_it_equals_the_readable_sum(monkeypatch):
    random = np.random.default_rng(0)
    slope, severity = random.exponential(1.5, 5000), random.normal(0, 4, 5000)
    slope[:3], severity[:6] = [0.0, 1e-9, 60.0], [0.0, 0.0, 0.0, 50.0, -50.0, 1e-9]
    expected = moments.moments(slope, severity, get_link("logit"))
    monkeypatch.setattr("raterlens.kernels.break_even.NUMBERS", 0)
    np.testing.assert_allclose(
        moments.moments(slope, severity, get_link("logit")), expected, rtol=1e-13, atol=1e-300
    )

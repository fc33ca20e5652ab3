"""The majority of several answers."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.inference.draw_table import majority_capability, mean_correlation

# Slope 1.5, severity 0.5, by an independent program: spread, then capability for 1, 3, 5, 11 and endlessly many.
KNOWN = {
    0.0: [0.647, 0.775, 0.828, 0.885, 0.946],
    1.0: [0.643, 0.734, 0.766, 0.799, 0.832],
    3.0: [0.642, 0.670, 0.679, 0.686, 0.692],
}


@pytest.mark.parametrize("spread", KNOWN)
def test_capability_of_the_majority(spread):
    found = [majority_capability(1.5, 0.5, spread, n).item() for n in (1, 3, 5, 11, np.inf)]
    np.testing.assert_allclose(found, KNOWN[spread], atol=5.1e-4)


def test_majorities_by_simulation():
    """Capability is sqrt(2 pi) E[theta P]: two million answers of three."""
    random = np.random.default_rng(5)
    theta, u = random.standard_normal((2, 2_000_000))
    stretch = np.sqrt(1 + 0.6 * 4)
    passed = -np.expm1(-np.exp(stretch * (1.2 * theta - 0.3) + 2.0 * u))
    votes = (random.random((3, len(theta))) < passed).sum(axis=0)
    seen = np.sqrt(2 * np.pi) * np.mean(theta * (votes >= 2))
    found = majority_capability(1.2, 0.3, 2.0, 3, get_link("cloglog"), 0.6)
    assert found.item() == pytest.approx(seen, abs=0.004)


def test_many_answers_approach_the_reading_itself():
    many, endless = (majority_capability([0.8, -1.5], 0.5, 2.0, n) for n in (2001, np.inf))
    np.testing.assert_allclose(many, endless, atol=1e-3)
    correlation = mean_correlation(np.array([1.5]), np.array([2.0]), np.pi**2 / 3, np.inf, 0.346)
    stretch = np.sqrt(1 + 0.346 * 4)
    np.testing.assert_allclose(correlation, 1.5 * stretch / np.hypot(1.5 * stretch, 2.0))

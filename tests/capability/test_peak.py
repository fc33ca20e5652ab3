"""The highest point of curves."""

import numpy as np

from raterlens.capability.integrals import peaks


def test_the_highest_of_several_peaks_is_found_for_each_curve():
    shift = np.array([-1.0, 0.0, 2.5])
    place, top = peaks(
        lambda x: np.exp(-((x - shift) ** 2)) + 0.9 * np.exp(-((x + 4 - shift) ** 2)),
        shift - 6,
        shift + 6,
        121,
    )
    np.testing.assert_allclose(place, shift, atol=1e-6)
    np.testing.assert_allclose(top, 1 + 0.9 * np.exp(-16), rtol=1e-12)


def test_a_curve_that_only_rises_is_highest_at_the_end():
    place, top = peaks(lambda x: x, np.array([0.0]), np.array([2.0]), 5)
    assert (place[0], top[0]) == (2.0, 2.0)

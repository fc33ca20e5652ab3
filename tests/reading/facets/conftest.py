"""Ratings that several tests write as control files."""

import pytest

import raterlens as rl


@pytest.fixture(scope="package")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings

"""Panels that several tests of latent class models use."""

import pytest

import raterlens as rl
from tests.support.latent_class import long, rows_of


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """40 students, 3 items, 2 of 5 raters each; some ratings twice, one rater who passes everything."""
    ratings = rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings
    rows = rows_of(ratings)
    rows += rows[:7] + [(s, r, i, 1 - y) for s, r, i, y in rows[7:10]]
    rows += [(s, 9, i, 1) for s in range(20) for i in range(2)]
    return long(rows)

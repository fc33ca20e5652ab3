"""Compiled code and its readable twin give the same numbers."""

import numpy as np
from polars import selectors

from raterlens.diagnostics import residuals
from raterlens.diagnostics.diagnosis import diagnose
from raterlens.diagnostics.residuals import Residuals

# The order of sums differs, nothing else.
SAME = 1e-11
# Differences and quotients of such sums; a test that fits again is as exact as the optimiser.
TABLES, FITS = 1e-8, 1e-5


def test_tables_are_the_same_compiled(fitted, compiled):
    fit, ratings = fitted
    random = np.random.default_rng(2)
    time, group = random.integers(30, size=ratings.n_ratings), random.integers(3, size=ratings.n_ratings)
    plain = diagnose(fit, ratings, time=time, groups={"group": group})
    compiled()
    quick = diagnose(fit, ratings, time=time, groups={"group": group})
    for name, table in plain.tables.items():
        # Equally unexpected ratings may change places.
        one, two = (t.sort("row") if name == "unexpected" else t for t in (table, quick.tables[name]))
        assert two.schema == one.schema
        numbers = one.select(selectors.float()).columns
        assert two.drop(numbers).equals(one.drop(numbers)), name
        for column in numbers:
            near = FITS if name == "ability" else TABLES
            np.testing.assert_allclose(two[column], one[column], near, near, err_msg=f"{name} {column}")
    assert plain.table("change")["p"].is_finite().all()


# ----------------------------------------------------------------------------------------------------
# Compiled code and its readable twin give the same numbers.


# The order of sums differs, nothing else.


def test_a_pass_is_the_same_compiled(fitted, compiled):
    plain = residuals.residuals(*fitted, compared=True)
    compiled()
    quick = residuals.residuals(*fitted, compared=True)
    for name in Residuals.__slots__:
        one, two = getattr(plain, name), getattr(quick, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(two, one, rtol=SAME, atol=SAME, err_msg=name)
    np.testing.assert_allclose(quick.paired.expected, plain.paired.expected, rtol=SAME)
    np.testing.assert_allclose(quick.ability.sd, plain.ability.sd, rtol=SAME)

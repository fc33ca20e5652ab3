"""Compiled code and its readable twin give the same numbers."""

import numpy as np
import pytest
from polars import selectors

import raterlens as rl
from raterlens.diagnostics import posterior, residuals
from raterlens.diagnostics.diagnosis import diagnose
from raterlens.diagnostics.residuals import Residuals
from raterlens.kernels import break_even

# The order of sums differs, nothing else.
SAME = 1e-11
# Differences and quotients of such sums.
TABLES = 1e-8

OPTIONS = {
    "logit": {},
    "probit": {"link": "probit"},
    "ordered": {"model": "tfm"},
    "latent": {"model": "hrm"},
}


@pytest.fixture(scope="module", params=OPTIONS)
def fitted(request):
    thresholds = (-1.0, 0.5) if request.param == "ordered" else None
    ratings = rl.simulate(
        students=300, raters=6, items=3, raters_per_student=3, thresholds=thresholds, seed=3
    ).ratings
    mixed = np.random.default_rng(1).permutation(ratings.n_ratings)
    parts = {name: getattr(ratings, name)[mixed] for name in ("student", "rater", "item", "score")}
    ratings = rl.Ratings(**parts, students=ratings.students, raters=ratings.raters, items=ratings.items)
    return rl.fit(ratings, standard_errors=False, **OPTIONS[request.param]), ratings


@pytest.fixture
def compiled(monkeypatch):
    """From here on all data are large, in several blocks, the last one smaller."""

    def begin():
        monkeypatch.setattr(break_even, "NUMBERS", 0)
        monkeypatch.setattr(posterior, "_BLOCK", 2**12)

    return begin


def test_a_pass_is_the_same_compiled(fitted, compiled):
    plain = residuals.residuals(*fitted)
    compiled()
    quick = residuals.residuals(*fitted)
    for name in Residuals.__slots__:
        one, two = getattr(plain, name), getattr(quick, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(two, one, rtol=SAME, atol=SAME, err_msg=name)
    np.testing.assert_allclose(quick.couples.expected, plain.couples.expected, rtol=SAME)
    np.testing.assert_allclose(quick.ability.sd, plain.ability.sd, rtol=SAME)


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
            np.testing.assert_allclose(two[column], one[column], TABLES, TABLES, err_msg=f"{name} {column}")
    assert plain.table("change")["p"].is_finite().all()

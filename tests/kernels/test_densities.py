"""Compiled densities of ordered scores and readings equal the readable ones."""

from typing import Any

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.kernels.reading_effect import SetsOfItems
from raterlens.models.responses import Adjacent, Graded, Predictor
from tests.support.halo_problems import KINDS, NODES, problem_of

# The order of sums differs, and how products of up to a thousand are rounded.
SAME = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(params=[3, 8])
def problem(request):
    random = np.random.default_rng(request.param)
    slope = random.exponential(1.5, 30)
    slope[:3] = [0.0, 20.0, -1.0]
    intercepts = -np.sort(-random.normal(0, 2, (30, request.param - 1)), axis=1)
    intercepts[3] *= 30
    return Predictor(slope, intercepts), np.linspace(-6, 6, 53)


def both(monkeypatch, table):
    found = []
    for numbers in (np.inf, 0):
        monkeypatch.setattr("raterlens.kernels.library.NUMBERS", numbers)
        found.append(table())
    return found


# The readable ratios are exponentials of logarithms of some hundreds, which lose a digit and a half.
@pytest.mark.parametrize(
    ("table", "close"), [("log_prob", SAME), ("density_ratios", {"rtol": 2e-11, "atol": 1e-12})]
)
def test_graded(problem, table, close, monkeypatch):
    predictor, t = problem
    response = Graded(get_link("logit"), predictor.intercepts.shape[1] + 1)
    readable, compiled = both(monkeypatch, lambda: getattr(response, table)(predictor, t))
    np.testing.assert_allclose(compiled, readable, **close)
    assert np.shape(compiled)[-2:] == (response.n_categories, len(t))


def test_graded_steps_at_the_same_place_have_no_score_between_them(problem, monkeypatch):
    predictor, t = problem
    predictor.intercepts[5, 1] = predictor.intercepts[5, 0]
    response = Graded(get_link("logit"), predictor.intercepts.shape[1] + 1)
    readable, compiled = both(monkeypatch, lambda: response.log_prob(predictor, t))
    assert np.all(compiled[5, 1] == -np.inf)
    np.testing.assert_allclose(compiled, readable, **SAME)


@pytest.mark.parametrize("table", ["log_partition", "probabilities", "log_prob"])
def test_adjacent(problem, table, monkeypatch):
    predictor, t = problem
    response = Adjacent(predictor.intercepts.shape[1] + 1)
    readable, compiled = both(monkeypatch, lambda: getattr(response, table)(predictor, t))
    np.testing.assert_allclose(compiled, readable, **SAME)


def test_sums_of_expected_scores(problem, monkeypatch):
    predictor, t = problem
    predictor.intercepts[6, -1] = -1e9
    response = Adjacent(predictor.intercepts.shape[1] + 1)
    counts = np.random.default_rng(0).exponential(1, (30, len(t)))
    readable, compiled = both(monkeypatch, lambda: response.given(predictor, t, counts))
    assert compiled[1][6, -1] < 1e-100
    for one, other in zip(readable, compiled, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("sums", ["summed_scores", "summed_curvature"])
def test_sums_of_graded_scores(problem, sums, monkeypatch):
    predictor, t = problem
    response = Graded(get_link("logit"), predictor.intercepts.shape[1] + 1)
    # The readable way to second derivatives subtracts large numbers where two steps nearly coincide.
    predictor.intercepts[:] -= 0.2 * np.arange(response.n_categories - 1)
    counts = np.random.default_rng(0).exponential(1, (30, response.n_categories, len(t)))
    readable, compiled = both(monkeypatch, lambda: getattr(response, sums)(predictor, t, counts))
    for one, other in zip(readable, compiled, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-11 * np.abs(one).max())


# ----------------------------------------------------------------------------------------------------
# Products over the values of u give what logarithms of every kind of reading give.


def found(kind, *, compiled):
    _, problem, x = problem_of(*kind)
    density: Any = problem.density
    density.compiled = compiled
    at = problem.at(x, NODES)
    up: Any = at.up
    assert (up.products is not None) == compiled
    return density, up, at.found


@pytest.mark.parametrize("kind", KINDS[:2])
def test_twins(kind):
    density, logs, by_logs = found(kind, compiled=False)
    _, products, by_products = found(kind, compiled=True)
    np.testing.assert_allclose(products.tables.cells, logs.tables.cells, rtol=1e-12, atol=1e-12)
    assert by_products.loglik == pytest.approx(by_logs.loglik, rel=1e-13)
    for name in ("d_slope", "d_intercepts", "d_spread", "counts"):
        np.testing.assert_allclose(
            getattr(by_products, name), getattr(by_logs, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    # What standard errors are made of.
    for one, other in zip(density.every(products), density.every(logs), strict=True):
        np.testing.assert_allclose(one.share, other.share, rtol=1e-10, atol=1e-14)


def test_products_that_could_overflow_are_logarithms():
    _, problem, x = problem_of(*KINDS[0])
    density: Any = problem.density
    density.compiled = True
    x[problem.model.blocks["halo"]] = 60.0**2
    at = problem.at(x, NODES)
    up: Any = at.up
    assert up.products is None
    assert np.isfinite(at.found.loglik)


def test_sets_know_their_members_and_kinds():
    _, problem, _ = problem_of(*KINDS[1])
    density: Any = problem.density
    sets = SetsOfItems.of(density.item_sets, density.set_of_kind, density.rater, density.kinds.total)
    (first, member), (first_kind, kind, total) = sets.members, sets.kinds
    assert sorted(kind.tolist()) == list(range(len(density.rater)))
    for s in range(len(sets.rater)):
        for at in range(first_kind[s], first_kind[s + 1]):
            own = density.kinds.members[[kind[at]]].toarray()[0]
            inside = np.bincount(member[first[s] : first[s + 1]], minlength=len(own))
            np.testing.assert_array_equal(inside, own)
            assert density.rater[kind[at]] == sets.rater[s]
            assert density.kinds.total[kind[at]] == total[at]

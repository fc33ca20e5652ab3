"""Compiled densities of ordered scores and readings equal the readable ones."""

from typing import Any

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.kernels.reading_effect import SetsOfItems
from raterlens.likelihood.cells import distinct_rows
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


def found(kind, monkeypatch, *, compiled, halo=None):
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0 if compiled else np.inf)
    _, problem, x = problem_of(*kind)
    if halo is not None:
        x[problem.model.blocks["halo"]] = halo
    at = problem.at(x, NODES)
    up: Any = at.up
    return up, at.found, problem.gradient(at)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_twins(kind, monkeypatch):
    logs, by_logs, gradient = found(kind, monkeypatch, compiled=False)
    products, by_products, compiled = found(kind, monkeypatch, compiled=True)
    assert logs.products is None
    assert products.products is not None
    # Rules in u differ: one for all raters, and one for each.
    one, other = np.exp(products.tables.cells), np.exp(logs.tables.cells)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert by_products.loglik == pytest.approx(by_logs.loglik, rel=1e-11)
    np.testing.assert_allclose(compiled, gradient, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(by_products.counts[:, 0], by_logs.counts.sum(axis=1), rtol=1e-9, atol=1e-10)


def test_products_that_could_overflow_are_logarithms(monkeypatch):
    up, at, _ = found(KINDS[0], monkeypatch, compiled=True, halo=60.0**2)
    assert up.products is None
    assert np.isfinite(at.loglik)


def test_sets_know_their_members_and_kinds():
    _, problem, _ = problem_of(*KINDS[1])
    density: Any = problem.density
    shown_by, set_of_kind = distinct_rows(density.kinds.members)
    item_sets = density.kinds.members[shown_by]
    sets = SetsOfItems.of(item_sets, set_of_kind, density.rater, density.kinds.total)
    (first, member), (first_kind, kind, total) = sets.members, sets.kinds
    assert sorted(kind.tolist()) == list(range(len(density.rater)))
    for s in range(len(sets.rater)):
        for at in range(first_kind[s], first_kind[s + 1]):
            own = density.kinds.members[[kind[at]]].toarray()[0]
            inside = np.bincount(member[first[s] : first[s + 1]], minlength=len(own))
            np.testing.assert_array_equal(inside, own)
            assert density.rater[kind[at]] == sets.rater[s]
            assert density.kinds.total[kind[at]] == total[at]

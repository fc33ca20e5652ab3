"""Compiled tables of ordered scores equal the readable ones, also far from where anybody is."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.models.responses import Adjacent, Graded, Predictor

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


@pytest.mark.parametrize("sums", ["summed_scores", "bends"])
def test_sums_of_graded_scores(problem, sums, monkeypatch):
    predictor, t = problem
    response = Graded(get_link("logit"), predictor.intercepts.shape[1] + 1)
    # The readable way to second derivatives subtracts large numbers where two steps nearly coincide.
    predictor.intercepts[:] -= 0.2 * np.arange(response.n_categories - 1)
    counts = np.random.default_rng(0).exponential(1, (30, response.n_categories, len(t)))
    readable, compiled = both(monkeypatch, lambda: getattr(response, sums)(predictor, t, counts))
    for one, other in zip(readable, compiled, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-11 * np.abs(one).max())

"""Derivatives of log-probabilities, against differences of the log-probabilities themselves."""

import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.likelihood.derivatives import cell_terms, context_curvature, context_terms
from raterlens.likelihood.nodes import Nodes
from raterlens.models.responses import Adjacent, Graded, Linked, Predictor

STEP = 1e-5
T = np.linspace(-3, 3, 7)
RESPONSES = [
    Graded(get_link("logit"), 4),
    Graded(get_link("probit"), 3),
    Adjacent(4),
    Adjacent(2),
    Linked(get_link("cloglog")),
]


def predictor(steps):
    random = np.random.default_rng(steps)
    return Predictor(random.uniform(0.5, 2, 3), -np.sort(-random.normal(0, 1, (3, steps)), axis=1))


def spread_out(found, n_rows, t):
    """(rows of the Jacobian, cells, nodes)"""
    cells = np.arange(len(found.context))
    table = np.zeros((n_rows, len(cells), len(t)))
    table[found.context, cells] = found.along(t)
    for term in found.terms:
        table[term.through, cells] += term.table
    return table


def by_differences(response, at, t):
    parts = [(at.slope, [(c,) for c in range(3)]), (at.intercepts, list(np.ndindex(at.intercepts.shape)))]
    rows = []
    for values, places in parts:
        for place in places:
            logs = []
            for by in (STEP, -STEP):
                values[place] += by
                logs.append(response.log_prob(at, t).reshape(-1, len(t)))
                values[place] -= by
            rows.append((logs[0] - logs[1]) / (2 * STEP))
    return np.array(rows)


@pytest.mark.parametrize("response", RESPONSES)
def test_terms_of_cells_are_the_derivatives(response):
    at = predictor(len(response.lever))
    expected = by_differences(response, at, T)
    found = spread_out(cell_terms(response, at, T), len(expected), T)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scores", [2, 4])
def test_terms_of_contexts_differ_from_those_of_each_score_by_constants(scores):
    response, at = Adjacent(scores), predictor(scores - 1)
    expected = by_differences(response, at, T)
    found = np.repeat(spread_out(context_terms(response, at, T), len(expected), T), scores, axis=1)
    # Whatever the score, how much a derivative in an intercept changes from node to node is the same.
    np.testing.assert_allclose(np.diff(found[3:]), np.diff(expected[3:]), rtol=1e-5, atol=1e-7)
    # That in the slope lacks the score times ability.
    left_out = (expected - found)[:3]
    own = np.repeat(np.eye(3), scores, axis=1)[..., None] * np.tile(np.arange(scores), 3)[:, None]
    np.testing.assert_allclose(left_out, own * T, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("response", [Adjacent(3), Graded(get_link("logit"), 3)])
def test_second_derivatives_against_differences(response):
    nodes = Nodes.equally_spaced(-2, 2, 0.5)
    counts = np.random.default_rng(0).random((1, 3, len(nodes.points)))

    def value(x):
        predictor = Predictor(x[:1], x[None, 1:])
        return float(np.sum(counts * response.log_prob(predictor, nodes.points)))

    x, h = np.array([1.2, 0.3, -0.4]), 1e-4
    found = context_curvature(response, Predictor(x[:1], x[None, 1:]), nodes, counts).toarray()
    unit = np.eye(3) * h
    for i in range(3):
        for j in range(3):
            corners = [value(x + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            assert abs(found[i, j] - sum(corners) / (4 * h * h)) < 1e-5

"""Pieces of work that differ: observed information against differences of the gradient, for every kind of cell."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.inference.covariance import in_full
from raterlens.likelihood.forms import marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.pseudo_ratings import pseudo_ratings
from raterlens.models.build import Options, build
from raterlens.models.registry import facets_spec
from raterlens.models.terms.piece_effect import PIECE
from tests.support.facets_models import somewhere

KINDS = [
    {},
    {"link": "probit"},
    {"scale": "rating"},
    {"item_slopes": True, "link": "probit"},
    {"halo": "common"},
    {"halo": "rater", "scale": "rating"},
]


def _ratings(highest: int) -> rl.Ratings:
    """12 students with three pieces each, read by two of three raters on two items."""
    rng = np.random.default_rng(5)
    rows = [
        (n, p, r, i, int(rng.integers(highest + 1)))
        for n in range(12)
        for p in range(3)
        for r in rng.choice(3, 2, replace=False)
        for i in range(2)
    ]
    columns = ["student", "piece", "rater", "item", "score"]
    return rl.read(pl.DataFrame(rows, schema=columns, orient="row"), piece="piece")


def _problem(options, omega):
    scale = options.get("scale")
    ratings = _ratings(1 if scale is None else 3)
    chosen = Options(
        facets_spec("gmf"),
        get_link(options.get("link", "logit")),
        scale or "rating",
        options.get("item_slopes", False),
        halo=options.get("halo", "none"),
        pieces=True,
    )
    model, response = build(ratings, chosen)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x = somewhere(model)
    if "halo" in model.blocks:
        x[model.blocks["halo"]] = 0.6
    x[model.blocks[PIECE]] = omega**2
    return problem, x


@pytest.mark.parametrize("omega", [0.1, 0.7])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_information_is_minus_the_second_derivative(options, omega):
    problem, x = _problem(options, omega)
    nodes = Nodes.equally_spaced(-9, 9, 0.2)
    found = in_full(problem.information(x, nodes))
    scale = np.sqrt(np.abs(np.diag(found)))
    for j, step in enumerate(np.eye(len(x)) * 1e-5):
        ahead, back = (problem.value(x + sign * step, nodes).gradient for sign in (1, -1))
        bend = (back - ahead) / 2e-5
        np.testing.assert_allclose(found[j] / (scale * scale[j]), bend / (scale * scale[j]), atol=2e-5)


def test_a_grid_for_convolutions_gives_the_same(monkeypatch):
    problem, x = _problem({}, 0.7)
    nodes = Nodes.equally_spaced(-9, 9, 0.2)
    found = in_full(problem.information(x, nodes))
    monkeypatch.setattr("raterlens.likelihood.engines.by_piece.MOST_IN_MATRIX", 10)
    np.testing.assert_allclose(in_full(problem.information(x, nodes)), found, rtol=1e-6, atol=1e-8)


def test_pieces_that_hardly_differ_have_information_about_their_spread():
    problem, x = _problem({}, 0.0)
    nodes = Nodes.equally_spaced(-9, 9, 0.2)
    at = problem.model.blocks[PIECE].start
    found = in_full(problem.information(x, nodes))[at, at]
    ahead = x + np.eye(len(x))[at] * 4e-3
    change = problem.value(x, nodes).gradient - problem.value(ahead, nodes).gradient
    assert found == pytest.approx(change[at] / 4e-3, rel=0.05)

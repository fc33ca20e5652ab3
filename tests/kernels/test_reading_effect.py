"""Products over the values of u give what logarithms of every kind of reading give."""

from typing import Any

import numpy as np
import pytest

from raterlens.kernels.reading_effect import SetsOfItems
from tests.support.halo_problems import KINDS, NODES, problem_of


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

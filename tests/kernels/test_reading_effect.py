"""Products over the values of u give what logarithms of every kind of reading give."""

import numpy as np
import pytest

from raterlens.kernels.reading_effect import SetsOfItems
from raterlens.likelihood.engines.contract import Tables
from tests.support.halo_problems import KINDS, NODES, problem_of


def found(kind, *, compiled):
    _, problem, x = problem_of(*kind)
    problem.compiled = compiled
    averaged = problem.averaged(x, NODES)
    assert (averaged.products is not None) == compiled
    return averaged, problem.derivatives(x, NODES)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_twins(kind):
    logs, by_logs = found(kind, compiled=False)
    products, by_products = found(kind, compiled=True)
    np.testing.assert_allclose(products.table, logs.table, rtol=1e-12, atol=1e-12)
    assert by_products.loglik == pytest.approx(by_logs.loglik, rel=1e-13)
    for name in ("d_slope", "d_intercepts", "d_halo", "counts"):
        np.testing.assert_allclose(
            getattr(by_products, name), getattr(by_logs, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    # What standard errors are made of.
    for one, other in zip(products, logs, strict=True):
        np.testing.assert_allclose(one.share, other.share, rtol=1e-10, atol=1e-14)


def test_products_that_could_overflow_are_logarithms():
    _, problem, x = problem_of(*KINDS[0])
    problem.compiled = True
    x[problem.model.blocks["halo"]] = 60.0**2
    averaged = problem.averaged(x, NODES)
    assert averaged.products is None
    assert np.isfinite(problem.engine.evaluate(Tables(averaged.table), NODES).loglik)


def test_sets_know_their_members_and_kinds():
    _, problem, _ = problem_of(*KINDS[1])
    sets = SetsOfItems.of(problem.item_sets, problem.set_of_kind, problem.rater, problem.kinds.total)
    (first, member), (first_kind, kind, total) = sets.members, sets.kinds
    assert sorted(kind.tolist()) == list(range(len(problem.rater)))
    for s in range(len(sets.rater)):
        for at in range(first_kind[s], first_kind[s + 1]):
            own = problem.kinds.members[[kind[at]]].toarray()[0]
            inside = np.bincount(member[first[s] : first[s + 1]], minlength=len(own))
            np.testing.assert_array_equal(inside, own)
            assert problem.rater[kind[at]] == sets.rater[s]
            assert problem.kinds.total[kind[at]] == total[at]

"""Students in parts, on disk: the same fit as of all at once, to rounding."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import raterlens as rl
from raterlens.inference.covariance import in_full
from raterlens.likelihood.cells import essays, ungrouped
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.disk import DiskEngine, Part
from raterlens.likelihood.marginal import bind
from raterlens.likelihood.nodes import Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.engine_problems import logistic_problem, written_out_covariance
from tests.support.packed_tables import uneven

# Sums in another order; estimates stop where the gradient is within 1e-5 standard errors.
ROUNDING, ESTIMATES = 1e-11, 1e-6


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    ratings = rl.simulate(students=900, raters=12, items=4, raters_per_student=2, seed=8).ratings
    return rl.pack(uneven(ratings), tmp_path_factory.mktemp("packed") / "x.rlpack")


@pytest.mark.parametrize("kind", ["essays", "cells"])
def test_parts_add_up_to_the_whole(packed, kind):
    whole, parts = rl.read(packed), StoredRatings(open_packed(packed), part=1000)
    contexts, nodes = Contexts.of(whole), Nodes.equally_spaced(-5, 5, 0.3)
    assert len(Contexts.of(parts)) == len(contexts)
    random = np.random.default_rng(0)
    if kind == "essays":
        grouping = partial(essays, slope_of_context=contexts.rater, n_categories=2)
        one, kinds = bind(whole, contexts, grouping)
        other, by_parts = bind(parts, contexts, grouping)
        np.testing.assert_array_equal(kinds.keys, by_parts.keys)
        np.testing.assert_array_equal(kinds.given, by_parts.given)
        assert kinds.n_groups == by_parts.n_groups
        np.testing.assert_array_equal(kinds.members.toarray(), by_parts.members.toarray())
        tables = Tables(-random.random((len(kinds.keys), len(nodes.points))), random.random(12))
    else:
        cells = partial(ungrouped, n_categories=2)
        one, other = bind(whole, contexts, cells)[0], bind(parts, contexts, cells)[0]
        tables = Tables(-random.random((2 * len(contexts), len(nodes.points))), None)
    assert isinstance(other, DiskEngine)
    assert other.n_students == one.n_students == 900
    expected, found = one.evaluate(tables, nodes), other.evaluate(tables, nodes)
    assert found.loglik == pytest.approx(expected.loglik, rel=ROUNDING)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-9, atol=1e-9)
    if kind == "essays":
        np.testing.assert_allclose(found.linear, expected.linear, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.moments(tables, nodes).sd, one.moments(tables, nodes).sd, rtol=1e-10)
    rows = np.concatenate([np.arange(900)[rows] for rows, _, _ in other.posteriors(tables, nodes)])
    np.testing.assert_array_equal(rows, np.arange(900))
    posterior = np.concatenate([p for _, p, _ in other.posteriors(tables, nodes)])
    np.testing.assert_allclose(
        posterior, np.concatenate([p for _, p, _ in one.posteriors(tables, nodes)]), atol=1e-14
    )


@pytest.mark.parametrize(
    "options", [{"model": "gmf"}, {"model": "tfm"}, {"model": "gmf", "link": "probit"}, {"model": "probit"}]
)
def test_fits_of_data_on_disk(packed, options, monkeypatch):
    whole = rl.fit(packed, **{"model": "gmf"} | options)
    on_disk = StoredRatings(open_packed(packed), part=2000)
    monkeypatch.setattr(
        StoredRatings, "_whole", property(lambda self: pytest.fail("taken into memory whole"))
    )
    found = rl.fit(on_disk, **{"model": "gmf"} | options)
    assert found.loglik == pytest.approx(whole.loglik, rel=1e-10)
    assert found.converged
    assert found.warnings == whole.warnings
    for name in ("rho", "eta", "kappa", "kappa_se", "kappa_low"):
        np.testing.assert_allclose(found.raters[name], whole.raters[name], rtol=ESTIMATES, atol=ESTIMATES)
    assert found.raters["n"].to_list() == whole.raters["n"].to_list()
    np.testing.assert_allclose(found.items["delta_se"], whole.items["delta_se"], rtol=ESTIMATES)
    np.testing.assert_allclose(found.students["theta"], whole.students["theta"], atol=ESTIMATES)


def test_fits_of_students_marked_once(tmp_path, monkeypatch):
    """Most of them have the same ratings as others, and are gone over once: in memory, and on disk."""
    from raterlens.likelihood.engines.compiled import Arrangement

    ratings = rl.simulate(students=3000, raters=8, items=4, raters_per_student=1, seed=3).ratings
    contexts = Contexts.of(ratings)
    compressed = essays(ratings, contexts, contexts.rater, 2)
    assert len(Arrangement.of(compressed.counts, compressed.sums).rows) <= 8 * 5
    readable = rl.fit(ratings, model="gmf")
    monkeypatch.setattr("raterlens.kernels.library.NUMBERS", 0)
    packed = rl.pack(ratings.table(), tmp_path / "once.rlpack")
    on_disk = StoredRatings(open_packed(packed), part=4000)
    for found in (rl.fit(ratings, model="gmf"), rl.fit(on_disk, model="gmf")):
        assert found.loglik == pytest.approx(readable.loglik, rel=1e-10)
        for name in ("kappa", "kappa_se", "kappa_low"):
            np.testing.assert_allclose(found.raters[name], readable.raters[name], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.students["theta"], readable.students["theta"], atol=1e-5)


def test_what_needs_all_ratings_gets_them(packed):
    """Methods and models that do not work by parts give the same as from memory."""
    whole = [rl.fit(packed, model="gmf", method="laplace"), rl.fit(packed, model="hrm", starts=1)]
    on_disk = StoredRatings(open_packed(packed))
    found = [rl.fit(on_disk, model="gmf", method="laplace"), rl.fit(on_disk, model="hrm", starts=1)]
    for one, other in zip(whole, found, strict=True):
        assert other.loglik == pytest.approx(one.loglik, rel=ROUNDING)
        np.testing.assert_allclose(other.raters["kappa"], one.raters["kappa"], atol=ESTIMATES)
    assert found[0].diagnose(on_disk).flags.equals(whole[0].diagnose(rl.read(packed)).flags)


def test_a_part_with_some_of_the_cells_adds_its_scores_where_they_belong():
    counts, sums, tables, nodes, scores = logistic_problem(linear=True)
    assert sums is not None
    few, own = counts[:5], np.unique(counts[:5].indices)
    part = replace(Part.of(few[:, own].tocsr(), sums[:5]), own=own, n_cells=counts.shape[1])
    found = in_full(part.covariance(tables, nodes, scores))
    expected = written_out_covariance(few, sums[:5], tables, nodes, scores)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())

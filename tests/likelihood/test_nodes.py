"""Nodes: plain, nested, and of two abilities."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats

from raterlens.kernels import posterior_pass
from raterlens.likelihood.engines.compiled import CompiledEngine
from raterlens.likelihood.engines.contract import Tables
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.nodes import (
    MOST_NODES,
    STENCIL,
    Moments,
    Nodes,
    ProductNodes,
    error_between,
    finer,
    first_nodes,
    midway,
    nested,
    nodes_for,
    weights_between,
)
from tests.support.engine_problems import logistic_problem, written_out_covariance


def test_nodes_integrate_a_normal():
    nodes = Nodes.equally_spaced(-8, 8, 0.3)
    weight = np.exp(nodes.log_weights)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(weight, stats.norm.pdf(nodes.points) * nodes.step, rtol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(-8, 8), (-7.95, 8.05), (-1.01, 0.52), (0.1, 0.11)])
def test_nodes_reach_both_ends_and_lie_on_a_lattice_through_0(low, high):
    nodes = Nodes.equally_spaced(low, high, 0.3)
    assert nodes.low <= low
    assert nodes.high >= high
    np.testing.assert_allclose(nodes.points / 0.3, np.round(nodes.points / 0.3), atol=1e-9)


def test_no_grid_has_more_nodes_than_the_limit():
    nodes = Nodes.equally_spaced(-8, 8, 1e-9)
    assert nodes.at_limit
    assert len(nodes.points) <= MOST_NODES + 2
    assert nodes.low <= -8
    assert nodes.high >= 8
    np.testing.assert_allclose(np.exp(nodes.log_weights).sum(), 1, rtol=1e-12)
    assert not Nodes.equally_spaced(-8, 8, 0.01).at_limit


# Interpolation is exact to 1e-11 here; posteriors on the nodes that they are not too narrow for, to 1e-9 each.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
COARSE, PARTS = Nodes.equally_spaced(-9, 9, 0.2, parts=5), 5


def uneven(nodes, *, linear):
    """Every twentieth student has ratings enough for a standard deviation of half a step; half of them passes."""
    counts, sums, tables, nodes, scores = logistic_problem(linear=linear, nodes=nodes)
    often = np.where(np.arange(counts.shape[0]) % 20, 1.0, 100.0)
    counts = sparse.csr_array(sparse.diags_array(often, format="csr") @ counts)
    cells = tables.cells + 0.5 * np.multiply.outer(scores.steepest, nodes.points)
    return counts, sums, Tables(cells, tables.linear), nodes, scores


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("kind", [NumpyEngine, CompiledEngine])
def test_engines_give_what_fine_nodes_give(kind, linear):
    counts, sums, tables, nodes, scores = uneven(COARSE, linear=linear)
    *_, fine_tables, fine, fine_scores = uneven(Nodes.equally_spaced(-9, 9, 0.02), linear=linear)
    engine, exact = kind(counts, sums), NumpyEngine(counts, sums)
    moments, expected_moments = engine.moments(tables, nodes), exact.moments(fine_tables, fine)
    assert expected_moments.sd.min() < 0.5 * nodes.step
    np.testing.assert_allclose(moments.mean, expected_moments.mean, **CLOSE)
    np.testing.assert_allclose(moments.sd, expected_moments.sd, **CLOSE)
    found, expected = engine.evaluate(tables, nodes), exact.evaluate(fine_tables, fine)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-10)
    # Whatever is smooth has the same average.
    curve, fine_curve = (np.tanh(0.4 * each.points) for each in (nodes, fine))
    np.testing.assert_allclose(found.counts @ curve, expected.counts @ fine_curve, **CLOSE)
    if linear:
        np.testing.assert_allclose(found.linear, expected.linear, **CLOSE)
    own = np.concatenate([posterior @ curve for _, posterior, _ in engine.posteriors(tables, nodes)])
    expected_own = [posterior @ fine_curve for _, posterior, _ in exact.posteriors(fine_tables, fine)]
    np.testing.assert_allclose(own, np.concatenate(expected_own), **CLOSE)
    covariance = engine.covariance(tables, nodes, scores)
    covariance = covariance if isinstance(covariance, np.ndarray) else covariance.toarray()
    written = written_out_covariance(counts, sums, fine_tables, fine, fine_scores)
    np.testing.assert_allclose(covariance, written, rtol=1e-6, atol=1e-6 * np.abs(written).max())


@pytest.mark.parametrize("above", [-9.0, 0.0], ids=["everywhere", "in part"])
def test_a_logarithm_that_is_infinite_is_left_alone(above):
    """Nothing can be interpolated there: the posterior is as it looks on the nodes."""
    counts, sums, tables, nodes, _ = uneven(COARSE, linear=True)
    tables.cells[0, nodes.points >= above] = -np.inf
    plain = Nodes(nodes.points, nodes.log_weights)
    has = counts[:, [0]].toarray()[:, 0] > 50
    assert has.any()
    of_cell = CompiledEngine(counts[has], sums[has])
    found, expected = (of_cell.evaluate(tables, grid) for grid in (nodes, plain))
    assert found.loglik == expected.loglik
    np.testing.assert_array_equal(found.counts, expected.counts)


def test_kernels_interpolate_between_as_many_nodes():
    assert posterior_pass.STENCIL == STENCIL


def test_weights_keep_polynomials():
    weights = weights_between(PARTS)
    at = np.arange(len(weights)) / PARTS / STENCIL
    for power in (0, 1, 5, 11):
        found = weights @ (np.arange(STENCIL) / STENCIL) ** power
        np.testing.assert_allclose(found, at**power, atol=1e-9)


def test_the_error_in_between_is_foreseen():
    nodes = Nodes.equally_spaced(-9, 9, 0.6)
    curve = np.log1p(np.exp(2 * nodes.points))[None]
    fine = replace(nodes, parts=2)
    found = fine.refined(curve) - np.log1p(np.exp(2 * fine.fine().points))
    inside = np.abs(fine.fine().points) < 1
    error = np.abs(found[:, inside]).max()
    assert error > 1e-7
    assert error <= error_between(curve) < 3 * error


def test_the_fine_nodes_are_those_of_the_trapezoidal_rule():
    fine = COARSE.fine()
    same = Nodes.equally_spaced(fine.low, fine.high, fine.step)
    inside = np.abs(fine.points) < 5
    expected = -0.5 * fine.points**2 - 0.5 * np.log(2 * np.pi) + np.log(fine.step)
    assert fine.step == pytest.approx(same.step)
    np.testing.assert_allclose(fine.log_weights[inside], expected[inside], rtol=1e-11)


def test_moments_of_two_normal_variables() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 7.0)
    weight = np.exp(nodes.log_weights)
    for value, expected in (
        (np.ones_like(weight), 1.0),
        (nodes.points**2, 1.0),
        (nodes.z**4, 3.0),
        (nodes.points**2 * nodes.z**2, 1.0),
        (np.exp(nodes.points + nodes.z), np.e),
    ):
        np.testing.assert_allclose(weight @ value, expected, rtol=1e-7)
    assert (nodes.points**2 + nodes.z**2 <= 49.0).all()


def test_the_other_ability_in_the_first_place() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 5.0)
    turned = nodes.turned()
    np.testing.assert_array_equal(turned.points, nodes.z)
    np.testing.assert_array_equal(turned.turned().points, nodes.points)
    np.testing.assert_array_equal(turned.log_weights, nodes.log_weights)


def test_finer_grids_have_half_the_steps_and_no_grid_grows_beyond_bounds() -> None:
    nodes = ProductNodes.of((0.4, 0.5), 5.0)
    np.testing.assert_allclose(nodes.finer().steps, [0.2, 0.25])
    assert nodes.finer().reach > nodes.reach
    assert len(ProductNodes.of((1e-3, 1e-3), 6.0).points) < 1.1 * MOST_NODES


def test_a_grid_reaches_as_far_as_it_was_asked_to() -> None:
    """Within a step: the outermost nodes lie inside the circle."""
    for steps in ((0.1, 0.3), (0.3, 0.1)):
        nodes = ProductNodes.of(steps, 4.0)
        assert 3.9 < nodes.reach <= 4.0
        assert 4.4 < nodes.finer().reach <= nodes.reach + 0.5


# ----------------------------------------------------------------------------------------------------
# Nodes: plain, nested, and of two abilities.


def test_nodes_follow_the_widths_of_the_posteriors():
    wide = nodes_for(Moments(np.zeros(10), np.full(10, 0.5)))
    narrow = nodes_for(Moments(np.zeros(10), np.full(10, 0.05)))
    assert wide.step == pytest.approx(10 * narrow.step, rel=0.1)
    assert finer(wide).step == pytest.approx(wide.step / 2)
    assert finer(wide).low < wide.low


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_midway_the_trapezoidal_rule_is_off_the_other_way(parts):
    """And where steps are divided, the rule on the finest nodes is, too."""
    nodes = Nodes.equally_spaced(-6.0, 6.0, 0.5)
    found = midway(replace(nodes, parts=parts))
    assert found.low < nodes.low < nodes.high < found.high
    assert found.step == pytest.approx(0.5)

    def error(low: float, high: float, step: float) -> float:
        at = np.arange(low, high, step)
        return step * stats.norm.pdf(at, 0.1, 0.7 * step).sum() - 1

    coarse, fine = (
        [error(each.low, each.high, step) for each in (nodes, found)] for step in (0.5, 0.5 / parts)
    )
    assert fine[1] == pytest.approx(-fine[0], rel=0.01)
    assert abs(coarse[1] - coarse[0]) > 0.99 * abs(coarse[0])


def test_nodes_do_not_grow_with_the_number_of_students_who_are_alike():
    few, many = (nodes_for(Moments(np.zeros(n), np.full(n, 0.5))) for n in (1_000, 1_000_000))
    assert len(few.points) == len(many.points)


def test_a_posterior_without_width_gets_the_finest_grid_there_is():
    widths = np.array([0.0, 0.5, 1.0])
    for nodes in (nodes_for(Moments(np.zeros(3), widths)), first_nodes(widths)):
        assert 0.99 * MOST_NODES < len(nodes.points) < 1.01 * MOST_NODES


def test_nodes_reach_the_tail_of_a_posterior_cut_off_at_one_side():
    """A student who passes whatever is asked up to ability c has the normal above c as posterior."""
    for cut in (0.0, 1.5, 2.5):
        upper = stats.truncnorm(cut, np.inf)
        nodes = nodes_for(Moments(np.full(100, upper.mean()), np.full(100, upper.std())), accuracy=1e-6)
        assert 100 * upper.sf(nodes.high) < 1e-6
        assert nodes.high < 9


@pytest.mark.parametrize(
    ("narrow", "students", "slope", "divided"),
    [
        (40, 10_000, 2.0, True),
        (1_000, 10_000, 2.0, False),  # too many
        (0, 10_000, 2.0, False),
        (2, 500, 2.0, False),  # too few students altogether
        (40, 10_000, 20.0, False),  # tables that turn too fast
    ],
)
def test_steps_are_divided_for_a_few_among_many(narrow, students, slope, divided):
    sd = np.full(students, 0.3)
    sd[:narrow] = 0.05
    plain = nodes_for(Moments(np.zeros(students), sd))
    found = nested(plain, sd, lambda nodes: -np.log1p(np.exp(slope * nodes.points))[None])
    assert (found.parts > 1) == divided
    assert (found is plain) != divided
    if divided:
        assert found.step > 1.4 * plain.step
        assert found.finest_step <= plain.step
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=2 * found.step)
        assert finer(found).finest_step == pytest.approx(found.finest_step / 2)


def test_steps_are_not_divided_where_a_score_is_impossible():
    sd = np.append(np.full(10_000, 0.3), 0.05)
    plain = nodes_for(Moments(np.zeros(len(sd)), sd))
    assert nested(plain, sd, lambda nodes: np.where(nodes.points > 1, 0.0, -np.inf)[None]) is plain


def test_a_grid_without_narrow_posteriors_has_one_step():
    nodes = Nodes.equally_spaced(-5, 5, 0.25)
    assert nodes.finest_step == nodes.step

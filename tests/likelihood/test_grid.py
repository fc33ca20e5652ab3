from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from raterlens.likelihood.nodes import (
    MOST_NODES,
    Moments,
    Nodes,
    finer,
    first_nodes,
    midway,
    nested,
    nodes_for,
)


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

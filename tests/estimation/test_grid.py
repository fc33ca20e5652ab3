import numpy as np
import pytest
from scipy import stats

from raterlens.engine.protocol import MOST_NODES, Moments
from raterlens.estimation.grid import finer, first_nodes, nodes_for


def test_nodes_follow_the_widths_of_the_posteriors():
    wide = nodes_for(Moments(np.zeros(10), np.full(10, 0.5)))
    narrow = nodes_for(Moments(np.zeros(10), np.full(10, 0.05)))
    assert wide.step == pytest.approx(10 * narrow.step, rel=0.1)
    assert finer(wide).step == pytest.approx(wide.step / 2)
    assert finer(wide).low < wide.low


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

"""Some of the recorded small designs: all of them are compared by `python -m benchmarks.truth.recorded_designs`."""

import pytest

from benchmarks.truth.recorded_designs import found, moved, recorded

# One for each way of fitting, and two more of ordered scores; quick ones.
SOME = (2, 3, 10, 12, 16, 22, 24, 34, 35, 36, 38, 45)


@pytest.fixture(scope="module")
def known():
    return recorded()


@pytest.mark.parametrize("number", SOME)
def test_small_designs_give_the_recorded_numbers(known, number):
    assert moved(known[number], found(number)) == []


def test_a_number_that_moved_is_named():
    old = {"loglik": [-10.0], "kappa": [0.5, None]}
    assert moved(old, {"loglik": [-10.0], "kappa": [0.5, None]}) == []
    assert moved(old, {"loglik": [-10.1], "kappa": [0.5, 0.2]}) == [
        "loglik[0] -10.0 -> -10.1",
        "kappa[1] None -> 0.2",
    ]

"""Two runs compared: what moved beyond chance, and what did not."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics.monitoring import changes, in_words, nested


def run(slope: list[float], seed: int) -> rl.Fit:
    return rl.fit(rl.simulate(students=200, raters=4, items=3, slope=slope, seed=seed).ratings, model="gmf")


@pytest.fixture(scope="module")
def before() -> rl.Fit:
    return run([1.8, 1.8, 1.8, 1.8], 1)


def test_a_judge_that_got_worse_is_named_and_nobody_else(before):
    now = run([1.8, 1.8, 1.8, 0.4], 2)
    found = changes(now, before, ("sharpness",))
    assert found.filter("clear")["rater"].to_list() == ["R4"]
    (line,) = in_words(found)
    assert line.startswith("R4: sharpness 0.")
    gate = rl.gate(now, min_sharpness=0.1, baseline=before)
    assert gate
    assert gate.changed == (line,)
    assert '"changes": [{' in gate.to_json()
    assert line in gate.to_markdown()


def test_raters_of_one_run_alone_are_passed_over(before):
    ratings = rl.simulate(students=100, raters=6, items=2, seed=3).ratings
    found = changes(rl.fit(ratings, model="gmf", standard_errors=False), before, ("kappa", "severity"))
    assert found["rater"].unique().sort().to_list() == ["R1", "R2", "R3", "R4"]
    assert not found["clear"].any()  # without standard errors nothing is clear


def test_an_earlier_fit_of_the_first_ratings_is_known_for_one(before):
    ratings = rl.simulate(students=200, raters=4, items=3, slope=[1.8] * 4, seed=1).ratings
    again = rl.simulate(students=200, raters=4, items=3, slope=[1.8] * 4, seed=2).ratings
    first = rl.fit(ratings.sample(ratings.n_ratings // 2), model="gmf", halo="none")
    assert nested(rl.fit(ratings, model="gmf", halo="none"), first)
    assert not nested(rl.fit(again, model="gmf", halo="none"), first)  # the same labels, other students
    assert not nested(first, rl.fit(ratings, model="gmf", halo="none"))
    wider = rl.simulate(students=200, raters=5, items=3, slope=[1.8] * 5, seed=2).ratings
    assert not nested(
        rl.fit(wider, model="gmf", halo="none"), before
    )  # more ratings of students of the same names


def test_changes_since_the_first_half_are_compared_with_what_can_change():
    # Where nothing changes, the difference is as large as its spread says.
    z = []
    for seed in range(8):
        ratings = rl.simulate(students=160, raters=10, items=3, slope=1.5, seed=[9, seed]).ratings
        now, then = (
            rl.fit(ratings, model="gmf", halo="none"),
            rl.fit(ratings.sample(ratings.n_ratings // 2), model="gmf", halo="none"),
        )
        one, two = (fit.raters.select("n", "sharpness", "sharpness_se").to_numpy().T for fit in (then, now))
        z += list((two[1] - one[1]) / (two[2] * np.sqrt(two[0] / one[0] - 1)))
    assert 0.8 < np.std(z) < 1.3

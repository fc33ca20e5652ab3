"""Two runs compared: what moved beyond chance, and what did not."""

import pytest

import raterlens as rl
from raterlens.diagnostics.earlier_fit import changes, in_words


def run(slope: list[float], seed: int) -> rl.Fit:
    return rl.fit(rl.simulate(students=200, raters=4, items=3, slope=slope, seed=seed).ratings)


@pytest.fixture(scope="module")
def before() -> rl.Fit:
    return run([1.8, 1.8, 1.8, 1.8], 1)


def test_a_judge_that_got_worse_is_named_and_nobody_else(before):
    now = run([1.8, 1.8, 1.8, 0.4], 2)
    found = changes(now, before, ("sharpness",))
    assert found.filter("clear")["rater"].to_list() == ["R4"]
    (line,) = in_words(found)
    assert line.startswith("R4: sharpness was 0.")
    gate = rl.gate(now, min_sharpness=0.1, baseline=before)
    assert gate
    assert gate.changed == (line,)
    assert '"changes": [{' in gate.to_json()
    assert line in gate.to_markdown()


def test_raters_of_one_run_alone_are_passed_over(before):
    ratings = rl.simulate(students=100, raters=6, items=2, seed=3).ratings
    found = changes(rl.fit(ratings, standard_errors=False), before, ("kappa", "severity"))
    assert found["rater"].unique().sort().to_list() == ["R1", "R2", "R3", "R4"]
    assert not found["clear"].any()  # without standard errors nothing is clear

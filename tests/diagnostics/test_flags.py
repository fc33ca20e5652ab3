"""Flags against planted faults, and panels without any."""

from dataclasses import replace

import numpy as np
import pytest

import raterlens as rl
from benchmarks.planted_faults import FAULTS, diagnosed, false_alarms, found, panel


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_flagged(fault):
    """Two seeds of the hundred that `python -m benchmarks.planted_faults` runs."""
    assert all(found(fault, seed).flagged for seed in (0, 1))


def test_turns_along_an_even_number_of_items_are_turns_and_nobody_else_seems_biased():
    """Then every item always gets the same score, whatever the work."""
    drawn = rl.simulate(students=200, raters=8, items=4, raters_per_student=3, seed=2).ratings
    mine, score = np.flatnonzero(drawn.rater == 0), drawn.score.copy()
    score[mine] = np.arange(len(mine)) % 2
    flags = diagnosed(replace(drawn, score=score)).flags
    assert flags.select("rater", "effect").rows() == [("R1", "alternating")]


def test_clean_panels_are_left_alone():
    assert sum(false_alarms(seed, ordered)[0] for seed in range(3) for ordered in (False, True)) <= 3


def test_every_flag_says_what_how_much_and_the_next_step():
    diagnosis = diagnosed(panel(0, "reversed"))
    row = diagnosis.flags.row(0, named=True)
    assert (row["rater"], row["effect"]) == ("R01", "reversed")
    assert row["low"] < row["size"] < row["high"] < 0
    assert "right way round" in row["next_step"]
    assert "'R01'" in diagnosis.warnings()[0]
    assert "R01: reversed" in diagnosis.summary()

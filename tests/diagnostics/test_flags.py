"""Flags against planted faults, and panels without any."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import FAULTS, diagnosed, false_alarms, found, panel
from raterlens.diagnostics.flags import flags


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_flagged(fault):
    """Two seeds of the hundred that `python -m benchmarks.truth.planted_faults` runs."""
    assert all(found(fault, seed).flagged for seed in (0, 1))


def test_turns_along_an_even_number_of_items_are_turns_and_nobody_else_seems_biased():
    """Then every item always gets the same score, whatever the work."""
    drawn = rl.simulate(students=200, raters=8, items=4, raters_per_student=3, seed=2).ratings
    mine, score = np.flatnonzero(drawn.rater == 0), drawn.score.copy()
    score[mine] = np.arange(len(mine)) % 2
    flags = diagnosed(replace(drawn, score=score)).flags
    assert flags.select("rater", "effect").rows() == [("R1", "alternating")]


@pytest.mark.nightly
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


def table(**columns: list[float]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    names = [
        "responsiveness",
        "responsiveness_se",
        "alternation",
        "alternation_z",
        "centrality",
        "centrality_se",
        "halo",
        "halo_se",
    ]
    nothing = {"responsiveness": 1.0, "responsiveness_se": 0.1, "alternation": 0.0, "alternation_z": 0.0}
    return pl.DataFrame({name: columns.get(name, [nothing.get(name, float("nan"))] * n) for name in names})


RATERS = pl.DataFrame({"rater": ["A", "B", "C"], "infit": [1.0] * 3, "infit_z": [0.0] * 3})


def test_a_graver_fault_silences_the_others():
    effects = table(responsiveness=[-0.8, 1.0, 1.1], halo=[0.3, 0.3, 0.0], halo_se=[0.02, 0.02, 0.02])
    found = flags(RATERS, effects, {}, None)
    assert found.select("rater", "effect").rows() == [("A", "reversed"), ("B", "halo")]
    row = found.row(1, named=True)
    assert (row["low"], row["high"]) == pytest.approx((0.3 - 1.96 * 0.02, 0.3 + 1.96 * 0.02), abs=1e-5)


def test_what_is_certain_but_small_is_no_flag():
    effects = table(halo=[0.04, 0.0, 0.0], halo_se=[0.001, 0.01, 0.01])
    assert flags(RATERS, effects, {}, None).height == 0


@pytest.mark.parametrize("unit", ["logits", "probits", "units of the cloglog link"])
def test_severity_on_a_level_is_told_in_the_units_of_the_link(unit):
    bias = pl.DataFrame(
        {
            "rater": ["A", "A"],
            "item": ["x", "y"],
            "n": [20, 20],
            "mean_score": [0.3, 0.6],
            "expected": [0.55, 0.5],
            "severity": [1.2, -0.7],
            "severity_se": [0.2, 0.2],
            "z": [6.0, -3.5],
            "p_adjusted": [1e-6, 1e-3],
        }
    )
    found = flags(RATERS, table(halo=[0.0] * 3), {"item": bias}, None, unit)
    assert found["effect"].to_list() == ["severe on item"]
    assert f"1.2 {unit} more severe on item 'x' than elsewhere" in found["evidence"][0]


def test_central_scores_are_told_as_odds():
    """exp(0.7) = 2.0: right whatever the link."""
    effects = table(centrality=[0.7, 0.0, 0.0], centrality_se=[0.1, 0.1, 0.1])
    row = flags(RATERS, effects, {}, None).row(0, named=True)
    assert row["effect"] == "central"
    assert "2.0 times" in row["evidence"]
    assert "logit" not in row["evidence"]


def test_an_unusual_use_of_the_scale_that_the_model_has_comes_with_a_step():
    use = ["keeps to the middle", "", "avoids 3"]
    found = flags(RATERS, table(halo=[0.0] * 3), {}, None, use=use)
    assert found["rater"].to_list() == ["A", "C"]
    assert found["effect"].to_list() == ["central", "avoids 3"]
    assert found["next_step"][1] == "agree on what deserves a 3"
    assert "3 less often" in found["evidence"][1]

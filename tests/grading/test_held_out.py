"""Readings held out: who they are, and that raters agree as often as foreseen."""

import numpy as np

import raterlens as rl
from benchmarks.truth.held_out_agreement import held_out_agreement
from raterlens.grading.grades import cuts_of


def test_raters_agree_as_often_as_foreseen():
    off, variance, n = 0.0, 0.0, 0
    for seed in range(6):
        drawn = rl.simulate(
            students=400, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=seed
        )
        first = drawn.ratings.student < 200
        fit = rl.fit(drawn.ratings.subset(first, keep_levels=True), model="gmf", standard_errors=False)
        others = drawn.ratings.subset(~first, keep_levels=True)
        found = held_out_agreement(fit.calibration, others, cuts_of(fit.calibration, 1.0), seed % 3)
        p, agreed = found["foreseen"].to_numpy(), found["agreed"].to_numpy()
        off, variance, n = off + np.sum(agreed - p), variance + np.sum(p * (1 - p)), n + len(p)
    assert n == 1200
    assert abs(off) < 3 * np.sqrt(variance)


def test_only_students_with_several_readings_count_and_each_reading_has_its_turn():
    drawn = rl.simulate(students=30, raters=4, items=2, common_students=10, seed=3)
    fit = rl.fit(drawn.ratings, model="gmf")
    cuts = cuts_of(fit.calibration, 0.5)
    found = [held_out_agreement(fit.calibration, drawn.ratings, cuts, k) for k in range(4)]
    assert [rows.height for rows in found] == [10] * 4
    assert [rows["rater"].unique().to_list() for rows in found] == [["R1"], ["R2"], ["R3"], ["R4"]]
    seen = drawn.ratings.table().filter(rater="R1", student=found[0]["student"][0])["score"].mean()
    assert found[0]["agreed"][0] == ((seen >= 0.5) == (found[0]["grade"][0] == "pass"))

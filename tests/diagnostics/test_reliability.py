"""Reliability against the truth of simulated panels."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics.fit_statistics import reliability


def test_reliability_of_students_is_the_squared_correlation_with_the_truth():
    drawn = rl.simulate(students=2_000, raters=10, items=4, raters_per_student=3, seed=3)
    fit = rl.fit(drawn.ratings, model="gmf")
    table = reliability(fit.table("students"), fit.table("raters"), fit.table("items"))
    students = table.row(0, named=True)
    truth = np.corrcoef(drawn.truth.ability, fit.table("students")["theta"])[0, 1] ** 2
    assert students["reliability"] == pytest.approx(truth, abs=0.02)
    assert students["reliability"] == pytest.approx(
        students["separation"] ** 2 / (1 + students["separation"] ** 2)
    )


def test_chi_square_of_equal_raters_is_what_chance_gives_and_of_different_ones_is_not():
    same = rl.fit(
        rl.simulate(students=400, raters=10, items=4, raters_per_student=3, severity=0.0, seed=2).ratings,
        model="gmf",
    )
    other = rl.fit(
        rl.simulate(students=400, raters=10, items=4, raters_per_student=3, seed=2).ratings, model="gmf"
    )
    p = [
        reliability(fit.table("students"), fit.table("raters"), fit.table("items")).row(1, named=True)["p"]
        for fit in (same, other)
    ]
    assert p[0] > 0.01
    assert p[1] < 1e-6


def test_fair_averages_forgive_severity():
    """Raters of one slope: a fair average is the pass rate of an average student, whoever else was rated."""
    severity = np.array([1.0, -1.0, 0.0, 0.0])
    drawn = rl.simulate(
        students=800,
        raters=4,
        items=3,
        raters_per_student=2,
        severity=severity,
        slope=1.0,
        difficulty=0.0,
        seed=2,
    )
    found = rl.fit(drawn.ratings, model="tfm").diagnose(drawn.ratings)
    fair = found.table("raters")["fair_average"].to_numpy()
    assert fair == pytest.approx(1 / (1 + np.exp(severity)), abs=0.05)
    students = found.table("students")["fair_average"].to_numpy()
    assert np.corrcoef(students, 1 / (1 + np.exp(-drawn.truth.ability)))[0, 1] > 0.7

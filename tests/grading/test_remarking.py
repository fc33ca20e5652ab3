"""Re-marking and readings held out, against enumeration and against what marks then do."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.held_out_agreement import held_out_agreement
from raterlens.base.errors import OptionError
from raterlens.estimation.scoring import place
from raterlens.grading import decisions as remarking
from raterlens.grading.grades import Grid, cuts_of, graded

# -------------------------------------- re-marking, against enumeration and against what the marks then do


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(students=80, raters=5, items=2, raters_per_student=1, seed=6)


@pytest.fixture(scope="module")
def fit(drawn):
    return rl.fit(drawn.ratings, model="gmf", standard_errors=False)


def _with_mark(ratings, student, rater, scores):
    rows = pl.DataFrame(
        {"student": [student] * 2, "rater": [rater] * 2, "item": ratings.items, "score": scores}
    )
    return rl.read(pl.concat([ratings.table(), rows.cast(ratings.table().schema)]))


def test_the_gain_is_the_mean_over_what_the_rater_may_say(drawn, fit):
    ratings, known = drawn.ratings, fit.calibration
    first = fit.remark(ratings, cut=0.5, budget=1).table.row(0, named=True)
    cuts = cuts_of(known, 0.5)

    def right(table):
        placed = place(known, table)
        found = graded(Grid(known, placed, placed.abilities(), cuts), np.zeros(table.n_students))
        return found[table.students.to_list().index(first["student"])].max(), placed.loglik()

    now, before = right(ratings)
    then = 0.0
    for scores in ([0, 0], [0, 1], [1, 0], [1, 1]):
        p, after = right(_with_mark(ratings, first["student"], first["rater"], scores))
        then += np.exp(after - before) * p
    assert first["right"] == pytest.approx(now, abs=1e-8)
    assert first["gain"] == pytest.approx(then - now, abs=1e-6)


def test_no_other_mark_gains_more(drawn, fit):
    ratings = drawn.ratings
    best = fit.remark(ratings, cut=0.5, budget=1).gain
    for rater in ratings.raters:
        assert fit.remark(ratings, cut=0.5, budget=1, raters=[rater]).gain <= best + 1e-12


def test_marks_go_to_raters_who_have_not_marked_the_student_and_within_their_share(drawn, fit):
    ratings = drawn.ratings
    plan = fit.remark(ratings, cut=0.5, budget=30, per_rater=8, raters=fit.raters["rater"])
    assert plan.table.height == 30
    assert plan.table.group_by("rater").len()["len"].max() <= 8
    marked = set(ratings.table().select("student", "rater").unique().iter_rows())
    assert not marked & set(plan.table.select("student", "rater").iter_rows())
    assert plan.table.select("student", "rater").is_unique().all()
    only = fit.remark(ratings, cut=0.5, budget=5, raters=["R1", "R2"])
    assert set(only.table["rater"]) <= {"R1", "R2"}


def test_several_marks_of_one_student_add_up(drawn, fit):
    """A second mark is planned given what the first may say: both together are worth what enumeration says."""
    ratings = drawn.ratings.subset(drawn.ratings.student < 2)
    plan = fit.remark(ratings, cut=0.5, budget=6, per_rater=9, raters=fit.raters["rater"]).table
    whose = plan["student"].mode()[0]
    own = plan.filter(student=whose)
    assert own.height > 1
    assert (own["gain"] >= 0).all()
    known, cuts = fit.calibration, cuts_of(fit.calibration, 0.5)
    placed = place(known, ratings)
    now, then = placed.loglik(), 0.0
    marks = [own["rater"][k] for k in (0, 1)]
    for code in range(16):
        scores = [code >> k & 1 for k in range(4)]
        table = _with_mark(_with_mark(ratings, whose, marks[0], scores[:2]), whose, marks[1], scores[2:])
        after = place(known, table)
        found = graded(Grid(known, after, after.abilities(), cuts), np.zeros(table.n_students))
        then += np.exp(after.loglik() - now) * found[table.students.to_list().index(whose)].max()
    assert own["right"][0] + own["gain"][:2].sum() == pytest.approx(then, abs=1e-6)


def test_large_panels_are_represented_by_their_most_useful_raters(drawn, fit, monkeypatch):
    whole = fit.remark(drawn.ratings, cut=0.5, budget=10, per_rater=10)
    monkeypatch.setattr(remarking, "MOST_CANDIDATES", 2)
    some = fit.remark(drawn.ratings, cut=0.5, budget=10, per_rater=10)
    assert some.table["rater"].n_unique() <= 2
    assert 0.8 * whole.gain < some.gain <= whole.gain + 1e-9


def test_sure_grades_need_no_marks():
    easy = rl.simulate(
        students=40, raters=4, items=8, slope=4.0, ability=np.repeat([-2.0, 2.0], 20), seed=2
    ).ratings
    plan = rl.fit(easy, model="tfm").remark(easy, cut=0.5, budget=5)
    assert plan.gain < 0.01
    assert ("next to nothing" in plan.summary()) or ("No further mark" in plan.summary())


def test_words_say_what_it_gains(drawn, fit):
    plan = fit.remark(drawn.ratings, cut=0.5, budget=12)
    assert plan.summary().startswith("12 further marks of ")
    assert "Marks per rater: " in plan.summary()


def test_a_budget_below_one_and_unknown_raters_are_refused(drawn, fit):
    with pytest.raises(OptionError, match="budget is 0; give the number of further marks"):
        fit.remark(drawn.ratings, cut=0.5, budget=0)
    with pytest.raises(OptionError, match="unknown rater 'R9'"):
        fit.remark(drawn.ratings, cut=0.5, raters=["R9"])


def test_raters_who_share_a_second_ability_are_refused_but_decisions_are_made():
    ratings = rl.simulate(students=120, raters=6, items=2, seed=4).ratings
    fit = rl.fit(ratings, model="gmf", trusted=["R1"], shared="yes")
    found = fit.decisions(ratings, cut=0.5)
    assert found.quality["method"].to_list() == ["posterior"]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-12)
    with pytest.raises(OptionError, match="share a second ability"):
        fit.remark(ratings, cut=0.5)
    with pytest.raises(OptionError, match="only the students who were fitted"):
        fit.decisions(ratings.subset(ratings.student < 10), cut=0.5)


def test_who_needs_attention_gets_no_further_marks_unless_asked():
    severity = [2.5, -2.5, 0.0, 0.1, -0.1, 0.0]
    drawn = rl.simulate(
        students=150, raters=6, items=4, raters_per_student=2, slope=1.8, severity=severity, seed=3
    )
    fit = rl.fit(drawn.ratings)
    needing = set(fit.verdicts().filter(pl.col("standard").str.starts_with("too "))["rater"])
    assert {"R1", "R2"} <= needing
    plan = fit.remark(cut=0.5, budget=15)
    assert not needing & set(plan.marks["rater"])
    assert set(plan.left_out) == needing
    assert "attention first." in plan.summary()
    asked = fit.remark(cut=0.5, budget=15, raters=["R1", "R3"], not_by=["R3"])
    assert set(asked.marks["rater"]) == {"R1"}
    assert asked.left_out == ()
    assert "R4" not in set(fit.remark(cut=0.5, budget=15, not_by=["R4"]).marks["rater"])
    with pytest.raises(OptionError, match="is left to mark"):
        fit.remark(cut=0.5, raters=["R3"], not_by=["R3"])
    with pytest.raises(OptionError, match="unknown rater 'R9'"):
        fit.remark(cut=0.5, not_by=["R9"])


# ----------------------------- readings held out: who they are, and that raters agree as often as foreseen


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

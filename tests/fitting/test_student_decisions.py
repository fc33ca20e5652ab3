"""Decisions and what to mark again, as methods of a fit: the examples are the tests; here is what they leave out."""

import raterlens as rl


def test_decisions_can_be_handed_on_to_remark():
    ratings = rl.simulate(students=60, raters=4, items=3, raters_per_student=2, seed=8).ratings
    fit = rl.fit(ratings, model="gmf")
    found = fit.decisions(ratings, cut=0.6, grades=("refer", "accept"), safe=0.8)
    plan = fit.remark(ratings, cut=found, budget=5)
    again = fit.remark(ratings, cut=0.6, budget=5)
    assert plan.table["gain"].to_list() == again.table["gain"].to_list()
    assert set(plan.table["grade"]) <= {"refer", "accept"}
    assert plan.unsafe == found.unsafe < again.unsafe
    assert (plan.table["becomes_safe"] >= again.table["becomes_safe"]).all()


def test_a_loaded_fit_decides_as_the_fit_did(tmp_path):
    ratings = rl.simulate(students=60, raters=4, items=3, raters_per_student=2, seed=8).ratings
    fit = rl.fit(ratings, model="gmf")
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert loaded.decisions(ratings, cut=0.6).table.equals(fit.decisions(ratings, cut=0.6).table)

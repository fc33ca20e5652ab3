"""What is known of a panel as a whole."""

import raterlens as rl
from raterlens.diagnostics.findings import find


def test_with_ratings_everything_and_without_what_the_estimates_say():
    ratings = rl.simulate(students=80, raters=4, items=3, seed=2).ratings
    fit = rl.fit(ratings)
    whole, alone = find(fit, ratings), find(fit)
    assert whole.diagnosis is not None
    assert whole.warnings() == whole.diagnosis.warnings()
    assert whole.consequences.changed == fit.consequences(ratings).changed
    assert [test.of for test in whole.differences.tests] == ["severity", "sharpness", "halo"]
    assert alone.diagnosis is None
    assert alone.warnings() == ()
    assert alone.consequences.changed is None


def test_what_is_shown_is_part_of_the_whole_diagnosis():
    ratings = rl.simulate(students=80, raters=4, items=3, seed=2).ratings
    fit = rl.fit(ratings)
    shown, whole = find(fit, ratings).diagnosis.tables, fit.diagnose(ratings).tables
    assert {*whole} - {*shown} == {"agreement", "curves", "rater pairs", "reliability"}
    for name in {*shown} - {"ability"}:  # a test that starts from what the fit left behind, where it did
        table = shown[name]
        assert table.equals(whole[name].select(table.columns), null_equal=True), name

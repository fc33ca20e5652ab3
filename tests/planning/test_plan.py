"""Plans in one call: panel, people, precision, targets, refusals."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError, RaterlensError
from raterlens.planning.assignment import forbidden_pairs, raters_of, students_of
from raterlens.planning.assumed_panel import DEFINITIVE_SLOPE, AssumedPanel, Spreads, estimated, stated
from raterlens.planning.precision import precision

# ---------------------------------------------------------- rl.plan: a plan in one call, targets, refusals


def test_a_plan_is_reproducible_and_says_what_to_expect(tmp_path: Path) -> None:
    one, two = (rl.plan(120, 6, items=2, common=5, seeded=3, seed=4) for _ in range(2))
    assert one.assignment.equals(two.assignment)
    assert one.readings == 115 * 2 + 6 * 8
    assert one.raters["n"].sum() == one.readings
    assert one.assignment["kind"].value_counts().sort("kind")["count"].to_list() == [30, 230, 18]
    assert "3 seeded scripts marked by everybody" in one.summary()
    assert pl.read_csv(one.save(tmp_path / "a.csv")).height == one.readings
    assert one.expected()["kappa_se"] == one.kappa_se


def test_a_target_is_put_in_words() -> None:
    """The marks that were found may be a number of NumPy's."""
    forbidden = pl.DataFrame({"student": ["S1"], "rater": ["R1"]})
    found = rl.plan(3, 10, items=20, forbidden=forbidden, target_se=0.2)
    assert f"{found.scheme.marks:g} mark" in found.summary()


def test_more_marks_and_more_links_help() -> None:
    errors = [rl.plan(300, 8, items=2, marks=marks).kappa_se for marks in (2, 3, 4)]
    assert errors == sorted(errors, reverse=True)
    alone, linked = (rl.plan(300, 8, items=2, marks=1, common=c).kappa_se for c in (0, 20))
    assert linked < 0.8 * alone


def test_a_ring_of_an_even_number_in_pairs_cannot_tell_slopes_on_one_item() -> None:
    # Agreement of neighbours gives products of slopes; around an even ring, every second may rise and the others fall.
    assert np.isinf(rl.plan(300, 6, scheme="ring").kappa_se)
    assert np.isfinite(rl.plan(300, 7, scheme="ring").kappa_se)


def test_the_cheapest_design_reaches_the_target_and_one_with_fewer_marks_does_not() -> None:
    found = rl.plan(200, 6, items=3, target_se=0.09, target_accuracy=0.75)
    assert found.reached
    assert found.kappa_se <= 0.09
    assert found.accuracy >= 0.75
    scheme = found.scheme
    fewer = rl.plan(200, 6, items=3, marks=max(scheme.marks - 0.125, 1), common=scheme.common)
    assert fewer.kappa_se > 0.09 or fewer.accuracy < 0.75 or scheme.marks == 1
    out_of_reach = rl.plan(50, 4, target_se=0.001)
    assert out_of_reach.reached is False
    assert "No design of this kind" in out_of_reach.summary()


def test_with_an_earlier_fit() -> None:
    fit = rl.fit(rl.simulate(students=150, raters=5, items=2, seed=1).ratings, model="gmf", halo="none")
    found = rl.plan(150, fit=fit, marks=5)
    assert found.raters["rater"].to_list() == fit.raters["rater"].to_list()
    assert found.n_items == 2
    ratio = found.raters["severity_se"].to_numpy() / fit.raters["eta_se"].to_numpy()
    np.testing.assert_allclose(ratio, 1.0, atol=0.15)


def test_schools_that_mark_their_own_students_need_links(tmp_path: Path) -> None:
    alone, linked, seeded = (
        rl.plan(200, 10, items=3, marks=1, groups=5, **more)
        for more in ({"crossed": 0.0}, {"crossed": 0.5}, {"crossed": 0, "seeded": 4})
    )
    assert np.isinf(alone.severity_se)
    assert "cannot be compared" in alone.summary()
    assert alone.ability_se < 1
    assert linked.severity_se < seeded.severity_se < 1
    kinds = linked.assignment.group_by("kind").len().sort("kind")["len"].to_list()
    assert kinds == [100, 200]
    assert seeded.assignment.filter(pl.col("kind") == "seeded")["group"].is_null().all()
    # The same groups by name.
    students, raters = tmp_path / "students.csv", tmp_path / "raters.csv"
    pl.DataFrame({"student": range(200), "group": [f"G{k % 5}" for k in range(200)]}).write_csv(students)
    pl.DataFrame({"rater": range(10), "group": [f"G{k % 5}" for k in range(10)]}).write_csv(raters)
    named = rl.plan(students, raters, items=3, marks=1, crossed=0.5)
    assert named.severity_se == pytest.approx(linked.severity_se)
    own = named.assignment.filter(pl.col("kind") == "own").with_columns(pl.col("rater").cast(int) % 5)
    assert (own["group"].str.slice(1).cast(int) == own["rater"]).all()


def test_the_share_of_students_marked_in_two_schools_for_a_target() -> None:
    found = rl.plan(300, 10, items=4, marks=1, groups=5, target_severity_se=0.35)
    assert found.reached
    assert found.severity_se <= 0.35
    fewer = rl.plan(300, 10, items=4, marks=1, groups=5, crossed=found.scheme.crossed - 1 / 32)
    assert fewer.severity_se > 0.35
    assert rl.plan(300, 10, items=4, marks=1, groups=5, target_severity_se=0.01).reached is False


def test_the_network_shows_the_links() -> None:
    ratings = rl.plan(60, 6, items=1, scheme="blocks", team=3).ratings()
    from raterlens.ratings.design import connected_groups

    assert connected_groups(ratings).n == 2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"scheme": "rong"}, "did you mean 'ring'"),
        ({"marks": 11}, "marks=11.0 with 10 raters; give 1 to 10"),
        ({"common": 501}, "more than the 500 students"),
        ({"seeded": -1}, "seeded=-1"),
        ({"target_accuracy": 1.2}, "give a share between 0.5 and 1"),
        ({"scheme": "blocks", "team": 1}, "teams of 1 cannot give 2 marks"),
        ({"groups": 1}, "groups=1 is not possible; give a whole number of at least 2"),
        ({"groups": 6}, "marks=2.0 with 1 rater in some group"),
        ({"groups": 5, "crossed": 1.5}, "crossed=1.5; give a share from 0 to 1"),
        ({"target_severity_se": 0}, "target_severity_se=0; give a number above 0"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        rl.plan(**options)


# --------------------------------------------------------------- raters and items that a plan reckons with


def test_stated_raters_have_the_stated_spreads() -> None:
    panel = stated(Spreads(slope=2.0, slope_spread=0.3, severity_spread=0.5), 20, 4, 2, 0)
    np.testing.assert_allclose([panel.slope.mean(), panel.slope.std()], [2.0, 0.3])
    np.testing.assert_allclose([panel.severity.mean(), panel.severity.std()], [0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(panel.difficulty.std(), 1.0)
    assert abs(np.corrcoef(panel.slope, panel.severity)[0, 1]) < 0.6


def test_an_earlier_fit_gives_its_raters_and_its_median_to_new_ones() -> None:
    fit = rl.fit(rl.simulate(students=100, raters=4, items=2, seed=1).ratings, model="gmf", halo="none")
    panel = estimated(fit, pl.Series(["R2", "new"]))
    known = fit.calibration
    assert known is not None
    np.testing.assert_allclose(panel.slope, [known.effects["slope"][1], np.median(known.effects["slope"])])
    assert panel.with_definitive().slope[-1] == DEFINITIVE_SLOPE


@pytest.mark.parametrize("options", [{"model": "hrm"}, {"link": "probit"}, {"item_slopes": True}])
def test_a_fit_that_cannot_be_planned_with_is_refused(options: dict[str, object]) -> None:
    fit = rl.fit(rl.simulate(students=60, raters=4, items=2, seed=1).ratings, **{"model": "gmf"} | options)
    with pytest.raises(OptionError, match="a plan cannot rest on a fit"):
        estimated(fit)


def test_a_spread_below_zero_is_refused() -> None:
    with pytest.raises(OptionError, match="severity_spread=-1"):
        Spreads(severity_spread=-1.0)


# ------------------------------------------- students, raters and forbidden pairs, from whatever says them


def test_numbers_labels_loads_and_tables(tmp_path: Path) -> None:
    assert students_of(12).labels.to_list()[0] == "S01"
    assert raters_of(None, None).labels.len() == 10
    assert raters_of(["AM", "BE"], None).loads is None
    given = raters_of({"AM": 10, "BE": 30}, None)
    assert given.loads is not None
    assert given.loads.tolist() == [10.0, 30.0]
    table = tmp_path / "raters.csv"
    pl.DataFrame({"rater": ["AM", "BE"], "load": [5, 7]}).write_csv(table)
    read = raters_of(str(table), None)
    assert read.labels.to_list() == ["AM", "BE"]
    assert read.loads is not None
    assert read.loads.tolist() == [5, 7]


def test_forbidden_pairs_pass_over_strangers() -> None:
    people = students_of(["a", "b"]), raters_of(["AM", "BE"], None)
    pairs = [("b", "AM"), ("zz", "AM"), ("b", "AM")]
    assert forbidden_pairs(pairs, *people).tolist() == [[1, 0]]
    table = pl.DataFrame({"student": ["a"], "rater": ["BE"]})
    assert forbidden_pairs(table, *people).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: students_of(1), "students=1 is not possible; give a whole number of at least 2"),
        (lambda: raters_of(["AM", "AM"], None), "'AM' is there twice"),
        (lambda: raters_of({"AM": -1, "BE": 2}, None), "the load of 'AM' is -1"),
        (
            lambda: forbidden_pairs(pl.DataFrame({"x": ["a"]}), students_of(2), raters_of(2, None)),
            "name one of them 'student'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(call: object, what: str) -> None:
    with pytest.raises(RaterlensError, match=what):
        call()  # type: ignore[operator]


# ------------- expected standard errors beside those of a fit to a large simulated exam of the same design


@pytest.mark.parametrize("categories", [2, 3])
def test_errors_are_those_that_a_fit_reports(categories: int) -> None:
    panel = stated(Spreads(slope_spread=0.2), 4, 2, categories, 0)
    n = 1500
    student, rater = np.repeat(np.arange(n), 2), (np.arange(2 * n) + np.arange(2 * n) // 6) % 4
    items = np.tile(np.arange(2), 2 * n)
    drawn = rl.simulate(
        design=(np.repeat(student, 2), np.repeat(rater, 2), items),
        slope=panel.slope,
        severity=panel.severity,
        difficulty=panel.difficulty,
        thresholds=panel.thresholds,
        seed=1,
    )
    fit = rl.fit(drawn.ratings, model="gmf", reference="perfect", halo="none")
    found = precision(panel, student, rater, np.zeros(n, bool))
    for ours, theirs in (("severity", "eta_se"), ("sharpness", "sharpness_se"), ("kappa", "kappa_se")):
        ratio = getattr(found, ours) / fit.raters[theirs].to_numpy()
        assert abs(ratio.mean() - 1) < 0.05, ours
    errors = fit.students["theta_se"].to_numpy()
    assert abs(found.ability / np.sqrt(np.mean(errors**2)) - 1) < 0.02


def test_what_the_design_does_not_determine_is_infinite() -> None:
    # One pass or fail per student and no links: a pass rate per rater cannot give severity and slope.
    panel = stated(Spreads(), 3, 1, 2, 0)
    found = precision(panel, np.arange(90), np.arange(90) % 3, np.zeros(90, bool))
    assert np.isinf(found.kappa).all()
    assert np.isfinite(found.ability)
    # Definitive marks settle it.
    student = np.append(np.arange(90), np.repeat(np.arange(90, 120), 3))
    rater = np.append(np.arange(90) % 3, np.tile(np.arange(3), 30))
    assert np.isfinite(precision(panel, student, rater, np.arange(120) >= 90).kappa).all()


def test_raters_who_share_a_slope_know_it_better() -> None:
    from dataclasses import replace

    panel = stated(Spreads(slope_spread=0.0), 4, 2, 2, 0)
    student, rater = np.repeat(np.arange(200), 2), np.arange(400) % 4
    own, shared = (
        precision(one, student, rater, np.zeros(200, bool))
        for one in (panel, replace(panel, common_slope=True))
    )
    assert (shared.sharpness < 0.6 * own.sharpness).all()


def test_errors_of_raters_who_use_the_scale_in_their_own_ways_are_those_of_a_fit() -> None:
    drawn = rl.simulate(
        students=1200,
        raters=6,
        items=2,
        raters_per_student=2,
        slope=np.linspace(1.0, 1.8, 6),
        thresholds=[-1.0, 0.0, 1.0],
        threshold_spread=0.5,
        seed=3,
    )
    fit = rl.fit(drawn.ratings, model="gmf", scale="rater", reference="perfect", halo="none")
    spread = fit.table("spreads")["spread"].item()
    truth = drawn.truth
    panel = AssumedPanel(
        truth.slope,
        truth.severity - truth.alpha,
        truth.difficulty,
        truth.thresholds,
        own=truth.own_thresholds,
        own_spread=spread,
    )
    pairs = np.unique(np.stack([drawn.ratings.student, drawn.ratings.rater], axis=1), axis=0)
    found = precision(panel, pairs[:, 0], pairs[:, 1], np.zeros(1200, bool))
    for ours, theirs in (("severity", "eta_se"), ("sharpness", "sharpness_se"), ("kappa", "kappa_se")):
        ratio = getattr(found, ours) / fit.raters[theirs].to_numpy()
        assert abs(ratio.mean() - 1) < 0.05, ours
    # A plan that rests on the fit, and what to mark next, reckon with these thresholds.
    planned = rl.plan(1200, fit=fit, marks=2)
    assert planned.severity_se == pytest.approx(found.severity.mean(), rel=0.05)
    following = rl.next_marks(fit, drawn.ratings, budget=3)
    assert following.expected < following.kappa_se == pytest.approx(fit.raters["kappa_se"].mean(), rel=0.2)


@pytest.mark.parametrize(("crossed", "close"), [(0.3, 0.05), (1.0, 0.05)])
def test_errors_of_groups_that_mark_their_own_students_are_those_of_a_fit(
    crossed: float, close: float
) -> None:
    drawn = rl.simulate(
        students=800,
        raters=10,
        items=4,
        raters_per_student=1,
        groups=5,
        crossed=crossed,
        slope=np.linspace(1.0, 2.0, 10),
        severity=np.linspace(-0.8, 0.8, 10)[[3, 1, 4, 9, 5, 2, 6, 8, 7, 0]],
        seed=2,
    )
    truth, group = drawn.truth, np.arange(800) % 5
    assert truth.group_means is not None
    fit = rl.fit(drawn.ratings, model="gmf", reference="perfect", halo="none")
    panel = AssumedPanel(
        truth.slope, truth.severity - truth.alpha, truth.difficulty, None, means=truth.group_means
    )
    pairs = np.unique(np.stack([drawn.ratings.student, drawn.ratings.rater], axis=1), axis=0)
    found = precision(panel, pairs[:, 0], pairs[:, 1], np.zeros(800, bool), group=group)
    for ours, theirs in (("severity", "eta_se"), ("sharpness", "sharpness_se"), ("kappa", "kappa_se")):
        assert getattr(found, ours).mean() / fit.raters[theirs].mean() == pytest.approx(1, abs=close), ours
    errors = fit.students["theta_se"].to_numpy()
    assert found.ability / np.sqrt(np.mean(errors**2)) == pytest.approx(1, abs=0.03)

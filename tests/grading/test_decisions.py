"""Decisions of fits and of requests: cuts, probabilities of grades, calibration."""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.estimation.scoring import place
from raterlens.grading.decisions import AskedDecisions, decisions
from raterlens.grading.grades import Grid, cuts_of, given_cuts, graded
from raterlens.inference.expected_scores import average_scores
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.calibrations import DIFFICULTIES, SEVERITIES, SLOPES, calibration

# ----------------------- decisions of fits: what holds for all models, and calibration on simulated panels


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(
        students=200, raters=6, items=4, raters_per_student=2, thresholds=[-1.0, 0.0, 1.0], seed=3
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "tfm"},
        {"scale": "partial credit"},
        {"scale": "graded"},
        {"item_slopes": True},
        {"halo": "common"},
    ],
)
def test_every_facets_model_decides(drawn, options):
    fit = rl.fit(drawn.ratings, **{"model": "gmf"} | options)
    found = fit.decisions(drawn.ratings, cut=[1.0, 2.0])
    p = found.probabilities
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert found.quality.height == 4
    numbers = found.quality.select("accuracy", "consistency").to_numpy()[1:]
    assert np.all((numbers > 0.4) & (numbers < 1))
    theta = fit.table("students")
    np.testing.assert_allclose(found.table["theta"], theta["theta"], atol=1e-6)
    np.testing.assert_allclose(found.table["theta_se"], theta["theta_se"], rtol=1e-5)
    assert found.table["safe"].to_list() == (p.max(axis=1) >= 0.9).tolist()


def test_without_ratings_posteriors_are_taken_as_normal(drawn):
    fit = rl.fit(drawn.ratings, model="gmf")
    exact, rough = fit.decisions(drawn.ratings, cut=1.5), decisions(fit, None, 1.5)
    np.testing.assert_allclose(rough.probabilities, exact.probabilities, atol=0.06)
    assert rough.table["fair"].null_count() == rough.table.height  # it depends on who marked whom
    assert rough.table["raw_grade"].to_list() == exact.table["raw_grade"].to_list()
    assert rough.quality["method"].to_list() == ["posterior"]
    assert "raw:" not in rough.summary()


@pytest.mark.nightly
def test_accuracy_is_the_share_of_right_grades():
    # 20 panels of 200: what posteriors promise is what the truth keeps, within three standard errors.
    promised, right, raw_promised, raw_right = [], [], [], []
    for seed in range(20):
        drawn = rl.simulate(
            students=200, raters=5, items=3, raters_per_student=2, severity=[-1, -0.5, 0, 0.5, 1], seed=seed
        )
        fit = rl.fit(drawn.ratings, model="gmf")
        found = fit.decisions(drawn.ratings, cut=0.0, on="ability")
        true = drawn.truth.ability >= 0
        promised.append(found.probabilities.max(axis=1).mean())
        right.append(np.mean((found.probabilities[:, 1] > 0.5) == true))
        raw_promised.append(found.quality.filter(result="raw", method="posterior")["accuracy"][0])
        raw_right.append(np.mean((found.table["raw_grade"] == "pass").to_numpy() == true))
    for said, kept in ((promised, right), (raw_promised, raw_right)):
        off = np.array(said) - np.array(kept)
        assert abs(off.mean()) < 3 * off.std(ddof=1) / np.sqrt(len(off))


def test_scores_that_begin_above_zero_keep_their_numbers(drawn):
    table = drawn.ratings.table()
    above = rl.read(table.with_columns(pl.col("score") + 2))
    one = rl.fit(drawn.ratings, model="gmf").decisions(drawn.ratings, cut=1.5)
    two = rl.fit(above, model="gmf").decisions(above, cut=3.5)
    np.testing.assert_allclose(two.probabilities, one.probabilities, atol=1e-6)
    np.testing.assert_allclose(two.table["raw"], one.table["raw"] + 2, rtol=1e-12)
    np.testing.assert_allclose(two.table["fair"], one.table["fair"] + 2, atol=1e-6)


def test_anchored_fits_decide_on_the_scale_of_their_anchors(drawn):
    first = rl.fit(drawn.ratings, model="gmf")
    abler = rl.simulate(
        students=150,
        raters=6,
        items=4,
        raters_per_student=2,
        thresholds=[-1.0, 0.0, 1.0],
        slope=drawn.truth.slope,
        severity=drawn.truth.severity,
        difficulty=drawn.truth.difficulty,
        alpha=drawn.truth.alpha,
        ability=np.random.default_rng(2).normal(0.8, 0.7, 150),
        seed=9,
    ).ratings
    found = rl.fit(abler, model="gmf", anchors=first).decisions(abler, cut=1.5)
    assert cuts_of(first.calibration, 1.5).ability[0] == pytest.approx(found.cuts.ability[0], abs=1e-8)
    np.testing.assert_allclose(found.table["theta"].mean(), 0.8, atol=0.2)
    assert (found.table["grade"] == "pass").mean() > 0.7


def test_other_students_are_decided_by_the_same_fit(drawn):
    fit = rl.fit(drawn.ratings, model="gmf")
    some = drawn.ratings.subset(drawn.ratings.student < 5)
    found = decisions(fit, some, 1.5)
    np.testing.assert_allclose(
        found.probabilities, fit.decisions(drawn.ratings, cut=1.5).probabilities[:5], atol=1e-8
    )


@pytest.mark.parametrize("options", [{}, {"halo": "common"}])
def test_ratings_on_disk_are_decided_part_by_part(drawn, tmp_path, options):
    packed = rl.pack(drawn.ratings.table(), tmp_path / "x.rlpack")
    on_disk = StoredRatings(open_packed(packed), part=300)
    assert len(list(on_disk.parts())) > 3
    fit = rl.fit(drawn.ratings, standard_errors=False, **{"model": "gmf"} | options)
    whole, parts = (fit.decisions(ratings, cut=1.5) for ratings in (drawn.ratings, on_disk))
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, atol=1e-9)
    np.testing.assert_allclose(parts.table["same_again"], whole.table["same_again"], atol=1e-9)
    for column in ("accuracy", "consistency"):
        np.testing.assert_allclose(parts.quality[column], whole.quality[column], atol=1e-9)
    plans = [fit.remark(ratings, cut=1.5, budget=10).table for ratings in (drawn.ratings, on_disk)]
    np.testing.assert_allclose(plans[0]["gain"], plans[1]["gain"], atol=1e-9)


def test_further_facets_count_where_they_are(drawn):
    table = drawn.ratings.table()
    table = table.with_columns(
        topic=pl.when(pl.col("student").rank("dense") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    ratings = rl.read(table, facets="topic")
    found = rl.fit(ratings, model="gmf").decisions(ratings, cut=1.5)
    plain = rl.fit(drawn.ratings, model="gmf").decisions(drawn.ratings, cut=1.5)
    assert np.mean(np.abs(found.probabilities - plain.probabilities)) < 0.1
    assert found.quality["accuracy"].null_count() == 0


def test_items_with_different_highest_scores():
    """An item's own highest score holds for the average rater, too."""
    draw = np.random.default_rng(1)
    ability = draw.normal(size=40)
    rows = [
        (student, rater, item, int(np.clip(round(top / 2 + 0.3 * top * t + draw.normal() / 2), 0, top)))
        for student, t in enumerate(ability)
        for rater in range(4)
        for item, top in (("a", 2), ("b", 1))
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))
    found = rl.fit(ratings, model="gmf").decisions(ratings, cut=1.0)
    assert np.isfinite(found.probabilities).all()
    fair = found.students["fair"]
    assert fair.is_between(0, 1.5).all()
    assert np.corrcoef(fair, ability)[0, 1] > 0.7


def test_latent_classes_are_refused_with_the_reason():
    ratings = rl.simulate(model="hrm", students=60, raters=3, items=2, seed=1).ratings
    with pytest.raises(OptionError, match=r"there is no ability to decide by.*fit 'gmf' or 'tfm'"):
        rl.fit(ratings, model="hrm").decisions(ratings, cut=0.5)


def test_a_line_between_safe_and_not_is_a_probability(drawn):
    with pytest.raises(OptionError, match=r"safe is 1\.5"):
        rl.fit(drawn.ratings, model="gmf").decisions(drawn.ratings, cut=1.5, safe=1.5)


def test_pandas_in_pandas_out(drawn):
    fit = rl.fit(rl.read(drawn.ratings.table().to_pandas()), model="gmf")
    found = fit.decisions(cut=1.5)
    assert type(found.students).__module__.startswith("pandas")
    assert type(found.exam).__module__.startswith("pandas")


# ------------------------------ decisions as commands ask for them: refused before the work, made after it


@pytest.mark.parametrize(
    ("asked", "model", "says"),
    [
        (
            AskedDecisions(remark=5),
            "gmf",
            "remark= plans marks for decisions; give the cut as well, such as decide=1.5",
        ),
        (AskedDecisions("1.5", 0), "gmf", "0 further marks; give at least 1"),
        (AskedDecisions("much"), "gmf", "cuts are 'much'"),
        (AskedDecisions("0.5"), "hrm", "model 'hrm' has no ability to decide by"),
        (AskedDecisions("0.5"), "dawid-skene", "has no ability to decide by"),
    ],
)
def test_what_cannot_be_is_refused_without_ratings(asked, model, says):
    with pytest.raises(OptionError, match=says):
        asked.check(FitConfig(model=model))


def test_cuts_beyond_the_scores_are_refused_before_the_fit():
    ratings = rl.simulate(students=20, raters=3, items=2, thresholds=[-0.5, 0.5], seed=1).ratings
    for cut in ("2", "0", "0.5,3"):
        with pytest.raises(OptionError, match="but scores go from 0 to 2"):
            AskedDecisions(cut).check_scores(ratings)
    AskedDecisions("ability 3").check_scores(ratings)
    AskedDecisions("0.5,1.9").check_scores(ratings)


def test_what_was_asked_for_is_made():
    ratings = rl.simulate(students=40, raters=3, items=2, raters_per_student=2, seed=1).ratings
    fit = rl.fit(ratings, model="gmf")
    assert AskedDecisions().made(fit, ratings) == (None, None)
    decided, plan = AskedDecisions("0.5", 4).made(fit, ratings)
    assert decided is not None
    assert plan is not None
    assert plan.budget == 4
    assert AskedDecisions("0.5").made(fit, ratings)[1] is None


# --------------------------------------------------------------- cuts on both scales, held to closed forms


def test_fair_scores_are_those_of_the_average_rater_over_all_items():
    theta = np.array([-1.0, 0.3, 2.0])
    s = np.mean(SLOPES) * theta - np.mean(SEVERITIES) - np.array(DIFFICULTIES)[:, None]
    np.testing.assert_allclose(
        average_scores(calibration(), theta), special.expit(s).mean(axis=0), rtol=1e-12
    )


def test_fair_scores_are_in_the_numbers_that_raters_gave():
    theta, thresholds = np.linspace(-2, 2, 5), [-0.5, 0.4]
    coded = average_scores(calibration(thresholds=thresholds, scores=(0, 1, 2)), theta)
    given = average_scores(calibration(thresholds=thresholds, scores=(3, 4, 5)), theta)
    np.testing.assert_allclose(given, coded + 3, rtol=1e-12)
    apart = average_scores(calibration(thresholds=thresholds, scores=(0, 1, 5)), np.array([20.0]))
    np.testing.assert_allclose(apart, 5, atol=1e-6)


def test_a_cut_on_one_scale_is_a_cut_on_the_other():
    known = calibration(thresholds=[-0.7, 0.1, 0.9], scores=(0, 1, 2, 3))
    on_scores = cuts_of(known, [1.0, 2.2])
    on_abilities = cuts_of(known, on_scores.ability, "ability")
    np.testing.assert_allclose(on_abilities.score, [1.0, 2.2], atol=1e-9)
    assert on_scores.grades == ("below 1", "1 to 2.2", "2.2 or more")
    assert cuts_of(known, "ability 0.25").ability.tolist() == [0.25]


def test_a_result_on_the_cut_has_reached_it():
    cuts = cuts_of(calibration(), 0.6, grades=("refer", "accept"))
    assert cuts.grade_of(np.array([0.59, 0.6, 3 * 0.2, 0.61])).tolist() == [0, 1, 1, 1]
    assert cuts.grades == ("refer", "accept")


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        ("two", "cuts are 'two'; give numbers with commas"),
        ([0.5, 0.5], "give one number, or several in rising order"),
        (float("nan"), "give one number"),
        ([], "give one number"),
    ],
)
def test_what_is_no_cut_is_refused(cut, says):
    with pytest.raises(OptionError, match=says) as error:
        given_cuts(cut)
    assert error.value.option == "decide"


def test_cuts_that_nobody_could_reach_are_refused():
    with pytest.raises(
        OptionError, match=r"a cut at 1, but mean scores by the average rater go from 0\.00 to 1\.00"
    ):
        cuts_of(calibration(), 1)
    with pytest.raises(OptionError, match="a cut at 20, but abilities go from -12"):
        cuts_of(calibration(), "ability 20")
    with pytest.raises(OptionError, match="do not rise with ability"):
        cuts_of(calibration(slopes=(-1.0, -0.5, 0.2)), 0.5)
    with pytest.raises(OptionError, match="2 different names of grades for 2 cuts"):
        cuts_of(calibration(), [0.3, 0.6], grades=("a", "b"))


# ------------------- probabilities of grades, held to numerical integration of single students' posteriors


PATTERNS = {"A": [1, 0, 0, 1, 1, 0], "B": [1, 1, 1, 1, 1, 1], "C": [0, 0, 0, 0, 1, 0]}


@pytest.fixture(scope="module")
def ratings():
    rows = [
        (student, f"R{place // 3}", f"I{place % 3}", score)
        for student, pattern in PATTERNS.items()
        for place, score in enumerate(pattern)
    ]
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))


def _density(theta, pattern):
    s = np.repeat(SLOPES[:2], 3) * theta - np.repeat(SEVERITIES[:2], 3) - np.tile(DIFFICULTIES, 2)
    return np.prod(np.where(pattern, special.expit(s), special.expit(-s))) * stats.norm.pdf(theta)


def _mean(value, pattern, low=-10.0, high=10.0):
    whole, _ = integrate.quad(_density, -10, 10, args=(pattern,), epsabs=1e-14)
    found, _ = integrate.quad(lambda t: value(t) * _density(t, pattern), low, high, epsabs=1e-14, limit=200)
    return found / whole


def test_probabilities_are_integrals_of_the_posterior(ratings):
    known = calibration()
    placed = place(known, ratings)
    cuts = cuts_of(known, [-0.4, 0.37], "ability")
    found = graded(Grid(known, placed, placed.abilities(), cuts), np.zeros(3))
    for pattern, p in zip(PATTERNS.values(), found, strict=True):
        ends = [-10, -0.4, 0.37, 10]
        wanted = [_mean(lambda _: 1.0, pattern, *ends[k : k + 2]) for k in range(3)]
        np.testing.assert_allclose(p, wanted, atol=2e-9)


def test_the_error_of_the_estimates_moves_the_posterior_as_a_whole(ratings):
    known = calibration()
    placed = place(known, ratings)
    grid = Grid(known, placed, placed.abilities(), cuts_of(known, 0.37, "ability"))
    extra = np.array([0.02, 0.0, 0.09])
    found = graded(grid, extra)
    for pattern, p, v in zip(PATTERNS.values(), found, extra, strict=True):
        sd = max(v, 1e-30) ** 0.5
        wanted = _mean(lambda t, sd=sd: stats.norm.sf((0.37 - t) / sd), pattern, -4, 6)
        np.testing.assert_allclose(p[1], wanted, atol=1e-6)

"""Assumptions of a fit: found where it is wrong, not where it is right, and one policy on every surface."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.config import FitConfig
from raterlens.fitting import assumptions
from raterlens.fitting.assumptions import AbilityTest, p_of_ratio, p_of_variances
from raterlens.fitting.fit import fit_with_assumptions
from raterlens.models.requested import CLEAR
from tests.support.ability_shapes import ratings_of

STEPS = [-1.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def halo() -> rl.Ratings:
    return rl.simulate(students=250, raters=4, items=4, raters_per_student=2, halo=1.5, seed=2).ratings


@pytest.fixture(scope="module")
def plain() -> rl.Ratings:
    return rl.simulate(students=150, raters=5, items=3, raters_per_student=2, seed=4).ratings


def outcome(fit: rl.Fit, assumption: str) -> dict[str, object]:
    return fit.assumptions.filter(assumption=assumption).row(0, named=True)


@pytest.mark.parametrize(("raters", "point"), [(5, 7.5), (10, 11.8), (16, 16.4)])
def test_several_variances_have_a_mixture_of_chi_squared_distributions(raters, point):
    """Against draws: the squared positive parts of independent normal estimates."""
    assert p_of_variances(point, raters) == pytest.approx(0.05, abs=0.002)
    drawn = np.maximum(np.random.default_rng(1).standard_normal((40_000, raters)), 0) ** 2
    assert np.mean(drawn.sum(axis=1) > point) == pytest.approx(p_of_variances(point, raters), abs=0.004)


def test_one_variance_has_half_a_chi_squared_distribution():
    assert p_of_ratio(5.412, 1, variance=True) == pytest.approx(0.01, abs=1e-4)
    assert p_of_ratio(5.412, 1, variance=True) == pytest.approx(p_of_variances(5.412, 1))
    assert p_of_ratio(-1e-9, 1) == p_of_variances(0.0, 3) == 1.0
    assert AbilityTest(5.9915, (0.1, 0.0)).p == pytest.approx(0.05, abs=1e-5)


def test_a_named_model_is_fitted_as_it_is_with_a_warning(halo):
    fit = rl.fit(halo, model="gmf")
    assert fit.config.given() == {"model": "gmf"}
    (said,) = (text for text in fit.warnings if "halo" in text)
    assert "p < 0.001" in said
    assert "Use halo='ability', or halo='none' to keep the assumption" in str(said)
    assert not outcome(fit, "halo")["taken"]
    assert not any("halo" in text for text in rl.fit(halo, model="gmf", halo="none").warnings)
    ignored = rl.fit(halo, model="gmf", assumptions="ignore")
    assert not ignored.warnings
    assert ignored.assumptions.columns == fit.assumptions.columns
    assert ignored.assumptions.is_empty()
    assert ignored.loglik == pytest.approx(fit.loglik, abs=1e-9)


def test_without_a_model_the_data_decide_and_the_fit_says_what_it_took(halo):
    fit = rl.fit(halo)
    assert fit.config.given() == {
        "model": "gmf",
        "prior": "panel",
        "halo": "ability",
        "interactions": ("rater:item",),
    }
    found = outcome(fit, "halo")
    assert found["taken"]
    assert found["p"] < CLEAR
    by_hand = rl.fit(halo, model="gmf", prior="panel", halo="ability", interactions="rater:item")
    assert fit.loglik == pytest.approx(by_hand.loglik, abs=1e-3)
    assert "differ by" in outcome(fit, "panel prior")["words"]
    kept = rl.fit(halo, halo="none", prior="none")
    assert (kept.config.halo, kept.config.prior) == ("none", "none")
    assert kept.assumptions.filter(pl.col("assumption").is_in(["halo", "panel prior"])).is_empty()


def test_terms_that_were_named_count_as_being_there(halo):
    """Item slopes are added only beside halo and rater x item: tested where the request has them by name."""
    fit = rl.fit(halo, halo="ability", interactions="rater:item", prior="none", ability="normal")
    words = str(outcome(fit, "item slopes")["words"])
    assert words.startswith("No clear sign")
    assert "It is added only beside" not in words
    without = rl.fit(sloped(ordered=False), halo="none", interactions="rater:item", prior="none")
    assert "It is added only beside halo, which the model does not have" in str(
        outcome(without, "item slopes")["words"]
    )


def test_nothing_is_added_to_what_the_plain_model_drew(plain):
    fit = rl.fit(plain)
    assert fit.config.given() == {
        "model": "gmf",
        "prior": "panel",
        "interactions": ("rater:item",),
        "group_means": "raters",
    }
    assert fit.assumptions.select("assumption", "taken").rows() == [
        ("panel prior", True),
        ("rater x item", True),
        ("assignment", True),
        ("halo", False),
        ("item slopes", False),
        ("item dependence", False),
        ("ability shape", False),
    ]
    named = rl.fit(plain, model="gmf", assumptions="adapt")
    assert named.loglik == pytest.approx(fit.loglik, abs=1e-9)


def test_ordered_scores_have_thresholds_per_item_and_rater_and_interactions_from_the_start():
    ratings = rl.simulate(
        students=120, raters=4, items=3, raters_per_student=2, thresholds=STEPS, seed=5
    ).ratings
    fit = rl.fit(ratings)
    assert fit.config.scale == "partial credit, rater"
    assert fit.config.interactions == ("rater:item",)
    assert fit.assumptions.filter("taken")["assumption"].to_list() == [
        "panel prior",
        "partial credit",
        "thresholds per rater",
        "rater x item",
        "assignment",
    ]
    given = rl.fit(ratings, scale="graded", prior="none")
    assert given.config.scale == "graded"


def test_two_items_on_one_text_are_named(plain):
    random = np.random.default_rng(5)
    ability, text, severity = (random.normal(size=n) for n in (300, 300, 6))
    rows = [
        (student, rater, item, int(random.random() < 1 / (1 + np.exp(-predictor))))
        for student in range(300)
        for rater in random.choice(6, 2, replace=False)
        for item in range(6)
        for predictor in [1.5 * (ability[student] + text[student] * (item < 2)) - 0.5 * severity[rater]]
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))
    for fit in (rl.fit(ratings, model="gmf"), rl.fit(ratings)):
        found = outcome(fit, "item dependence")
        assert not found["taken"]
        assert found["p"] < CLEAR
        assert str(found["words"]).startswith(
            "Items '0' and '1' depend on each other more than other pairs do"
        )
        assert [text for text in fit.warnings if "combine the two into one item" in text]
    assert outcome(rl.fit(plain), "item dependence")["p"] > CLEAR


def test_a_warning_proposes_only_what_could_be_added():
    (dependent,) = (one for one in assumptions.TESTED if one.name == "item dependence")
    seen = assumptions.Outcome.of(dependent, 5.0, 1e-6)
    for alone in (True, False):
        assert "assumptions" not in assumptions._advice(dependent, seen, alone=alone, more=True)


def test_a_named_scale_that_items_do_not_share_is_said():
    """Items whose steps lie close together beside items whose steps lie far apart."""
    rng = np.random.default_rng(3)
    ability = rng.normal(size=400)
    steps = np.array([[-2.5, 0.0, 2.5], [-0.2, 0.0, 0.2], [-2.5, 0.0, 2.5]])
    rows = []
    for student, theta in enumerate(ability):
        for rater in rng.choice(5, 2, replace=False):
            for item in range(3):
                log = np.concatenate([[0.0], np.cumsum(1.3 * theta - steps[item])])
                score = rng.choice(4, p=np.exp(log) / np.exp(log).sum())
                rows.append((f"s{student}", f"r{rater}", f"i{item}", score))
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    assert any("scale='partial credit'" in text for text in fit.warnings)
    assert "artial credit" in str(outcome(fit, "ability shape")["words"])  # which would look like it
    assert outcome(fit, "ability shape")["p"] is None


def sloped(*, ordered: bool) -> rl.Ratings:
    """Items that reflect ability strongly beside one that hardly does."""
    rng = np.random.default_rng(3)
    steps = np.array([-1.0, 1.0]) if ordered else np.zeros(1)
    rows = []
    for student, theta in enumerate(rng.normal(size=400)):
        for rater in rng.choice(5, 2, replace=False):
            for item, slope in enumerate((2.0, 2.0, 0.3)):
                log = np.concatenate([[0.0], np.cumsum(slope * theta - steps)])
                score = rng.choice(len(log), p=np.exp(log) / np.exp(log).sum())
                rows.append((f"s{student}", f"r{rater}", f"i{item}", score))
    return rl.read(pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row"))


def test_item_slopes_are_advised_alone_for_pass_or_fail_only(monkeypatch):
    """With ordered scores they predict held-out ratings worse unless other terms stand beside them."""
    (said,) = rl.fit(sloped(ordered=False), model="gmf", standard_errors=False).warnings
    assert said.endswith("Use item_slopes=True")
    ordered = sloped(ordered=True)
    (said,) = rl.fit(ordered, model="gmf", scale="partial credit", standard_errors=False).warnings
    assert "how strongly they reflect ability" in said
    assert said.endswith("Use assumptions='adapt' to let the data decide")
    shared = rl.fit(ordered, model="gmf", scale="rating scale", standard_errors=False)
    assert shared.warnings == ()
    assert (
        outcome(shared, "item slopes")["words"]
        == "Not tested: item slopes, because partial credit would look like it."
    )
    assert (
        outcome(shared, "ability shape")["words"]
        == "Not tested: ability shape, because item slopes would look like it."
    )
    monkeypatch.setattr(assumptions, "ADAPTED_RATINGS", 100)
    (said,) = rl.fit(ordered, scale="partial credit", standard_errors=False).warnings
    assert said.endswith("that show it best")  # since nothing can be added


@pytest.mark.parametrize(("kind", "said"), [("skewed", "skewed to the right"), ("two groups", "two groups")])
def test_skewness_and_two_groups_are_found(kind, said):
    ratings = ratings_of(kind)
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    assert any("ability='smooth'" in text for text in fit.warnings)
    found = fit.ability_test()
    assert found.p < CLEAR
    assert said in found.finding
    assert rl.fit(ratings, standard_errors=False).config.ability == "smooth"
    asked = rl.fit(ratings, model="gmf", ability="normal", standard_errors=False)
    assert not any("normally" in text for text in asked.warnings)


def test_normal_abilities_are_left_alone():
    fit = rl.fit(ratings_of("normal"), model="gmf")
    assert outcome(fit, "ability shape")["p"] > CLEAR
    assert fit.ability_test().finding.startswith("no clear evidence")


def test_a_fit_is_tested_against_one_with_halo(halo):
    fit = rl.fit(halo, model="gmf", halo="none", standard_errors=False)
    found = fit.halo_test()
    assert found.loglik == pytest.approx(fit.loglik, abs=1e-4)
    table = found.table
    assert table["p"][0] < CLEAR
    assert table["statistic"][1] == pytest.approx(table["statistic"][0] + table["statistic"][2])


def test_what_cannot_be_seen_is_not_tested():
    """Ability and what the reading's scores share are one where each student has one reading."""
    ratings = rl.simulate(students=60, raters=1, items=3, halo=2.0, seed=2).ratings
    assert "halo" not in rl.fit(ratings, model="gmf").assumptions["assumption"]


def test_beyond_the_limit_terms_are_not_added_but_said(halo, monkeypatch):
    monkeypatch.setattr(assumptions, "ADAPTED_RATINGS", 100)
    fit = fit_with_assumptions(halo, FitConfig())
    assert fit.config.given() == {"model": "gmf"}
    assert outcome(fit, "all")["words"] == (
        "No term was added: 2,000 ratings are more than the 100 up to which terms are."
    )
    assert any("halo='ability'" in text for text in fit.warnings)


def test_many_ratings_are_tested_on_some_students(halo, monkeypatch):
    whole = outcome(rl.fit(halo, model="gmf"), "halo")
    monkeypatch.setattr(assumptions, "TESTED_RATINGS", 1000)
    assert 0 < outcome(rl.fit(halo, model="gmf"), "halo")["statistic"] < whole["statistic"]


def test_refitting_adds_nothing_unless_asked(halo):
    fit = rl.fit(halo, model="gmf")
    assert "assumptions" not in fit.refit().tables
    assert fit.refit(assumptions="adapt").config.halo == "ability"


def test_outcomes_are_saved_with_the_fit(halo, tmp_path):
    fit = rl.fit(halo, model="gmf")
    again = rl.load(fit.save(tmp_path / "fit.json"))
    assert again.assumptions["words"].to_list() == fit.assumptions["words"].to_list()


def test_too_few_students_are_not_tested():
    """A likelihood ratio of 17 students finds shapes in normal abilities; the fit says that it did not look."""
    ratings = rl.simulate(students=17, raters=5, items=3, seed=2).ratings
    assert list(rl.fit(ratings).assumptions["words"])[-1] == (
        "Nothing else was tested: that takes 50 students, and there are 17."
    )
    assert "ability shape" not in list(rl.fit(ratings, model="gmf").assumptions["assumption"])


@pytest.mark.parametrize(
    ("p", "said"), [(0.37, "at most 0.35"), (0.002, "0.21")], ids=["may be chance", "is none"]
)
def test_a_spread_that_may_be_chance_is_said_to_be_so(p, said):
    (one,) = (one for one in assumptions.AFTERWARDS if one.name == "assignment")
    row = {"term": one.term, "spread": 0.21, "high": 0.35, "statistic": 0.1, "p": p}
    tables = {"spreads": pl.DataFrame([row])}
    fit: Any = SimpleNamespace(tables=tables, calibration=None, spread=None, link="logit")
    outcome = assumptions._with_spread(one, fit, None)
    of, chance = "of its standard deviation", ", if at all (p = 0.37)" if p > 0.05 else ""
    words = f"Ability varies between students of different raters by {said} {of}{chance}."
    assert (outcome.words, outcome.p, outcome.taken) == (words, p, True)

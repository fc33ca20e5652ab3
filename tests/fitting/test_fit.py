"""Repeating a fit, on other ratings, and with other options."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.fitting.fit import Fit, fitted
from raterlens.fitting.steps import Run


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=90, raters=5, items=3, raters_per_student=3, seed=4).ratings


OPTIONS = [
    {},
    {"model": "tfm", "link": "probit"},
    {"item_slopes": True, "reference": "quantile 0.75"},
    {"method": "laplace", "origin": "absolute"},
    {"method": "hl", "covariance": "conditional"},
    {"covariance": "sandwich", "population": rl.Window(0.2, 0.5)},
    {"allow_reversed": True, "reference": 1.5, "standard_errors": False},
    {"prior": "panel", "reference": "max corrected"},
    {"model": "dawid-skene", "starts": 2, "seed": 5},
    {"model": "hrm", "link": "probit", "starts": 2},
    {"model": "probit", "method": "laplace"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_request_again_finds_the_same(ratings, options, tmp_path):
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    again = rl.load(fit.save(tmp_path / "fit.json")).refit(ratings)
    assert isinstance(again, Fit)
    assert again.config == fit.config
    assert again.yardstick == fit.yardstick
    for name, table in ((name, table) for name, table in fit.tables.items() if name != "assumptions"):
        assert_frame_equal(again.table(name), table, check_exact=True)


def test_a_change_changes_that_and_nothing_else(ratings):
    fit = rl.fit(ratings, model="gmf", item_slopes=True, reference="quantile 0.5", covariance="sandwich")
    changed = fit.refit(ratings, model="tfm")
    by_hand = rl.fit(ratings, model="tfm", item_slopes=True, reference="quantile 0.5", covariance="sandwich")
    assert_frame_equal(changed.raters, by_hand.raters, check_exact=True)
    assert changed.config == by_hand.config


def test_an_unknown_change_is_named(ratings):
    with pytest.raises(OptionError, match="unknown option 'links'; did you mean 'link'"):
        rl.fit(ratings, model="gmf").refit(ratings, links="probit")  # type: ignore[call-arg]


def test_a_refit_can_be_anchored_by_a_fit_and_saved(ratings, tmp_path):
    fit = rl.fit(ratings, model="gmf")
    held = fit.refit(ratings, anchors=fit)
    assert held.raters["flag"].to_list() == ["anchored"] * 5
    assert held.raters["kappa"].to_list() == pytest.approx(fit.raters["kappa"].to_list(), abs=1e-9)
    again = rl.load(held.save(tmp_path / "held.json")).refit(ratings)
    assert_frame_equal(again.raters, held.raters, check_exact=True)


def test_covariates_are_kept_with_the_request(ratings, tmp_path):
    known = pl.DataFrame({"rater": ratings.raters, "years": [1.0, 4.0, 2.0, 8.0, 3.0]})
    fit = rl.fit(ratings, model="gmf", covariates=known)
    again = rl.load(fit.save(tmp_path / "fit.json")).refit(ratings)
    assert_frame_equal(again.table("covariates"), fit.table("covariates"), check_exact=True)
    assert fit.config.covariates is not None
    assert fit.config.covariates["years"] == [1.0, 4.0, 2.0, 8.0, 3.0]


def test_how_a_fit_is_carried_out_is_not_part_of_the_request(ratings, tmp_path):
    plain = fitted(ratings, rl.FitConfig())
    run = Run(checkpoint=tmp_path / "work", start=plain)
    assert fitted(ratings, rl.FitConfig(), run).config == plain.config


def test_verbs_that_need_slopes_say_so():
    fit = rl.fit(
        rl.simulate(students=60, raters=4, items=2, model="hrm", seed=1).ratings, model="hrm", starts=1
    )
    with pytest.raises(OptionError, match="model 'hrm' has no slopes") as caught:
        fit.capability()
    assert caught.value.option == "model"


CALLS = {
    "diagnose": {},
    "decisions": {"cut": 0.5},
    "consequences": {"cut": 0.5},
    "remark": {"cut": 0.5, "budget": 3},
    "monitor": {},
    "differences": {},
    "profile": {"raters": "R1"},
    "bootstrap": {"replicates": 2, "workers": 1},
    "sensitivity": {"links": (), "models": ()},
    "worth_knowing": {"n": 2},
    "refit": {"model": "tfm"},
}
WITHOUT = ("decisions", "consequences", "differences")  # say less, but something, without ratings


@pytest.mark.parametrize("method", CALLS)
def test_a_fit_remembers_its_ratings_and_a_loaded_one_asks_for_them(ratings, method, tmp_path):
    fit, options = rl.fit(ratings, model="gmf"), CALLS[method]
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    assert fit.ratings is ratings
    assert loaded.ratings is None
    assert str(getattr(fit, method)(**options)) == str(getattr(loaded, method)(ratings, **options))
    if method not in WITHOUT:
        with pytest.raises(InputError, match=f"loaded from a file.*pass them: fit.{method}") as error:
            getattr(loaded, method)(**options)
        assert error.value.option == "ratings"


def test_a_report_needs_no_ratings_again(ratings, tmp_path):
    fit = rl.fit(ratings, model="gmf")
    page, given = (fit.report(tmp_path / "a.html"), fit.report(tmp_path / "b.html", ratings))
    assert page.read_text() == given.read_text()


def test_printing_a_fit_shows_its_summary(ratings):
    fit = rl.fit(ratings, model="gmf")
    assert str(fit) == fit.summary()
    assert repr(fit).startswith("<Fit of gmf")

"""The pipeline: what it refuses before any work, and that every model goes through it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.config import FitConfig
from raterlens.fitting.checks import Run, check
from raterlens.fitting.fit import fitted
from raterlens.fitting.latent_class_fit import latent_class_result
from raterlens.fitting.line import FacetsTask, carry_out
from raterlens.models.registry import MODELS


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"model": "gfm"}, "model"),
        ({"model": "hrm", "method": "laplace"}, "method"),
        ({"model": "hrm", "link": "cauchit"}, "link"),
        ({"model": "probit", "link": "logit"}, "link"),
        ({"model": "dawid-skene", "item_slopes": True}, "item_slopes"),
        ({"model": "hrm", "reference": "max"}, "reference"),
    ],
)
def test_what_a_model_does_not_take_is_refused_before_ratings_are_read(options, option):
    with pytest.raises(OptionError) as caught:
        check(FitConfig(**options), Run())
    assert caught.value.option == option


@pytest.mark.parametrize("options", [{"model": "hrm"}, {"method": "laplace"}])
def test_checkpoints_go_with_fits_over_parts_of_the_students(options, tmp_path):
    with pytest.raises(OptionError, match="a checkpoint goes with method 'mml' of the facets models"):
        check(FitConfig(**options), Run(checkpoint=tmp_path / "work"))


def test_going_on_needs_something_to_go_on_from():
    with pytest.raises(OptionError, match="resume is given without a checkpoint") as caught:
        check(FitConfig(), Run(resume=True))
    assert caught.value.option == "resume"


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_registry_goes_through_it(model, small):
    found = carry_out(FitConfig(model=model), small, Run())
    assert found.model == model
    assert found.link in MODELS[model].links
    assert {"raters", "items", "students"} <= set(found.tables)
    assert found.n_ratings == small.n_ratings


# -- How a fit is carried out, checked before any work -----------------------------------------------------------


def test_a_plain_run_has_nothing_to_refuse():
    Run().check(FitConfig(), by_parts=False)


def test_a_text_is_no_cluster():
    with pytest.raises(OptionError, match="client is a str"):
        Run(client="tcp://127.0.0.1:8786").check(FitConfig(), by_parts=True)


def test_what_needs_parts_names_the_model_and_the_method(tmp_path):
    run = Run(checkpoint=tmp_path / "work")
    run.check(FitConfig(), by_parts=True)
    with pytest.raises(OptionError, match="not with model 'tfm' by 'hl'") as caught:
        run.check(FitConfig(model="tfm", method="hl"), by_parts=False)
    assert caught.value.option == "checkpoint"


# -- A facets model on ratings -----------------------------------------------------------------------------------


def found_by(ratings, **options):
    task = FacetsTask.of(ratings, FitConfig(**options), Run())
    return task, task.estimate(), task.result()


def test_the_calibration_has_the_estimates_on_the_predictors_scale(small):
    _, _, found = found_by(small)
    raters, known = found.tables["raters"], found.calibration
    assert known is not None
    slope, severity = known.effects["slope"], known.effects["severity"]
    assert raters["rho"].to_numpy() * found.sigma == pytest.approx(slope)
    assert raters["eta"].to_numpy() - found.alpha == pytest.approx(severity)
    assert known.covariance is not None
    assert np.allclose(known.covariance, known.covariance.T)
    assert known.covariance.shape == (2 * small.n_raters + small.n_items,) * 2


def test_parameters_are_counted_without_the_redundant_and_the_anchored(small):
    free = small.n_raters * 2 + small.n_items - 1
    assert found_by(small)[2].n_parameters == free
    item = str(small.items[0])
    # Holding an item's difficulty takes the place of centring.
    assert found_by(small, anchors=rl.Anchors(items={item: 0.0}))[2].n_parameters == free
    assert found_by(small, model="tfm")[2].n_parameters == free - small.n_raters + 1


def test_a_covariance_too_large_to_be_dense_is_said_to_be_missing(small):
    fit = fitted(small, FitConfig(covariance="sandwich"), Run(dense_parameters=3))
    assert np.isnan(fit.raters["kappa_se"].to_numpy()).all()
    assert any("no standard errors" in text for text in fit.warnings)


def test_a_fit_begins_from_an_earlier_one_and_ends_where_it_would(small):
    first = rl.fit(small, model="gmf")
    again = fitted(small, FitConfig(), Run(start=first))
    assert again.optimiser.iterations < first.optimiser.iterations
    assert again.loglik == pytest.approx(first.loglik, abs=1e-6)


def test_a_fit_with_another_scale_is_a_beginning_too():
    ratings = rl.simulate(students=80, raters=4, items=3, thresholds=[-1.0, 1.0], seed=3).ratings
    plain, per_item = (
        rl.fit(ratings, model="gmf", scale=scale) for scale in ("rating scale", "partial credit")
    )
    for there, here in ((plain, per_item), (per_item, plain)):
        again = rl.fit(ratings, model="gmf", scale=here.config.scale, start=there)
        assert again.loglik == pytest.approx(here.loglik, abs=1e-6)


def test_a_fit_without_slopes_is_no_beginning(small):
    start = rl.fit(small, model="dawid-skene", starts=1)
    with pytest.raises(OptionError, match="start is a fit of model 'dawid-skene'") as caught:
        fitted(small, FitConfig(), Run(start=start))
    assert caught.value.option == "start"


def test_a_checkpoint_is_gone_when_the_fit_is_done(small, tmp_path):
    work = tmp_path / "work"
    fitted(small, FitConfig(), Run(checkpoint=work))
    assert not work.exists()


# -- Latent class models go through the steps of every model -----------------------------------------------------


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=150, raters=5, items=3, raters_per_student=4, model="hrm", seed=2).ratings


@pytest.mark.parametrize("model", ["hrm", "dawid-skene"])
def test_kappa_is_sensitivity_plus_specificity_less_one(ratings, model):
    found = latent_class_result(ratings, FitConfig(model=model, starts=2), Run())
    raters = found.tables["raters"]
    youden = raters["sensitivity"] + raters["specificity"] - 1
    assert raters["kappa"].to_list() == pytest.approx(youden.to_list(), abs=1e-12)
    assert (found.sigma > 0) == (model == "hrm")
    assert np.isfinite(found.tables["students"]["theta"].to_numpy()).all() == (model == "hrm")


def test_without_a_covariance_there_are_no_standard_errors(ratings):
    found = latent_class_result(ratings, FitConfig(model="hrm", starts=1, standard_errors=False), Run())
    assert np.isnan(found.tables["raters"]["kappa_se"].to_numpy()).all()
    assert np.isnan(found.sigma_se)


def test_ordered_scores_and_single_ratings_are_refused():
    rows = {"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "item": ["x", "y", "y", "x"]}
    ordered = rl.read(pl.DataFrame({**rows, "score": [0, 1, 2, 2]}))
    with pytest.raises(InputError, match="for example cut=2") as caught:
        latent_class_result(ordered, FitConfig(model="hrm"), Run())
    assert caught.value.option == "cut"
    single = rl.read(pl.DataFrame({**rows, "score": [0, 1, 1, 0]}))
    with pytest.raises(InputError, match="every student-item has a single rating"):
        latent_class_result(single, FitConfig(model="dawid-skene"), Run())


# -- Methods of a fit that need no ratings -----------------------------------------------------------------------


def test_tables_come_in_the_kind_of_dataframe_that_came_in(tmp_path):
    table = rl.simulate(students=60, raters=4, items=2, seed=3).ratings.table()
    for frame, kind in ((table, pl.DataFrame), (table.to_pandas(), pd.DataFrame)):
        fit = rl.fit(frame, model="gmf")
        found = (
            fit.raters,
            fit.verdicts(),
            fit.advice(),
            fit.assignment(),
            fit.capability(reference="perfect"),
        )
        assert all(isinstance(one, kind) for one in found)
        loaded = rl.load(fit.save(tmp_path / "fit.json"))
        assert list(loaded.verdicts()["costs_most"]) == list(fit.verdicts()["costs_most"])


def test_verdicts_have_the_promised_columns():
    found = rl.fit(rl.load_example(), model="gmf").verdicts()
    assert found.columns == ["rater", "standard", "sharpness", "costs_most", "next_step"]
    assert set(found["standard"]) <= {"too severe", "severe", "typical", "lenient", "too lenient", "unclear"}

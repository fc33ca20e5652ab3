"""Latent class models go through the steps of every model."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.config import FitConfig
from raterlens.fitting.latent_class_task import LatentClassTask
from raterlens.fitting.steps import Run


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    return rl.simulate(students=150, raters=5, items=3, raters_per_student=4, model="hrm", seed=2).ratings


@pytest.mark.parametrize("model", ["hrm", "dawid-skene"])
def test_kappa_is_sensitivity_plus_specificity_less_one(ratings, model):
    task = LatentClassTask.of(ratings, FitConfig(model=model, starts=2), Run())
    estimate = task.estimate()
    found = task.found(estimate, task.covariance(estimate))
    raters = found.tables["raters"]
    youden = raters["sensitivity"] + raters["specificity"] - 1
    assert raters["kappa"].to_list() == pytest.approx(youden.to_list(), abs=1e-12)
    assert (found.sigma > 0) == (model == "hrm")
    assert np.isfinite(found.tables["students"]["theta"].to_numpy()).all() == (model == "hrm")


def test_without_a_covariance_there_are_no_standard_errors(ratings):
    task = LatentClassTask.of(ratings, FitConfig(model="hrm", starts=1), Run())
    found = task.found(task.estimate(), None)
    assert np.isnan(found.tables["raters"]["kappa_se"].to_numpy()).all()
    assert np.isnan(found.sigma_se)


def test_ordered_scores_and_single_ratings_are_refused():
    rows = {"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "item": ["x", "y", "y", "x"]}
    ordered = rl.read(pl.DataFrame({**rows, "score": [0, 1, 2, 2]}))
    with pytest.raises(InputError, match="for example cut=2") as caught:
        LatentClassTask.of(ordered, FitConfig(model="hrm"), Run())
    assert caught.value.option == "cut"
    single = rl.read(pl.DataFrame({**rows, "score": [0, 1, 1, 0]}))
    with pytest.raises(InputError, match="every student-item has a single rating"):
        LatentClassTask.of(single, FitConfig(model="dawid-skene"), Run())

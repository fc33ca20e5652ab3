"""A facets model on ratings: what the task finds is what its parts find, and its calibration says the same."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.fitting.facets_task import FacetsTask
from raterlens.fitting.fit import fitted
from raterlens.fitting.steps import Run


def found_by(ratings, **options):
    task = FacetsTask.of(ratings, FitConfig(**options), Run())
    estimate = task.estimate()
    return task, estimate, task.found(estimate, task.covariance(estimate))


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
